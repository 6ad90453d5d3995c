/** Generators of JSON values for columns, as JSON text, so that numbers stay exact. */
import fc, { type Arbitrary } from 'fast-check'

/** Generates JSON texts of values that fit a column. */
export type JsonTexts = Arbitrary<string>

const json = (value: unknown): string => JSON.stringify(value)
const strings = (texts: Arbitrary<string>, ...edges: string[]): JsonTexts =>
  fc.oneof({ weight: 4, arbitrary: texts }, { weight: 1, arbitrary: fc.constantFrom('', ...edges) }).map(json)

const integers = (bits: bigint, unsigned: boolean): JsonTexts => {
  const [min, max] = unsigned ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]
  const edges = [min, max, 0n, 1n, (1n << 53n) - 1n, 1n << 53n, (1n << 53n) + 1n, (1n << 63n) - 1n].filter(
    (edge) => edge >= min && edge <= max
  )
  const number = fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(...edges)).map(String)
  return fc.oneof({ weight: 3, arbitrary: number }, { weight: 1, arbitrary: number.map(json) })
}

const decimals = (precision: number, scale: number, unsigned = false): JsonTexts => {
  const digits = (count: number): Arbitrary<string> => count === 0
    ? fc.constant('')
    : fc.oneof(
      fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 0, maxLength: count }),
      fc.constant('9'.repeat(count))
    )
  return fc.tuple(fc.boolean(), digits(precision - scale), digits(scale), fc.boolean())
    .map(([negative, whole, fraction, quoted]) => {
      const text = (whole.replace(/^0+(?=\d)/, '') || '0') + (fraction === '' ? '' : '.' + fraction)
      const signed = (negative && !unsigned ? '-' : '') + text
      return quoted ? json(signed) : signed
    })
}

const doubles = (...edges: number[]): JsonTexts => fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, -0, ...edges)
).map((number) => Object.is(number, -0) ? '-0' : String(number))
const floats = fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(
  0.1, 16777217, 3.4028234663852886e38, 1.401298464324817e-45
)).map(String)

/** Any character. fast-check's own unit `binary` makes a table of all of them for each arbitrary. */
const character = fc.oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point))

/** Any valid Unicode text: emoji, NUL, quotes, backslashes, wildcards, trailing spaces. */
const unicode = (maxLength: number): Arbitrary<string> => fc.oneof(
  fc.string({ unit: character, maxLength }),
  fc.string({
    unit: fc.constantFrom('a', 'B', ' ', "'", '"', '\\', '%', '_', '\0', '\n', '\x1a', 'é', 'ß', '😀', '日'), maxLength
  })
)
const bytes = (maxLength: number, minLength = 0): JsonTexts =>
  fc.uint8Array({ maxLength, minLength }).map((array) => json(Buffer.from(array).toString('base64')))

const pad = (number: number, length = 2): string => String(number).padStart(length, '0')
const fraction = (scale: number): Arbitrary<string> => scale === 0
  ? fc.constant('')
  : fc.oneof(fc.constant(''), fc.nat(10 ** scale - 1).map((number) => '.' + pad(number, scale)))
const day = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }).map(
  (date) => date.toISOString().slice(0, 10)
)
const clock = fc.tuple(fc.nat(23), fc.nat(59), fc.nat(59)).map((parts) => parts.map((part) => pad(part)).join(':'))

const datetimes = (scale: number, ...edges: string[]): JsonTexts => fc.oneof(
  fc.tuple(day, fc.constantFrom('T', ' '), clock, fraction(scale)).map((parts) => parts.join('')),
  fc.constantFrom('9999-12-31T23:59:59', ...edges)
).map(json)
const timestamps = (scale: number): JsonTexts => fc.tuple(
  fc.integer({ min: 86_400, max: 0x7fffffff - 86_400 }), fraction(scale),
  fc.constantFrom('Z', '+00:00', '+05:45', '-11:30', 'z')
).map(([seconds, part, zone]) => json(new Date(seconds * 1000).toISOString().slice(0, 19) + part + zone))
const times = (scale: number, hours: number): JsonTexts => fc.tuple(
  fc.constantFrom('', '-'), fc.nat(hours), fc.nat(59), fc.nat(59), fraction(scale)
)
  .map(([sign, ...[h, m, s, f]]) => json(`${sign}${pad(h)}:${pad(m)}:${pad(s)}${f}`))

