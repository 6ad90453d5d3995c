// night: many random cases
/**
 * `$match` against a naive search over words: random documents and hostile texts, on every engine and with every kind
 * of full-text index.
 */
import t, { type Test } from 'tap'
import { fullTextTriggers } from '../support/full-text.ts'
import { type EngineName, onEachEngine, type Service } from '../support/service.ts'
import { createDraw, type Draw } from '../support/related-tables.ts'
import { seed } from '../support/seed.ts'

/** How an index finds words. */
interface Words {
  /** The words of a text. */
  readonly split: RegExp
  readonly fold: (word: string) => string
  /** Whether the index holds the word. */
  readonly isHeld: (word: string) => boolean
  /** Whether a phrase begins with the first of its words that the index holds. */
  readonly dropsFirst: boolean
}

const STOP_WORDS =
  new Set(
    ('a about an are as at be by com de en for from how i in is it la of on or that the this to was what when where ' +
    'who will with und the www').split(
      ' '
    )
  )
const unaccented = (word: string): string => word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
/** utf8mb4_general_ci knows é as e, but a mark as a letter of its own. */
const general = (word: string): string => word.replace(/[éÉ]/g, 'e').replace(/[üÜ]/g, 'u').toLowerCase()

const fts5: Words = { split: /[\p{L}\p{N}\p{Co}\p{M}]+/gu, fold: unaccented, isHeld: () => true, dropsFirst: false }
const innodb: Words = {
  split: /[\p{L}\p{M}\p{N}_]+/gu,
  fold: general,
  isHeld: (word) => word.length >= 3 && word.length <= 84 && !STOP_WORDS.has(word),
  dropsFirst: true
}

const PLAIN = [
  'red', 'wet', 'suit', 'shoes', 'boots', 'any', 'all', 'blue9', '2026', 'café', 'CAFE', 'Red', 'größe', 'ΩΜΕΓΑ',
  'весна', 'foo_bar', 'x1', 'ab', 'the', 'for', 'nothing', 'long'.repeat(22)
]
/** Words that an engine might read as a part of its language. */
const HOSTILE = [
  'AND', 'OR', 'NOT', 'NEAR', 'and', 'or', 'not', 'near', 'any', 'all', 'title', 'body', 'match', 'against', 'select',
  'null', 'true', 'rank'
]
const BETWEEN = [
  ' ', ' ', ' ', ' ', '\n', '\t', '\u00a0', '\u3000', '-', '+', '"', '*', '(', ')', '~', '<', '>', '@', '@3', '\\', '%',
  ';', ':', '^', '{', '}', ',', '.', '..', '/', '#', '--', '/*', '&&', '||', '$', '?', '`', '[', ']', '=', '!', ' "',
  '" ', ' +', ' -', ' _ ', ' \'', '\' ', '\'', '😀', '’', '\u0000'
]

function drawText (draw: Draw, words: readonly string[], most: number): string {
  const parts = Array.from(
    { length: 1 + draw.below(most) }, () => `${draw.one(words)}${draw.chance(0.6) ? ' ' : draw.one(BETWEEN)}`
  )
  return `${draw.chance(0.2) ? draw.one(BETWEEN) : ''}${parts.join('')}`
}

/**
 * The phrases of a text as docs/searching.md says them: parts between white space, without what has no letter or digit.
 */
