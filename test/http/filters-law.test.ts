// night: many random cases
/** Random texts: what `$is` and the operators of patterns match in columns of every collation and character set. */
import fc from 'fast-check'
import t from 'tap'
import { seed } from '../support/seed.ts'
import { type EngineName, onEachEngine } from '../support/service.ts'

const everywhere = [
  'char(20) collate utf8mb4_general_ci', 'varchar(20) collate utf8mb4_general_ci',
  'varchar(20) collate utf8mb4_unicode_520_ci', 'text collate utf8mb4_unicode_ci', 'varchar(20) collate utf8mb4_bin',
  'varchar(20) character set latin1 collate latin1_swedish_ci', 'varchar(20) character set latin1 collate ' +
    'latin1_german2_ci', 'varchar(20) character set utf8mb3 collate utf8mb3_general_ci',
  'varchar(20) character set utf16 collate utf16_unicode_ci', 'varchar(20) character set sjis',
  'varchar(20) character set cp932', 'varchar(20) character set koi8r', 'varchar(20) character set gbk',
  'char(20) character set ascii'
]
const columns: Readonly<Record<EngineName, readonly string[]>> = {
  mysql: [...everywhere, 'varchar(20) collate utf8mb4_0900_ai_ci', 'varchar(20) collate utf8mb4_ja_0900_as_cs'],
  mariadb: [
    ...everywhere, 'varchar(20) collate utf8mb4_uca1400_ai_ci', 'varchar(20) collate utf8mb4_unicode_520_nopad_ci'
  ],
  sqlite: ['text', 'varchar(20) collate nocase', 'char(20) collate rtrim', 'text collate binary']
}

/** Texts that some collation treats as equal. */
const alike = [
  'acme', 'ACME', 'Acme', 'ácme', 'acme ', 'acme  ', ' acme', 'acme\0', 'acm\u{c9}', 'acm\u{e9}', 'acme\u0301',
  'e\u0301', '\u{e9}', 'e', '', ' ', '\t', '\0', 'ß', 'ss', 'SS', 'ae', 'ä', 'æ',
  '😀', '😃', '?', '\u{fffd}', 'ﬁ', 'fi', 'ア', 'ｱ', 'あ', 'я', 'Я', 'a\u200bcme', 'acme\u00ad', '0', '00', '1', '01',
  '1.0', '1e0', 'null'
]
const texts = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...alike) }, {
  weight: 1,
  arbitrary: fc.string({ unit: fc.constantFrom('a', 'A', 'á', ' ', 'ß', 's', '\0', 'é', 'я', '😀'), maxLength: 4 })
})

const schema = (engine: EngineName): string[] => columns[engine].map(
  (declaration, index) => `create table t${index} (id integer not null primary key, c ${declaration} null)`
)

await onEachEngine(t, '$is matches a row exactly if its text is the same', { schema }, async (t, { engine, post }) => {
  for (const [index, declaration] of columns[engine].entries()) {
    const table = `t${index}`
    const stored = [...alike, ...fc.sample(texts, { numRuns: 40, seed: seed + index })]
    // Characters that the column's character set lacks are rejected.
    for (const [id, c] of stored.entries()) await post(table, { verb: 'insert', data: { id, c } })
    await post(table, { verb: 'insert', data: { id: 1000, c: null } })
    const { json: { data: { rows } } } = await post(table, { verb: 'select', limit: 1000, orderBy: 'id' })
    t.ok(rows.length > 20, `${declaration} holds ${rows.length} of them`)
    const wrong = []
    for (const text of new Set([...rows.map(({ c }: { c: string | null }) => c), ...stored, null])) {
      const expected = rows.filter(({ c }: { c: string | null }) => c === text)
      const { status, json } = await post(table, {
        verb: 'select', filters: { c: { $is: text } }, limit: 1000, orderBy: 'id'
      })
      // The server may reject a text that the column cannot store; no row has it.
      if (expected.length === 0 && status === 422) continue
      const others = (await post(table, {
        verb: 'select', filters: { $not: { c: { $is: text } } }, limit: 1000, orderBy: 'id'
      })).json.data
      if (JSON.stringify(json.data.rows) !== JSON.stringify(expected) ||
        others.count !== rows.length - expected.length) {
        wrong.push({ text, expected, answer: json, others: others.count })
      }
    }
    t.same(wrong, [], `${declaration} (seed ${seed})`)
  }
})

