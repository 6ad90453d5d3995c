/** Mutates bodies: their tree, text, bytes and headers. */
import fc, { type Arbitrary } from 'fast-check'
import { list, pairs, placesOf, text, write, type Json } from './json.ts'

/** A request body as it is sent. */
export interface Sent {
  readonly payload: string | Buffer
  readonly headers: Readonly<Record<string, string>>
  /** Whether it is unchanged. */
  readonly valid: boolean
  /** The code with which it must be refused. */
  readonly code?: string
}

const nested = (json: Json, levels: number, [before, after]: readonly [string, string]): Json => before.repeat(levels) +
  write(json) + after.repeat(levels)

/** Valid and invalid values. */
const junk: Arbitrary<Json> = fc.oneof(
  fc.constantFrom(
    'null', 'true', 'false', '0', '-0', '1', '-1', '1.5', '1e400', '-1e400', '1e-400', '12345678901234567890',
    '18446744073709551616', '9007199254740993', '0.1234567890123456789', `1${'0'.repeat(500)}`
  ),
  fc.constantFrom(
    '', 'abc', '0', '1', '-1', '1e3', ' 1', '0x10', 'NaN', 'Infinity', 'null', 'true', '\0', '\ud800', 'a\udc00',
    "' or 1=1 -- ", '%', '\\', '$eq', '2024-13-01', '0000-00-00', '2026-02-30T25:00:00Z', 'x'.repeat(70_000),
    '😀'.repeat(300), 'AA=', '日本'
  ).map(text),
  fc.constantFrom(
    '{}', '[]', '[[]]', '[null]', '{"$eq":1}', '{"$in":[]}', '{"$ne":null}', '{"$not":{}}', '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":{}}}', '{"toString":1}', '{"length":3}', '{"rawJSON":"1"}',
    '{"type":"Point","coordinates":[0,"x"]}'
  ),
  fc.json({ maxDepth: 3 })
)
/** Texts that are not JSON. */
const noJson: Arbitrary<Json> = fc.constantFrom(
  'NaN', '-Infinity', 'undefined', '01', '+1', '.5', '1.', '0x1', "'a'", '"\\x41"', '"\t"', '/* */ 1', '1,', '', 'nul'
)
const keys = fc.constantFrom(
  'nope', 'ID', 'id ', 'Verb', '', '__proto__', 'constructor', 'toString', '$and', '$or', '$not', '$in', '$gt', '$like',
  '$null', '$where', '$', 'id', 'n', 'word', 'filters', 'data', 'verb', 'limit', 'columns', 'orderBy', 'groupBy',
  'aggregates', 'having', 'offset', 'after', 'total', '$sum', '$max', 'twice', 'a/b~c', '\ud800', 'x'.repeat(3000),
  'id`', "id' --"
)

type Change = (json: Json, where: number) => Json
const atPlace = (
  change: (place: ReturnType<typeof placesOf>[number], places: ReturnType<typeof placesOf>) => Json
): Change => (json, where) => {
  const places = placesOf(json)
  return change(places[where % places.length] as ReturnType<typeof placesOf>[number], places)
}

const changes: Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: junk.map((value) => atPlace(({ put }) => put(value))) },
  { weight: 1, arbitrary: noJson.map((value) => atPlace(({ put }) => put(value))) },
  { weight: 2, arbitrary: fc.constant(atPlace(({ put }) => put())) },
  { weight: 2, arbitrary: fc.option(junk).map((other) => atPlace(({ value, put }) => put(value, other ?? value))) },
  { weight: 3, arbitrary: keys.map((key) => atPlace(({ rename }) => rename(key))) },
  {
    weight: 2,
    arbitrary: fc.tuple(keys, junk).map(([key, value]) => atPlace(({ value: old, put }) =>
      put(typeof old !== 'string' && 'pairs' in old ? { pairs: [...old.pairs, [key, value]] } : list(old, value))))
  },
  { weight: 2, arbitrary: keys.map((key) => atPlace(({ value, put }) => put(pairs([key, value])))) },
  {
    weight: 2,
    arbitrary: fc.nat().map(
      (other) => atPlace(({ put }, places) => put((places[other % places.length] as { value: Json }).value))
    )
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom(33, 101, 3000), fc.constantFrom(['[', ']'] as const, ['{"$not":', '}'] as const)
    ).map(([levels, around]) => atPlace(({ value, put }) => put(nested(value, levels, around))))
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(300, 11_000), junk).map(([count, value]) => atPlace(
      ({ put }) => put(list(...Array<Json>(count).fill(typeof value === 'string' && value.length < 100 ? value : '1')))
    ))
  }
)

