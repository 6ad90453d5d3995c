/** JSON with integers of any size, compared with what the runtime itself tells of the source. */
import fc from 'fast-check'
import t from 'tap'
import { isDeepStrictEqual } from 'node:util'
import { parseJson, randomId, writeJson } from '../../src/client/json.ts'
import '../support/seed.ts'

/** By `source`, which Node has: integers beyond 2^53 are bigints. (Of a repeated key it may return the wrong value, so there is none here.) */
const parseBySource = (text: string): unknown => JSON.parse(text, (_key, value, { source }) =>
  typeof value === 'number' && /^-?\d+$/.test(source as string) && !Number.isSafeInteger(value) ? BigInt(source as string) : value)

const digits = (maxLength: number) => fc.stringMatching(/^(0|[1-9]\d*)$/, { maxLength })
/** Numbers as JSON writes them, many with 16 digits or more on either side of the point. */
const number = fc.tuple(fc.constantFrom('', '-'), fc.oneof(digits(40), fc.constantFrom('9007199254740991', '9007199254740992', '9007199254740993', '18446744073709551615')),
  fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,25}$/)), fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,3}$/), fc.constant('e-00000000000000000012'))).map((parts) => parts.join(''))
/** Texts that look like parts of JSON. */
const text = fc.oneof(fc.string(), fc.stringMatching(/^["\\,:[\]{}0-9eE.+-]{0,40}$/), number, fc.constantFrom('\\', '"', '\\"12345678901234567', '__proto__')).map((value) => JSON.stringify(value))
/** Without escapes: `JSON.parse` may read those wrongly (src/json/parser.ts). */
const name = text.filter((value) => !value.includes('\\'))
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof({ maxDepth: 4 }, number, text, fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('json'), { maxLength: 5 }).map((items) => `[${items.join(',')}]`),
    fc.uniqueArray(fc.tuple(name, fc.constantFrom('', ' ', '\n\t'), tie('json')), { maxLength: 5, selector: ([key]) => JSON.parse(key) }).map((members) => `{${members.map(([name, space, value]) => `${name}:${space}${value}`).join(',')}}`))
}))

t.test('every text is parsed as by a runtime that knows the source of numbers', async (t) => {
  fc.assert(fc.property(json, (text) => isDeepStrictEqual(parseJson(text, BigInt), parseBySource(text))), { numRuns: 3000 })
})

t.test('integers beyond 2^53 are converted, everything else is not', async (t) => {
  const text = '{"a":[9007199254740991,-9007199254740993,1.00000000000000000001],"b":"9007199254740993","__proto__":{"c":18446744073709551615}}'
  const parsed = parseJson(text, (digits) => `<${digits}>`) as Record<string, unknown>
  t.strictSame(JSON.stringify(parsed), '{"a":[9007199254740991,"<-9007199254740993>",1],"b":"9007199254740993","__proto__":{"c":"<18446744073709551615>"}}')
  t.ok(Object.hasOwn(parsed, '__proto__'))
  t.equal(Object.getPrototypeOf(parsed), Object.prototype)
  t.throws(() => parseJson('{"a":12345678901234567890', BigInt), SyntaxError)
  t.throws(() => parseJson('{"a":"12345678901234567890\\', BigInt), SyntaxError)
})

t.test('a key with an escape is not taken for one of another text', async (t) => {
  for (const before of ['{"id":1,"caf\\\\":2}', '{"id":12345678901234567890,"caf\\\\":2}']) {
    JSON.parse(before)
    parseJson(before, BigInt)
    t.strictSame(parseJson('{"id":1,"caf\\u00e9":"x"}', BigInt), { id: 1, café: 'x' })
  }
})

t.test('a text of many megabytes is parsed', async (t) => {
  for (const part of ['x', '1', '\\"', '\\\\', '1.']) {
    const value = `["${part.repeat(8_000_000 / part.length)}",12345678901234567]`
    t.strictSame((parseJson(value, BigInt) as unknown[])[1], 12345678901234567n, part)
  }
})

t.test('bigints are written as integers, at any depth, and whatever toJSON they have', async (t) => {
  const value = { a: 2n ** 64n, b: [{ c: -(2n ** 63n) }], d: '-18446744073709551616', e: null, f: 1.5, g: new Date(0), h: Object.create(null) as object, i: { $ref: '/0/id' } }
  const written = '{"a":18446744073709551616,"b":[{"c":-9223372036854775808}],"d":"-18446744073709551616","e":null,"f":1.5,"g":"1970-01-01T00:00:00.000Z","h":{},"i":{"$ref":"/0/id"}}'
  t.equal(writeJson(value), written)
  const prototype = BigInt.prototype as { toJSON?: () => string }
  prototype.toJSON = function () { return String(this) }
  t.teardown(() => { delete prototype.toJSON })
  t.equal(writeJson(value), written)
  t.equal(writeJson(JSON.parse('{"__proto__":1}')), '{"__proto__":1}')
})

t.test('a value that JSON does not have is refused, without showing it', async (t) => {
  for (const value of [undefined, NaN, Infinity, () => 'secret', Symbol('secret'), new Map([['secret', 1]]), new Set(['secret']), Promise.resolve('secret'), new Uint8Array(3), /secret/]) {
    t.throws(() => writeJson({ filters: { tenant: value } }), { name: 'RowQueryError', code: 'INVALID_BODY', status: 0, message: '"tenant" has a value that JSON does not have' })
  }
})

t.test('random ids are keys that the service accepts', async (t) => {
  const ids = Array.from({ length: 100 }, randomId)
  t.equal(new Set(ids).size, 100)
  for (const id of ids) t.match(id, /^[\x21-\x7e]{16,255}$/)
})

t.test('an invalid date is refused, which JSON.stringify would write as null', async (t) => {
  t.throws(() => writeJson({ filters: { expires: new Date('31.12.2026 25:00') } }), { code: 'INVALID_BODY' })
})