function phrasesOf (text: string, { split, fold }: Words): string[][] {
  const parts = text.split(/\s+/u).map(
    (part) => part.split(/[^\p{L}\p{M}\p{Nd}_']+/u).filter((word) => /[\p{L}\p{Nd}]/u.test(word))
  )
  return parts.filter((part) => part.length > 0).map(
    (part) => part.flatMap((word) => word.match(split) ?? []).map(fold)
  )
}

function finds (
  phrase: readonly string[], columns: ReadonlyArray<readonly string[]>, { isHeld, dropsFirst }: Words
): boolean {
  const first = phrase.findIndex(isHeld)
  if (first < 0) return false
  const wanted = dropsFirst ? phrase.slice(first) : phrase
  return columns.some((words) => words.some((_, from) => wanted.every((word, index) => words[from + index] === word)))
}

const MEMBERS = 'title varchar(500), body text, k int'
const schema = (engine: EngineName): string[] => engine === 'sqlite'
  ? [
      `create table docs (id integer primary key, ${MEMBERS})`,
      "create virtual table words using fts5(title, body, content='docs', content_rowid='id')",
      ...fullTextTriggers('docs', 'words', ['title', 'body'])
    ]
  : [
      `create table docs (id int primary key, ${MEMBERS}, fulltext key (title, body))
        engine=innodb default charset=utf8mb4 collate utf8mb4_general_ci`
    ]

const ROWS = 60
const SEARCHES = 150

await onEachEngine(t as Test, 'a row is found if a naive ' +
  'search finds its words', { schema }, async (t, { engine, post, sql }: Service) => {
  const words = engine === 'sqlite' ? fts5 : innodb
  const counts = { searches: 0, found: 0, refused: 0, empty: 0, every: 0 }
  for (const round of [seed, seed + 1, seed + 2, seed + 3]) {
    const draw = createDraw(round)
    await sql('delete from docs')
    const documents = new Map<number, ReadonlyArray<readonly string[]>>()
    for (let id = 1; id <= ROWS; id++) {
      const texts = [drawText(draw, draw.chance(0.3) ? HOSTILE : PLAIN, 3), drawText(draw, PLAIN, 8)].map(
        (text) => engine === 'sqlite' ? text : text.replaceAll('\0', ' ')
      )
      await sql('insert into docs (id, title, body) values (?, ?, ?)', [id, ...texts])
      documents.set(id, texts.map((text) => (text.match(words.split) ?? []).map(words.fold)))
    }
    for (let search = 0; search < SEARCHES; search++) {
      const text = drawText(draw, draw.chance(0.3) ? HOSTILE : PLAIN, 4)
      const mode = draw.one(['any', 'all'] as const)
      const match = {
        $match: {
          columns: draw.one([['title', 'body'], ['body', 'title']]),
          text,
          ...mode === 'all' || draw.chance(0.5) ? { mode } : {}
        }
      }
      const phrases = phrasesOf(text, words)
      const passes = (document: ReadonlyArray<readonly string[]>): boolean => mode === 'all'
        ? phrases.every((phrase) => finds(phrase, document, words))
        : phrases.some((phrase) => finds(phrase, document, words))
      const wanted = [...documents].filter(([, document]) => passes(document)).map(([id]) => id)
      const others = [...documents.keys()].filter((id) => !wanted.includes(id))
      const why = JSON.stringify({ seed: round, match, wanted })
      const answer = await post('docs', {
        verb: 'select', columns: ['id'], orderBy: 'id', limit: 1000, filters: match, total: true
      })
      if (phrases.length === 0) {
        counts.refused++
        if (answer.json.error?.code !== 'INVALID_VALUE') t.fail(`${why}: ${answer.text}`)
        continue
      }
      counts.searches++
      counts[wanted.length === 0 ? 'empty' : wanted.length === ROWS ? 'every' : 'found']++
      const idsOf = (data: any): unknown => data?.rows?.map(({ id }: { id: number }) => id)
      if (JSON.stringify([
        idsOf(answer.json.data), answer.json.data?.total
      ]) !== JSON.stringify([wanted, wanted.length])) t.fail(`${why}: ${answer.text}`)
      if (search % 3 > 0) continue
      const not = await post('docs', {
        verb: 'select', columns: ['id'], orderBy: 'id', limit: 1000, filters: { $not: match }
      })
      if (JSON.stringify(idsOf(not.json.data)) !== JSON.stringify(others)) t.fail(`not ${why}: ${not.text}`)
      const best = await post('docs', {
        verb: 'select', columns: ['id'], orderBy: [{ $match: 'DESC' }], limit: 1000, filters: match
      })
      if (JSON.stringify((idsOf(best.json.data) as number[] | undefined)?.sort((a, b) =>
        a - b)) !== JSON.stringify(wanted)) t.fail(`by relevance ${why}: ${best.text}`)
      const half = await post('docs', {
        verb: 'select',
        filters: { $or: [match, { id: { $lte: 5 } }], id: { $lt: 40 } },
        aggregates: { n: { $count: '*' } }
      })
      const n = [...documents.keys()].filter((id) => id < 40 && (id <= 5 || wanted.includes(id))).length
      if (half.json.data?.rows[0].n !== n) t.fail(`or ${why}: ${half.text} in place of ${n}`)
      for (const [body, filters, count] of [
        [{ verb: 'update', data: { k: 1 } }, match, wanted.length],
        [{ verb: 'delete' }, { $not: match }, others.length],
        [{ verb: 'delete' }, { ...match, id: { $lt: 30 } }, wanted.filter((id) => id < 30).length]
      ] as const) {
        const write = await post('docs', { ...body, filters, dryRun: true })
        if ((write.json.data?.updated ?? write.json.data?.deleted) !== count) {
          t.fail(`${JSON.stringify(body)} ${why}: ${write.text} in place of ${count}`)
        }
      }
    }
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.found > SEARCHES * 2 && counts.empty > SEARCHES / 20, JSON.stringify(counts))
})
