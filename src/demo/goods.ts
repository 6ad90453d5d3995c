/** A kind of product; with each of its makes it becomes one article, such as "Copper Teapot". */
export interface Kind {
  code: string
  name: string
  topic: string
  makes: readonly string[]
  euros: readonly [number, number]
  /** Null for what has no weight at all. */
  grams: readonly [number, number] | null
  story: string
}

/**
 * Makes are listed per kind and not combined freely, because "Cast-Iron Umbrella" is funny once.
 * The first six letters of a make are part of the key, so they differ within a kind.
 */
export const KINDS: readonly Kind[] = [
  { code: 'TEAPOT', name: 'Teapot', topic: 'kitchen', makes: ['Cast-Iron', 'Copper', 'Glass', 'Stoneware'], euros: [24, 89], grams: [600, 1900], story: 'Pours without dripping. We tried 200 cups.' },
  { code: 'MUG', name: 'Mug', topic: 'kitchen', makes: ['Enamel', 'Porcelain', 'Terracotta'], euros: [6, 19], grams: [180, 420], story: 'Holds 0.3 l and a grudge against dishwashers.' },
  { code: 'KNIFE', name: 'Bread Knife', topic: 'kitchen', makes: ['Olive-Wood', 'Damascus', 'Walnut'], euros: [29, 149], grams: [140, 310], story: 'For crusts that other knives fear.' },
  { code: 'GRIND', name: 'Pepper Mill', topic: 'kitchen', makes: ['Beech', 'Marble', 'Brass'], euros: [18, 64], grams: [210, 890], story: 'Twelve settings from "dust" to "gravel".' },
  { code: 'LAMP', name: 'Desk Lamp', topic: 'desk', makes: ['Brass', 'Bamboo', 'Bauhaus', 'Pocket-Size'], euros: [35, 179], grams: [450, 2600], story: 'Warm light, 2700 K, no app needed.' },
  { code: 'NOTE', name: 'Notebook', topic: 'desk', makes: ['Linen', 'Dotted', 'Waterproof', 'Left-Handed'], euros: [5, 24], grams: [120, 380], story: '192 pages, opens flat.' },
  { code: 'PEN', name: 'Fountain Pen', topic: 'desk', makes: ['Ebonite', 'Titanium', 'Celluloid'], euros: [22, 240], grams: [14, 48], story: 'Ink included; handwriting is not.' },
  { code: 'CAN', name: 'Watering Can', topic: 'garden', makes: ['Zinc', 'Copper', 'Long-Neck'], euros: [19, 79], grams: [500, 1800], story: 'Reaches the plant behind the plant.' },
  { code: 'GNOME', name: 'Garden Gnome', topic: 'garden', makes: ['Concrete', 'Sleepy', 'Solar-Powered'], euros: [12, 59], grams: [800, 5200], story: 'Guards the café table. Née in Thüringen.' },
  { code: 'HAMMOCK', name: 'Hammock', topic: 'garden', makes: ['Cotton', 'Two-Person', 'Featherlight'], euros: [39, 139], grams: [380, 2400], story: 'Carries 160 kg, or one person and a long book.' },
  { code: 'BELL', name: 'Bicycle Bell', topic: 'bicycle', makes: ['Brass', 'Polite', 'Thundering'], euros: [9, 34], grams: [60, 240], story: 'Heard at 50 m, forgiven at 10 m.' },
  { code: 'PANNIER', name: 'Pannier Bag', topic: 'bicycle', makes: ['Waxed', 'Reflective', 'Roll-Top'], euros: [45, 129], grams: [620, 1400], story: '18 litres; fits a laptop or seven leeks.' },
  { code: 'BRELLA', name: 'Umbrella', topic: 'travel', makes: ['Storm-Proof', 'Folding', 'See-Through'], euros: [15, 69], grams: [230, 720], story: 'Turned inside out 1,000 times, and back.' },
  { code: 'TRUNK', name: 'Suitcase', topic: 'travel', makes: ['Cabin-Size', 'Cork', 'Aluminium'], euros: [79, 389], grams: [1900, 4600], story: 'Four quiet wheels. 100% of them turn.' },
  { code: 'GIFT', name: 'Gift Voucher', topic: 'gifts', makes: ['Birthday', 'Thank-You', 'Last-Minute'], euros: [10, 100], grams: null, story: 'Sent by e-mail; never the wrong size.' }
]

export interface Article {
  kind: Kind
  make: string
}

/** Every article the shop could sell; a draw without repetition is its range. */
export const ARTICLES: readonly Article[] = KINDS.flatMap((kind) => kind.makes.map((make) => ({ kind, make })))
