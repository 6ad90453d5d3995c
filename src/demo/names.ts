interface People {
  country: string
  language: string
  given: readonly string[]
  family: readonly string[]
  familyFirst?: boolean
}

/**
 * Names of several countries and scripts, so that the demo shows at once whether text survives
 * the way through. `written/plain` gives the Latin letters where dropping accents does not find them.
 */
const PEOPLE: readonly People[] = [
  { country: 'BR', language: 'pt', given: ['João', 'Conceição', 'Thiago', 'Luíza'], family: ['Gonçalves', 'Araújo', 'Magalhães', 'Teixeira'] },
  { country: 'DE', language: 'de', given: ['Jürgen', 'Käthe', 'Björn', 'Annegret'], family: ['Müller', 'Schröder', 'Groß/gross', 'Vogelsang'] },
  { country: 'DK', language: 'da', given: ['Søren/soren', 'Mette', 'Jørgen/jorgen', 'Freja'], family: ['Ærø/aero', 'Nørgaard/norgaard', 'Lund', 'Kjær/kjaer'] },
  { country: 'ES', language: 'es', given: ['Íñigo', 'Begoña', 'Ramón', 'Lucía'], family: ['Núñez', 'Ibáñez', 'de la Peña', 'Ortega'] },
  { country: 'FR', language: 'fr', given: ['Zoé', 'François', 'Amélie', 'Loïc'], family: ['Lefèvre', 'Garçon', 'Dubois', 'Saint-Exupère'] },
  { country: 'GB', language: 'en', given: ['Imogen', 'Rhys', 'Beatrice', 'Alistair'], family: ['Pemberton', 'Llewellyn', 'Achebe', 'Marlowe'] },
  { country: 'IE', language: 'en', given: ['Saoirse', 'Oisín', 'Niamh', 'Cillian'], family: ["O'Brien", 'Byrne', "O'Shea", 'Fitzgerald'] },
  { country: 'IN', language: 'hi', given: ['Priya', 'Arjun', 'Kavitha', 'Rohan'], family: ['Iyer', 'Chatterjee', 'Patel', 'Banerjee'] },
  { country: 'JP', language: 'ja', given: ['花/hana', '健太/kenta', '美咲/misaki', '翔/sho'], family: ['佐藤/sato', '鈴木/suzuki', '高橋/takahashi', '渡辺/watanabe'], familyFirst: true },
  { country: 'NG', language: 'en', given: ['Chidinma', 'Emeka', 'Folasade', 'Tunde'], family: ['Okonkwo', 'Adeyemi', 'Nwosu', 'Balogun'] },
  { country: 'PL', language: 'pl', given: ['Łukasz/lukasz', 'Małgorzata/malgorzata', 'Zbigniew', 'Żaneta'], family: ['Wójcik', 'Kowalczyk', 'Mazur', 'Zając'] },
  { country: 'SE', language: 'sv', given: ['Åsa', 'Göran', 'Linnéa', 'Nils'], family: ['Öberg', 'Sjöström', 'Lindqvist', 'Ångström'] },
  { country: 'TR', language: 'tr', given: ['Gülşen', 'Çağlar', 'Işıl/isil', 'Emre'], family: ['Yıldız/yildiz', 'Öztürk', 'Şahin', 'Aydın/aydin'] },
  { country: 'VN', language: 'vi', given: ['Linh', 'Dũng', 'Thảo', 'Minh'], family: ['Nguyễn', 'Trần', 'Đặng/dang', 'Phạm'], familyFirst: true }
]

export interface Person {
  name: string
  email: string
  country: string
  language: string
}

const written = (entry: string) => entry.replace(/\/.*/, '')

/** The letters of an address: the part after the slash, or the name without its accents and marks. */
function plain (entry: string): string {
  return entry.replace(/.*\//, '').normalize('NFD').toLowerCase().replace(/[^a-z]/g, '')
}

function person (people: People, given: string, family: string): Person {
  const parts = people.familyFirst ? [family, given] : [given, family]
  return {
    name: parts.map(written).join(' '),
    // example.com is kept for examples (RFC 2606): no mail to these people can reach anybody.
    email: `${plain(given)}.${plain(family)}@example.com`,
    country: people.country,
    language: people.language
  }
}

/** Every given name with every family name of its country: drawing without repetition keeps addresses unique. */
export const PERSONS: readonly Person[] = PEOPLE.flatMap((people) =>
  people.given.flatMap((given) => people.family.map((family) => person(people, given, family))))
