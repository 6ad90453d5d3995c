/** Our own JSON parser, compared with JSON.parse, and held against its errors. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseSafely } from '../../src/json/exact-json.ts'
import { lookOver, parseExactJson, repeatsKey } from '../../src/json/exact-json.ts'
import '../support/seed.ts'

const parse = (text: string): unknown => parseSafely(text, (value) => value)

/** A text, or that it is refused. */
const outcome = (run: () => unknown): unknown => {
  try {
    return { value: run() }
  } catch (error) {
    return (error as Error).name
  }
}

/** Parts of keys: what one key has as an escape stands in another one as such. */
const part = fc.constantFrom(
  'a', 'caf', '\\\\', '\\n', '\\"', '\\/', '\\u00e9', '\\u005c', '\\u005C\\u0022', 'u00e9', 'n', '/', 'é', '__proto__',
  '1', '\\u0031'
)
const string = fc.array(part, { maxLength: 4 }).map((parts) => `"${parts.join('')}"`)
const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r')

/** A JSON text, and its value, which is put together from its parts. */
interface Json { readonly text: string, readonly value: unknown }
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof({ maxDepth: 3 },
    fc.oneof(string, fc.constantFrom('1', '-0', '12.50', '1e5', '12345678901234567890', 'true', 'false', 'null')).map(
      (text): Json => ({ text, value: JSON.parse(text) })
    ),
    fc.array(tie('json'), { maxLength: 3 }).map(
      (items): Json => ({ text: `[${items.map(({ text }) => text).join()}]`, value: items.map(({ value }) => value) })
    ),
    fc.uniqueArray(fc.tuple(string, space, tie('json')), {
      maxLength: 4, selector: ([key]) => JSON.parse(key)
    }).map((members): Json => ({
      text: `{${members.map(([key, space, { text }]) => `${space}${key}${space}:${space}${text}${space}`).join()}}`,
      value: Object.fromEntries(members.map(([key, , { value }]) => [JSON.parse(key), value]))
    })))
}))

t.test('whatever texts have been parsed before, a text gets its own keys and values', async () => {
  fc.assert(fc.property(fc.array(json, { maxLength: 8 }), (texts) => texts.every(({ text, value }) => {
    outcome(() => JSON.parse(text)) // the driver, a library and the app parse texts too
    const plain = JSON.parse(JSON.stringify(value)) // -0 is 0 in a text of JavaScript
    return isDeepStrictEqual(parse(text), value) && isDeepStrictEqual(JSON.parse(
      JSON.stringify(parseExactJson(text), (_key, each) => JSON.isRawJSON(each) ? Number(each.rawJSON) : each)
    ), plain) && !repeatsKey(lookOver(text), parseExactJson(text))
  })), { numRuns: 800 })
})

t.test('a key of another text is not taken for one with an escape', async (t) => {
  for (const [poison, key, name] of [
    ['caf\\\\', 'caf\\u00e9', 'café'], ['\\\\', '\\n', '\n'], ['\\\\', '\\u0061', 'a'], ['a\\\\u', 'a\\u0062c', 'abc'],
    ['https:\\\\/', 'https:\\/\\/', 'https://']
  ] as const) {
    for (const before of [`{"id":1,"${poison}":2}`, `{"id":1,"${poison}":12345678901234567890}`]) {
      parseExactJson(before)
      JSON.parse(before)
      t.same(Object.keys(parseExactJson(`{"id":1,"${key}":"x"}`) as object), ['id', name], `${key} after ${poison}`)
    }
    t.ok(repeatsKey(lookOver(
      `{"${name === '\n' ? '\\n' : name}":1,"${key}":2}`
    ), parseExactJson(`{"${name === '\n' ? '\\n' : name}":1,"${key}":2}`)), 'and it is found twice')
  }
})

t.test('exactly what JSON.parse refuses is refused', async (t) => {
  const tokens = fc.constantFrom(
    '{', '}', '[', ']', ',', ':', '"a"', '"', '\\', '"\\x"', '"\\', '"\n"', '1', '01', '-', '1.', '.5', '+1', '1e',
    'true', 'tru', 'null', 'NaN', ' ', '\t', '\v', '\u00a0', '\ufeff', 'a', '\\u00e9', '"\\u12"', '\u0000'
  )
  fc.assert(fc.property(fc.array(tokens, { maxLength: 8 }).map((all) => all.join('')), (text) =>
    isDeepStrictEqual(outcome(() => parse(text)), outcome(() => JSON.parse(text)))), { numRuns: 3000 })
  const edit = fc.tuple(json, fc.nat(), fc.constantFrom('', '"', '\\', ',', ':', '}', ']', '{', '\n', '0'), fc.nat(2))
    .map(([{ text }, at, inserted, removed]) => text.slice(0, at % (text.length + 1)) + inserted +
      text.slice(at % (text.length + 1) + removed))
  fc.assert(fc.property(edit, (text) => {
    const [own, builtIn] = [outcome(() => parse(text)), outcome(() => JSON.parse(text))]
    return (own === 'SyntaxError') === (builtIn === 'SyntaxError')
  }), { numRuns: 800 })
  for (const text of [
    '', '"', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '[1,', '[,]', '{,}', '{1:2}', '[1 2]', '1 2', '"a"b'
  ]) t.throws(() => parse(text), SyntaxError, text)
})

t.test('each number is converted with its text', async (t) => {
  t.strictSame(
    parseSafely('{"a":[1,-0.50,1E2],"b":"1","c":12345678901234567890}', (value, source) => `${value} ${source}`),
    { a: ['1 1', '-0.5 -0.50', '100 1E2'], b: '1', c: '12345678901234567000 12345678901234567890' }
  )
})

t.test('a text that is nested too deeply is a RangeError, and one of filters as deep as ' +
  'they may be is not', async (t) => {
  t.throws(() => parse('['.repeat(100_000)), RangeError)
  t.throws(() => parse('{"a":'.repeat(100_000)), RangeError)
  t.ok(parse('{"$and":['.repeat(1000) + ']}'.repeat(1000)))
})

t.test('keys such as __proto__ become ordinary own properties', async (t) => {
  const parsed = parse('{"__proto__":{"polluted":1},"\\u005f_proto__x":1}') as { polluted?: unknown }
  t.equal(parsed.polluted, undefined)
  t.same(Object.keys(parsed), ['__proto__', '__proto__x'])
  t.equal(Object.getPrototypeOf(parsed), Object.prototype)
})
