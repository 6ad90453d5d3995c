/** What $like, $nlike, $startsWith and $contains match in columns of every character set. */
import fc from 'fast-check'
import t from 'tap'
import '../support/seed.ts'
import { onEachEngine } from '../support/service.ts'

/** Character sets in which a backslash is a different character or the second byte of one, and others. */
const charsets = ['sjis', 'swe7', 'cp932', 'gbk', 'big5', 'ucs2', 'utf32', 'latin1', 'utf8mb4']
const TEXTS = ['a%b', 'a_b', 'axb', 'a!b', 'ab', '%', '_', '!', '!%', '!!', '!_b', 'a!%b', '', 'b%']
/** swe7 has other characters in place of these. */
const WITH_BACKSLASH = ['\\', 'a\\b', '\\%', 'a\\']

/** A pattern of the interface as a regular expression. */
function toRegExp (pattern: string): RegExp {
  const parts = pattern.match(/\\[^]|[^]/g) ?? []
  const source = parts.map((part) => part === '%' ? '[^]*' : part === '_' ? '[^]' : `\\u{${((part.length === 2 ? part[1] : part) as string).codePointAt(0)?.toString(16)}}`)
  return new RegExp(`^${source.join('')}$`, 'u')
}

const hasBackslash = (text: string): boolean => text.includes('\\')

await onEachEngine(t, 'a pattern matches the same texts in every character set', {
  schema: (engine) => engine === 'sqlite'
    ? ['create table texts (id integer not null primary key, c_utf8mb4 text not null)']
    : [`create table texts (id integer not null primary key, ${charsets.map((charset) => `c_${charset} varchar(20) character set ${charset} ${charset === 'swe7' ? 'null' : 'not null'}`).join(', ')})`]
}, async (t, { engine, post }) => {
  const texts = [...TEXTS, ...WITH_BACKSLASH]
  const columns = engine === 'sqlite' ? ['utf8mb4'] : charsets
  for (const [id, text] of texts.entries()) {
    const data = columns.map((charset) => [`c_${charset}`, charset === 'swe7' && hasBackslash(text) ? null : text])
    t.match(await post('texts', { verb: 'insert', data: { id, ...Object.fromEntries(data) } }), { status: 200 })
  }
  const found = async (charset: string, filter: object): Promise<string[]> => {
    const { json } = await post('texts', { verb: 'select', columns: ['id'], orderBy: 'id', filters: { [`c_${charset}`]: filter } })
    return json.data.rows.map(({ id }: { id: number }) => texts[id])
  }
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_', '!', '\\%', '\\_', '\\!', '\\a', '\\\\'), maxLength: 4 })
  const literal = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_', '!', '\\'), minLength: 1, maxLength: 3 })
  for (const charset of columns) {
    const stored = charset === 'swe7' ? TEXTS : texts
    const fits = (text: string): boolean => charset !== 'swe7' || !hasBackslash(text)
    await fc.assert(fc.asyncProperty(pattern.filter((each) => fits(each.replaceAll(/\\[^\\]/g, ''))), async (pattern) => {
      const matched = stored.filter((text) => toRegExp(pattern).test(text))
      t.same(await found(charset, { $like: pattern }), matched, `${charset} like ${pattern}`)
      t.same(await found(charset, { $nlike: pattern }), stored.filter((text) => !matched.includes(text)), `${charset} not like ${pattern}`)
    }), { numRuns: 25 })
    await fc.assert(fc.asyncProperty(literal.filter(fits), async (text) => {
      t.same(await found(charset, { $startsWith: text }), stored.filter((each) => each.startsWith(text)), `${charset} starts with ${text}`)
      t.same(await found(charset, { $contains: text }), stored.filter((each) => each.includes(text)), `${charset} contains ${text}`)
    }), { numRuns: 25 })
    if (charset !== 'swe7') t.same(await found(charset, { $like: 'a\\' }), ['a\\'], 'a backslash at the end matches itself')
  }
})