type Damage = (body: string, where: number) => Partial<Sent>
const insertAt = (body: string, where: number, bytes: Buffer): Buffer => {
  const whole = Buffer.from(body)
  const index = where % (whole.length + 1)
  return Buffer.concat([whole.subarray(0, index), bytes, whole.subarray(index)])
}
const damages: Arbitrary<Damage> = fc.oneof(
  fc.constantFrom<Damage>(
    (body, where) => ({ payload: body.slice(0, where % (body.length + 1)) }),
    (body) => ({ payload: body + body }),
    (body) => ({ payload: '\ufeff' + body }),
    (body) => ({ payload: Buffer.from(body, 'utf16le') }),
    (body) => ({ payload: Buffer.from(body, 'latin1') }),
    (body) => ({ payload: ` \r\n\t${body}\n ` }),
    (body) => ({ payload: body.padEnd(1_048_577) })
  ),
  fc.uint8Array({ minLength: 1, maxLength: 3 }).map(
    (bytes): Damage => (body, where) => ({ payload: insertAt(body, where, Buffer.from(bytes)) })
  ),
  fc.constantFrom('\0', '"', '\\', '{', '}', '[', ']', ',', ':', '\u2028', '\x7f', '/**/', '\\u0000', '\\ud800').map(
    (characters): Damage => (body, where) => ({ payload: insertAt(body, where, Buffer.from(characters)) })
  ),
  fc.constantFrom<Record<string, string>>(
    { 'content-type': 'text/plain' }, { 'content-type': 'application/x-www-form-urlencoded' }, { 'content-type': '' },
    { 'content-type': 'application/json; charset=utf-16' }, { 'content-type': 'application/json;charset="UTF-8"' },
    { 'content-type': 'APPLICATION/JSON' }, { 'content-type': 'application/json-patch+json' },
    { 'content-type': 'application/json, text/plain' }, { 'content-type': `application/json;${' '.repeat(5000)}x` },
    { 'content-encoding': 'gzip' }, { 'content-encoding': 'identity' }, { 'content-encoding': 'br, gzip' },
    { 'content-language': '\u00e9' }
  ).map((headers): Damage => () => ({ headers }))
)

const asSent = (json: Json): Sent => ({ payload: write(json), headers: {}, valid: true })

/**
 * Leaves three of five bodies unchanged, mutates the others once or twice and damages the text of some. `broken`:
 * bodies that must be refused.
 */
export function sentOf (bodies: Arbitrary<Json>, broken: Arbitrary<readonly [Json, code: string]>): Arbitrary<Sent> {
  const changed = fc.tuple(bodies, fc.array(fc.tuple(changes, fc.nat(1000)), { minLength: 1, maxLength: 2 }))
    .map(([body, list]): Sent => ({
      ...asSent(list.reduce((json, [change, where]) => change(json, where), body)), valid: false
    }))
  const damaged = fc.tuple(fc.oneof(bodies.map(asSent), changed), damages, fc.nat(10_000))
    .map(([sent, damage, where]): Sent => ({ ...sent, ...damage(sent.payload as string, where), valid: false }))
  const refused = broken.map(([body, code]): Sent => ({ ...asSent(body), valid: false, code }))
  return fc.oneof(
    { weight: 12, arbitrary: bodies.map(asSent) }, { weight: 5, arbitrary: changed }, { weight: 2, arbitrary: damaged },
    { weight: 1, arbitrary: refused }
  )
}