/** JSON values with 64-bit integers. */
const documents: JsonTexts = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }).filter(
    (value) => value !== null && JSON.stringify(value).isWellFormed() && !/\\ud[89a-f]/i.test(JSON.stringify(value))
  ).map(json),
  fc.bigInt({ min: -(1n << 63n), max: (1n << 64n) - 1n }).map(
    (number) => `{"big":${number},"list":[${number},null,{"none":null}]}`
  ),
  fc.tuple(fc.integer({ min: -99, max: 99 }), fc.constantFrom('.0', '.50', '.25', 'e2', 'E2', 'e+2', '.0e-3', '.000'))
    .map(([whole, rest]) => `{"lat":${whole}${rest},"list":[${whole}${rest},-0,0.0]}`),
  fc.constantFrom(
    '{}', '[]', '""', '0', 'false', '{"":[]}', '{"__proto__":{"constructor":1}}', '[1.5,-1e-7]',
    '-1.797693134862313e+308', '1e+21', '52.0', '[52.0]', '{"$x":1}', '{"$eq":{"$x":[]}}'
  )
)

const ordinate = fc.oneof(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.integer({ min: -90, max: 90 }))
const position = fc.tuple(ordinate, ordinate)
const line = fc.array(position, { minLength: 2, maxLength: 5 })
const ring = fc.array(position, { minLength: 3, maxLength: 5 }).map((positions) => [...positions, positions[0]])
const shape = (type: string, coordinates: Arbitrary<unknown>): Arbitrary<object> =>
  coordinates.map((value) => ({ type, coordinates: value }))
const simple = fc.oneof(
  shape('Point', position), shape('LineString', line), shape('Polygon', fc.array(ring, { minLength: 1, maxLength: 2 })),
  shape('MultiPoint', fc.array(position, { minLength: 1, maxLength: 4 })),
  shape('MultiLineString', fc.array(line, { minLength: 1, maxLength: 3 })),
  shape('MultiPolygon', fc.array(fc.array(ring, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }))
)
const collection = fc.array(simple, { maxLength: 3 }).map((geometries) => ({ type: 'GeometryCollection', geometries }))
const lonlat = fc.tuple(fc.double({ min: -179, max: 179, noNaN: true }), fc.double({ min: -89, max: 89, noNaN: true }))
/** Writes a number as a client would: -0 stays -0. */
const exactJson = (value: unknown): string =>
  JSON.stringify(value, (_key, item) => Object.is(item, -0) ? JSON.rawJSON('-0') : item)

export const values = {
  integers,
  decimals,
  /** As numbers only. */
  fixed: (precision: number, scale: number, unsigned = false): JsonTexts =>
    decimals(precision, scale, unsigned).map((text) => text.replaceAll('"', '')),
  doubles,
  floats,
  strings,
  unicode,
  bytes,
  datetimes,
  timestamps,
  times,
  documents,
  days: fc.oneof(day, fc.constantFrom('0000-00-00', '2024-02-29', '9999-12-31', '2020-00-00')).map(json),
  years: fc.oneof(fc.integer({ min: 1901, max: 2155 }), fc.constant(0)).map(String),
  tinyBools: fc.constantFrom('true', 'false', '0', '1', '2', '-128'),
  bools: fc.constantFrom('true', 'false'),
  bits: (length: number): JsonTexts =>
    fc.string({ unit: fc.constantFrom('0', '1'), minLength: 1, maxLength: length }).map(json),
  members: (...members: string[]): JsonTexts => fc.constantFrom(...members).map(json),
  sets: (...members: string[]): JsonTexts => fc.shuffledSubarray(members).map(json),
  geometries: fc.oneof(simple, collection).map(exactJson),
  points: shape('Point', position).map(exactJson),
  srids: fc.tuple(shape('Point', lonlat), fc.boolean()).map(([point, named]) =>
    exactJson(named ? { ...point, crs: { type: 'name', properties: { name: 'EPSG:4326' } } } : point)),
  places: shape('Point', lonlat).map(exactJson),
  vectors: (dimensions: number): JsonTexts => fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), {
    minLength: 1, maxLength: dimensions
  }).map(exactJson),
  ipv4: fc.ipV4().map(json),
  ipv6: fc.oneof(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }).map((parts) =>
    parts.map((part) => part.toString(16)).join(':')), fc.constantFrom('::', '::ffff:1.2.3.4', '::1')).map(json),
  uuids: fc.uuid({ version: [1, 2, 3, 4, 5, 6, 7] }).map(json)
}