// What $like, $nlike, $startsWith and $contains match in columns of every character set.

/** Character sets in which a backslash is a different character or the second byte of one, and others. */
const charsets = ['sjis', 'swe7', 'cp932', 'gbk', 'big5', 'ucs2', 'utf32', 'latin1', 'utf8mb4']
const TEXTS = ['a%b', 'a_b', 'axb', 'a!b', 'ab', '%', '_', '!', '!%', '!!', '!_b', 'a!%b', '', 'b%']
/** swe7 has other characters in place of these. */
const WITH_BACKSLASH = ['\\', 'a\\b', '\\%', 'a\\']

/** A pattern of the interface as a regular expression. */
function toRegExp (pattern: string): RegExp {
  const parts = pattern.match(/\\[^]|[^]/g) ?? []
  const source = parts.map((part) => part === '%'
    ? '[^]*'
    : part === '_' ? '[^]' : `\\u{${((part.length === 2 ? part[1] : part) as string).codePointAt(0)?.toString(16)}}`)
  return new RegExp(`^${source.join('')}$`, 'u')
}

const hasBackslash = (text: string): boolean => text.includes('\\')

await onEachEngine(t, 'a pattern matches the same texts in every character set', {
  schema: (engine) => engine === 'sqlite'
    ? ['create table texts (id integer not null primary key, c_utf8mb4 text not null)']
    : [
        `create table texts (id integer not null primary key, ${charsets.map((charset) =>
          `c_${charset} varchar(20) character set ${charset} ${charset === 'swe7' ? 'null' : 'not null'}`).join(', ')})`
      ]
}, async (t, { engine, post }) => {
  const texts = [...TEXTS, ...WITH_BACKSLASH]
  const columns = engine === 'sqlite' ? ['utf8mb4'] : charsets
  for (const [id, text] of texts.entries()) {
    const data = columns.map((charset) => [`c_${charset}`, charset === 'swe7' && hasBackslash(text) ? null : text])
    t.match(await post('texts', { verb: 'insert', data: { id, ...Object.fromEntries(data) } }), { status: 200 })
  }
  const found = async (charset: string, filter: object): Promise<string[]> => {
    const { json } = await post('texts', {
      verb: 'select', columns: ['id'], orderBy: 'id', filters: { [`c_${charset}`]: filter }
    })
    return json.data.rows.map(({ id }: { id: number }) => texts[id])
  }
  const pattern = fc.string({
    unit: fc.constantFrom('a', 'b', '%', '_', '!', '\\%', '\\_', '\\!', '\\a', '\\\\'), maxLength: 4
  })
  const literal = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_', '!', '\\'), minLength: 1, maxLength: 3 })
  for (const charset of columns) {
    const stored = charset === 'swe7' ? TEXTS : texts
    const fits = (text: string): boolean => charset !== 'swe7' || !hasBackslash(text)
    await fc.assert(fc.asyncProperty(pattern.filter((each) =>
      fits(each.replaceAll(/\\[^\\]/g, ''))), async (pattern) => {
      const matched = stored.filter((text) => toRegExp(pattern).test(text))
      t.same(await found(charset, { $like: pattern }), matched, `${charset} like ${pattern}`)
      t.same(
        await found(charset, { $nlike: pattern }), stored.filter((text) => !matched.includes(text)),
        `${charset} not like ${pattern}`
      )
    }), { numRuns: 25 })
    await fc.assert(fc.asyncProperty(literal.filter(fits), async (text) => {
      t.same(
        await found(charset, { $startsWith: text }), stored.filter((each) => each.startsWith(text)),
        `${charset} starts with ${text}`
      )
      t.same(
        await found(charset, { $contains: text }), stored.filter((each) => each.includes(text)),
        `${charset} contains ${text}`
      )
    }), { numRuns: 25 })
    if (charset !== 'swe7') {
      t.same(await found(charset, { $like: 'a\\' }), ['a\\'], 'a backslash at the end matches itself')
    }
  }
})
