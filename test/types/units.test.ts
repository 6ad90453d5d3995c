/** Single types: what they read and write, moments, patterns and long values. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { writeMoment } from '../../src/dialects/mysql/statement-command.ts'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { binaryType, bitType } from '../../src/types/binary.ts'
import {
  type ColumnType, type DriverValue, type Moment, type MomentForm, NOT_TEXT, type Positions, ValueRefused,
  ValueUnreadable
} from '../../src/types/column-type.ts'
import { decimalType, integerType } from '../../src/types/exact-numbers.ts'
import { doubleType, floatType } from '../../src/types/float.ts'
import { geometryType, vectorType, readGeometry } from '../../src/types/geometry.ts'
import { requireMysqlNumber } from '../../src/types/json.ts'
import { fromMicros, readMoment, valueAt } from '../../src/types/moment.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import { sqliteType } from '../../src/types/sqlite.ts'
import { datetimeType, dateType, LAST_SECOND_OF_64_BITS, timestampType, timeType } from '../../src/types/temporal.ts'
import { enumType, setType, textType } from '../../src/types/text.ts'
import '../support/seed.ts'
import { mysqlColumn, sqliteColumn } from '../support/tables.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

const none = { length: null, bytes: null, scale: null, charset: null, srid: null, json: false }
const decimal = decimalType({ precision: 6, scale: 2, unsigned: false })
const point = (coordinates: unknown, rest: object = {}): object => ({ type: 'Point', coordinates, ...rest })
const crs = (name: unknown): object => ({ crs: { type: 'name', properties: { name } } })
const nested = (depth: number): object => depth === 0
  ? point([1, 2])
  : { type: 'GeometryCollection', geometries: [nested(depth - 1)] }

t.test('an unsigned decimal takes a zero with a sign, which it stores without', async (t) => {
  const { read } = decimalType({ precision: 6, scale: 2, unsigned: true })
  t.same(['-0', '-0.00', 0].map((value) => read(value)), ['0.00', '0.00', '0.00'])
})

t.test('the message of a refusal says what is wrong with the value', async (t) => {
  const geometry = geometryType({ only: null, srid: null })
  const cases: Array<[ColumnType, unknown, RegExp]> = [
    [floatType({ unsigned: true }), -1, /must not be negative/],
    [doubleType({ unsigned: true }), -0.5, /must not be negative/],
    [decimalType({ precision: 6, scale: 2, unsigned: true }), '-1', /must not be negative/],
    [textType({ characters: null, bytes: 8 }), 'éééééé', /longer than 8 bytes/],
    [setType(['a', 'b']), ['a', 'a'], /contains a member twice/],
    [enumType(['a']), 'b', /expected one of "a"/],
    [geometryType({ only: null, srid: 4326 }), point([1, 2], crs('EPSG:3857')), /must have the SRID 4326/],
    [geometry, point([1, 2], crs('WGS 84')), /expected a "crs"/],
    [geometry, point([1, 2], crs(4326)), /expected a "crs"/],
    [geometry, point([1, 2], { crs: null }), /expected a "crs"/],
    [geometry, point([1, 2], { bbox: [0, 0, 1, 1] }), /contains the member "bbox", which cannot be stored/],
    [geometry, point([1, 2], { geometries: [] }), /contains the member "coordinates with geometries"/],
    [geometry, { type: 'LineString', coordinates: 1 }, /not nested deeply enough/],
    [geometry, { type: 'LineString', coordinates: [[1, null], [2, 3]] }, /coordinate that is not a number/],
    [geometry, { type: 'GeometryCollection' }, /expected a GeoJSON geometry/],
    [geometry, { type: 'GeometryCollection', geometries: [1] }, /not a GeoJSON object/],
    [geometry, { type: 'GeometryCollection', geometries: [{ type: 'Circle' }] }, /expected a GeoJSON geometry/],
    [geometry, nested(40), /not a GeoJSON object/]
  ]
  for (const [type, value, message] of cases) {
    t.throws(() => type.read(value), { name: 'ValueRefused', message }, JSON.stringify(value).slice(0, 80))
  }
})

t.test('geometry collections can be nested', async (t) => {
  const type = geometryType({ only: null, srid: null })
  t.same(JSON.parse(type.write(type.read(nested(30)) as Buffer)), nested(30))
  t.equal(readGeometry(type.read(point([1, 2], crs('EPSG:4326'))) as Buffer).srid, 4326)
})

t.test('bytes of others are a value or unreadable, whatever they are', async (t) => {
  const [geometry, vector] = [geometryType({ only: null, srid: null }), vectorType(16)]
  const header = (code: string): string => `01${code}000000`
  const origin = '00'.repeat(16)
  const unreadable: Array<[ColumnType, hex: string]> = [
    [geometry, ''.padEnd(6, '0')],
    [geometry, `0000000000${'01'.padEnd(8, '0')}${origin}`], // big-endian
    [geometry, `00000000${header('08')}${origin}`],
    [geometry, `00000000${header('01')}${origin}00`],
    [geometry, `00000000${header('02')}ffffffff${origin}`],
    [geometry, `00000000${header('04')}01000000${header('02')}01000000${origin}`], // a line in a MultiPoint
    [geometry, `00000000${`${header('07')}01000000`.repeat(300)}${header('01')}${origin}`],
    [geometry, `00000000${header('01')}000000000000f07f${'00'.repeat(8)}`], // infinity
    [vector, '000000'], [vector, '0000c07f'], [vector, '0000807f']
  ]
  for (const [type, hex] of unreadable) {
    t.throws(() => type.write(Buffer.from(hex, 'hex')), { name: 'ValueUnreadable' }, hex.slice(0, 80))
  }
  t.equal(vector.write(Buffer.alloc(0)), 'null')
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(geometry, vector), (bytes, type) => {
    try {
      JSON.parse(type.write(Buffer.from(bytes)))
    } catch (error) {
      if (!(error instanceof ValueUnreadable)) throw error
    }
  }))
  for (const value of [[], 'a', [1, 2, 3, 4, 5]]) t.throws(() => vector.read(value), { name: 'ValueRefused' })
})

t.test('the key of a new row is shown as a select shows it', async (t) => {
  const shown: Array<[ColumnType, unknown, string]> = [
    [integerType(64, true), '18446744073709551615', '18446744073709551615'], [decimal, 1.5, '"1.50"'],
    [bitType(3), '11', '"011"'], [bitType(1), true, 'true'],
    [binaryType({ bytes: 4, padded: true }), 'AQI=', '"AQIAAA=="'],
    [datetimeType({ scale: 3, padded: true }), '2026-01-01 00:00:00', '"2026-01-01T00:00:00.000"'],
    [timestampType({ scale: 0, padded: true }), '2026-01-01T02:00:00+02:00', '"2026-01-01T00:00:00Z"'],
    [textType({ characters: 9, bytes: null }), 'a"b', '"a\\"b"'], [floatType({ unsigned: false }), 0.1, '0.1']
  ]
  for (const [type, value, text] of shown) t.equal(type.storedJson(type.read(value)), text)
})

t.test('facts that information_schema omits have the default of the type', async (t) => {
  const type = (name: string, declaration = name): ColumnType => mysqlType({ ...none, name, declaration })
  t.equal(type('bit').read(true), 1n)
  t.equal(type('decimal').read('12'), '12')
  t.throws(() => type('decimal').read('1.5'))
  t.equal(type('datetime').read('2026-01-01 00:00:00'), '2026-01-01 00:00:00')
  t.equal(type('longtext').read('x'.repeat(10)), 'x'.repeat(10))
  t.throws(() => type('vector').read([1]))
  t.notOk(type('xmltype').writable)
  t.equal(type('xmltype').write(Buffer.from('<a/>')), '"<a/>"')
  t.throws(() => type('xmltype').read('<a/>'), { message: /not supported/ })
  t.equal(type('double', 'double zerofill').write(Buffer.from('000000001.5')), '1.5')
})

t.test('a decimal of SQLite with scale 0 has no fraction', async (t) => {
  const whole = sqliteType({ ...none, name: 'decimal', declaration: 'decimal(5)', length: 5 })
  t.equal(whole.read('12'), 12)
  t.throws(() => whole.read('1.5'), { message: /at most 0 digits after the decimal point/ })
  t.equal(whole.write(12n), '"12"')
})

t.test('decimals of SQLite have up to 15 digits on both sides of the point, as far as the ' +
  'declaration allows', async (t) => {
  const type = (declaration: string, length: number | null = null, scale: number
    | null = null): ColumnType => sqliteType({ ...none, name: 'decimal', declaration, length, scale })
  t.equal(
    type('numeric').read(1_700_000_000_000), 1_700_000_000_000,
    'without digits, nine before the point were once the most'
  )
  t.equal(type('numeric').read('123456789.123456'), 123456789.123456)
  t.throws(() => type('numeric').read('1234567890123456'), { message: /at most 15 digits/ })
  t.throws(() => type('numeric').read('1234567890.123456'), { message: /at most 15 digits$/ })
  t.equal(type('decimal(38,18)', 38, 18).read('0'), 0, 'a scale of more than 15 once allowed nothing')
  t.equal(type('decimal(38,18)', 38, 18).read('12345678.1234567'), 12345678.1234567)
  t.equal(type('decimal(38,18)', 38, 18).read('0.000000000000000001'), 1e-18)
  t.throws(() => type('decimal(10,2)', 10, 2).read('123456789'), { message: /at most 8 digits before/ })
})

t.test('the zero timestamp of MySQL stays unchanged', async (t) => {
  const type = timestampType({ scale: 0, padded: true })
  t.equal(type.write(Buffer.from('0000-00-00 00:00:00')), '"0000-00-00T00:00:00Z"')
  t.equal(type.read('0000-00-00T00:00:00Z'), '0000-00-00 00:00:00')
})

t.test('a timestamp is a whole day of the calendar within the bounds, in UTC and at any offset', async (t) => {
  const type = timestampType({ scale: 3, padded: true })
  for (const [given, stored] of [
    ['1970-01-01T00:00:01Z', '1970-01-01 00:00:01.000'], ['2038-01-19T03:14:07.5z', '2038-01-19 03:14:07.500'],
    ['2026-11-20 10:15:00Z', '2026-11-20 10:15:00.000'],
    ['2026-03-01T00:30:00+01:00', '2026-02-28 23:30:00.000'], ['1969-12-31T23:59:59-00:01', '1970-01-01 00:00:59.000'],
    ['2038-01-19T04:14:07+01:00', '2038-01-19 03:14:07.000']
  ] as const) t.equal(type.read(given), stored, given)
  for (const given of [
    '2026-00-05T00:00:00Z', '2026-05-00T00:00:00Z', '2026-00-00T00:00:00Z', '2026-05-00T00:00:00+01:00',
    '0001-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00',
    '1970-01-01T00:00:00Z', '1970-01-01T00:00:30+00:01', '2038-01-19T03:14:08Z', '2038-01-19T03:13:08-00:01'
  ]) t.throws(() => type.read(given), { message: 'must be from 1970-01-01T00:00:01Z to 2038-01-19T03:14:07Z' }, given)
})

t.test('SQLite values are written by their storage class, whatever the declaration', async (t) => {
  const type = (declaration: string): ColumnType => sqliteType({ ...none, name: declaration, declaration })
  t.equal(type('json').write('not json'), '"not json"')
  t.equal(type('json').write(5n), '5')
  t.equal(type('json').write('{"a":1}'), '{"a":1}')
  t.equal(type('integer').write('abc'), '"abc"')
  t.equal(type('decimal').write(2.5), '"2.5"')
  t.equal(type('decimal').write(3n), '"3"')
  t.equal(type('decimal').write('abc'), '"abc"')
  t.equal(type('decimal(10,2)').write(Buffer.from([1])), '"AQ=="')
  t.equal(type('real').write(-0), '-0')
  t.equal(type('datetime').write('2026-01-01'), '"2026-01-01"')
  t.equal(type('datetime').write(5n), '5')
  t.equal(type('').write(Buffer.from([1, 2])), '"AQI="')
  t.equal(
    type('timestamp').write('2026-01-01 10:15:00+02:00'), '"2026-01-01 10:15:00+02:00"', 'a time in another notation'
  )
  t.equal(type('timestamp').write('2026-01-01 10:15:00.5'), '"2026-01-01T10:15:00.5Z"')
  for (const declaration of ['decimal(10,2)', 'real', 'integer', 'datetime', 'json', '']) {
    t.throws(
      () => type(declaration).write(-Infinity), { name: 'ValueUnreadable', message: 'contains an infinite number' }
    )
  }
  t.throws(
    () => type('json').write(Buffer.from([1])), { name: 'ValueUnreadable' }, 'bytes would look like a JSON string'
  )
  t.throws(() => type('text').write(NOT_TEXT), { name: 'ValueUnreadable' })
})

t.test('a position on SQLite holds each stored value exactly', async (t) => {
  const positions = (declaration: string): Positions =>
    sqliteType({ ...none, name: declaration, declaration }).positions as Positions
  const stored: Array<[declaration: string, value: DriverValue, text: string]> = [
    ['timestamp', '2026-01-01 10:15:00', '"2026-01-01T10:15:00Z"'], [
      'timestamp', '2026-01-01T10:15:00Z', '{"$text":"2026-01-01T10:15:00Z"}'
    ], ['timestamp', 1900000000n, '1900000000'], ['timestamp', 'soon', '{"$text":"soon"}'],
    ['timestamp', Buffer.from('soon'), '{"$bytes":"c29vbg=="}'], ['date', '2026-02-30', '{"$text":"2026-02-30"}'], [
      'integer', 1.5, '1.5'
    ], ['integer', -(2n ** 63n), '-9223372036854775808'], ['integer', 'x', '{"$text":"x"}'], ['real', 1e300, '1e+300'],
    ['real', -0, '-0'], ['decimal(10,2)', 0.30000000000000004, '"0.30000000000000004"'], ['decimal(10,2)', 3n, '"3"'],
    ['decimal(10,2)', 123456789012345678n, '"123456789012345678"'], [
      'decimal(10,2)', 2 ** 63 - 1024, '{"$number":"9.223372036854775e+18"}'
    ], ['decimal(10,2)', 1.5e300, `"15${'0'.repeat(299)}"`], ['blob', 2 ** 60, '{"$number":"1.152921504606847e+18"}'],
    ['blob', 2n ** 60n, '{"$number":"1152921504606846976"}'], ['date', 2n ** 62n, '{"$number":"4611686018427387904"}'],
    [
      'real', 2 ** 60, '1152921504606847000'
    ], ['blob', 'AAAA', '{"$text":"AAAA"}'], ['blob', 'a', '{"$text":"a"}'], ['blob', Buffer.from([0, 1]), '"AAE="'], [
      'text', Buffer.from([0, 1]), '{"$bytes":"AAE="}'
    ], ['text', 'AAE=', '"AAE="'], ['text', '{"$text":"a"}', '"{\\"$text\\":\\"a\\"}"']
  ]
  for (const [declaration, value, text] of stored) {
    const { read, write } = positions(declaration)
    t.equal(write(value), text, declaration)
    const parameter = read(parseExactJson(text))
    if (declaration !== 'integer') {
      t.same(
        read(parseExactJson(JSON.stringify(JSON.parse(text)))), parameter,
      `${declaration} ${text} is read alike from a client that parses numbers as doubles`
      )
    }
    t.ok(typeof value === 'number' || typeof value === 'bigint'
      ? Number(parameter) === Number(value) && typeof parameter !== 'object'
      : Buffer.from(parameter as string).equals(Buffer.from(value as string)) &&
        typeof parameter === typeof value, `${declaration} ${text} is read again`)
  }
  for (const [declaration, given] of [
    ['integer', true], ['integer', [1]], ['integer', { $gt: 1 }], ['integer', { $text: 5 }],
    ['integer', { $text: 'a', $bytes: '' }], ['text', 5], ['integer', 'x'], ['date', '2026-02-30'],
    ['integer', { $text: '\ud800' }], ['real', JSON.rawJSON('1e400')]
  ] as const) {
    t.throws(() => positions(declaration).read(given), { name: 'ValueRefused' }, declaration)
  }
  t.notOk('positions' in sqliteType({ ...none, name: 'json', declaration: 'json' }), 'no position has a JSON value')
})

t.test('DOUBLE(M,D) accepts only numbers with its digits', async (t) => {
  const double = doubleType({ unsigned: false, fixed: { precision: 10, scale: 2 } })
  for (const value of [1, 1.5, -12.25, 99999999.99, 0.1]) t.equal(double.read(value), value)
  t.equal(double.read(-0.01), -1 + 0.99, 'as the servers compute it')
  t.equal(double.storedJson(double.read(-0.01)), '-0.01')
  for (const value of [1.005, 0.001, -1e-7, 100000000, 1e300]) {
    t.throws(() => double.read(value), { name: 'ValueRefused', message: /^can have at most (2|8) digits/ })
  }
  t.throws(
    () => double.read(JSON.rawJSON('0.' + '0'.repeat(500) + '1')), { name: 'ValueRefused' }, 'a number of any length'
  )
  t.equal(floatType({ unsigned: false, fixed: { precision: 7, scale: 3 } }).read(1234.001), Math.fround(1234.001))
})

t.test('the upper bound of TIMESTAMP depends on the server', async (t) => {
  const type = (lastTimestamp?: number): ColumnType => mysqlType({
    ...none, name: 'timestamp', declaration: 'timestamp', lastTimestamp
  })
  t.equal(type(0xffffffff).read('2106-02-07T06:28:15Z'), '2106-02-07 06:28:15')
  t.throws(() => type(0xffffffff).read('2106-02-07T06:28:16Z'), {
    message: 'must be from 1970-01-01T00:00:01Z to 2106-02-07T06:28:15Z'
  })
  t.throws(() => type().read('2038-01-19T03:14:08Z'), {
    message: 'must be from 1970-01-01T00:00:01Z to 2038-01-19T03:14:07Z'
  })
})

t.test('the key of a new row is shown as the server stores it, or as null', async (t) => {
  const echo = (declaration: string, value: unknown): string => {
    const type = mysqlType({ ...none, name: declaration.replace(/\(.*/, ''), declaration, length: 9 })
    const parameter = type.read(value)
    return type.storedJson(type.stored?.(parameter) ?? parameter)
  }
  t.equal(echo('char(9)', 'ab  '), '"ab"')
  t.equal(echo('varchar(9)', 'ab  '), '"ab  "')
  t.equal(echo('time', '-00:00:00'), '"00:00:00"')
  t.equal(echo('inet6', '2001:DB8:0:0:0:0:0:1'), 'null')
  t.equal(echo("enum('a')", ''), '""')
  t.equal(echo("enum('a')", 'a'), '"a"')
})

t.test('the invalid ENUM value is sent as a text that MySQL converts to index 0', async (t) => {
  const stored = (...members: string[]): unknown => enumType(members).stored?.('')
  t.equal(stored('a'), '0')
  t.equal(stored('0', '00', '\uff10\uff10\uff10'), '0000')
  t.equal(stored('a', ''), '', 'here it is a member')
  t.equal(stored('0', '00', '000', '0000'), '')
  t.equal(enumType(['a']).stored?.('a'), 'a')
})

// Moments: what a column stores of them, and their expression for the servers. test/http/now.test.ts runs both.

const at = (text: string) => fromMicros(BigInt(Date.parse(text)) * 1000n + 456n)
/** As introspection finds it. */
function typeOnServer (declaration: string): ColumnType {
  const [, name = '', digits = null] = /^(\w+)(?:\((\d)\))?$/.exec(declaration) ?? []
  return mysqlType({
    name,
    declaration,
    length: null,
    bytes: null,
    scale: digits === null ? null : Number(digits),
    charset: null,
    srid: null,
    json: false
  })
}
const moment = (declaration: string, offset: unknown, type = typeOnServer(declaration)): Moment =>
  readMoment(offset, type.moment as MomentForm, 'data')

t.test('a month after the 31st is the last day of the next month, in leap years too', async (t) => {
  const cases: Array<[now: string, offset: object, expected: string]> = [
    ['2026-01-31T10:00:00Z', { months: 1 }, '2026-02-28 10:00:00'], [
      '2028-01-31T10:00:00Z', { months: 1 }, '2028-02-29 10:00:00'
    ], ['2028-02-29T10:00:00Z', { years: 1 }, '2029-02-28 10:00:00'],
    ['2028-02-29T10:00:00Z', { years: -4 }, '2024-02-29 10:00:00'], [
      '2026-03-31T10:00:00Z', { months: -1, days: 1 }, '2026-03-01 10:00:00'
    ], ['2026-05-31T23:59:59Z', { months: 1, seconds: 1 }, '2026-07-01 00:00:00'],
    ['2026-12-31T10:00:00Z', { months: 2 }, '2027-02-28 10:00:00'],
    ['2026-01-15T10:00:00Z', { months: -13 }, '2024-12-15 10:00:00'], [
      '2026-01-01T00:00:00Z', { years: -2025, days: 0 }, '0001-01-01 00:00:00'
    ], ['2026-12-31T23:59:59Z', { years: 7973 }, '9999-12-31 23:59:59']
  ]
  for (const [now, offset, expected] of cases) {
    t.equal(valueAt(moment('datetime', offset), at(now)), expected, `${now} ${JSON.stringify(offset)}`)
  }
})

t.test('a value has the digits and the form of its column', async (t) => {
  const now = at('2026-11-23T10:15:00.120Z')
  const cases: Array<[declaration: string, mysql: string, sqlite: string]> = [
    ['datetime', '2026-11-23 10:15:00', '2026-11-23 10:15:00'], [
      'datetime(3)', '2026-11-23 10:15:00.120', '2026-11-23 10:15:00.12'
    ], ['timestamp(6)', '2026-11-23 10:15:00.120456', '2026-11-23 10:15:00.120456'],
    ['time(1)', '10:15:00.1', '10:15:00.1'], ['date', '2026-11-23', '2026-11-23'], ['year', '2026', '2026']
  ]
  for (const [declaration, mysql, sqlite] of cases) {
    t.equal(valueAt(moment(declaration, true), now), mysql, declaration)
    t.equal(valueAt(moment(declaration, true, sqliteColumn('c', declaration).type), now), sqlite, declaration)
  }
})

t.test('what a column cannot hold has no value', async (t) => {
  const now = at('2026-11-23T10:15:00Z')
  for (const [declaration, offset] of [
    ['timestamp', { years: 20 }], ['timestamp', { years: -57 }], ['datetime', { years: -2026 }],
    ['date', { days: 100_000, years: 7900 }], ['year', { years: 130 }], ['time', { years: 9000 }]
  ] as const) {
    t.equal(valueAt(moment(declaration, offset), now), undefined, `${declaration} ${JSON.stringify(offset)}`)
  }
})

t.test('the expression has whole numbers only', async (t) => {
  t.equal(writeMoment(moment('datetime(3)', true)), 'current_timestamp(3)')
  t.equal(writeMoment(moment('date', true)), 'date(current_timestamp(0))')
  t.match(
    writeMoment(moment('datetime', { years: -1, days: 3 })),
    new RegExp('^if\\([a-z0-9_ *+(),-]+, ' +
      "\\(\\(current_timestamp\\(0\\) \\+ interval -12 month\\) \\+ interval 259200 second\\), 'out of range'\\)$")
  )
  t.match(writeMoment({ ...moment('datetime', { seconds: -5 }), use: 'filters' }), /, null\)$/)
})

// The patterns of schemas allow what the types read, and nothing else.

const precision = { scale: 3, padded: true }

function isRead ({ read }: ColumnType, text: string): boolean {
  try {
    read(text)
    return true
  } catch (error) {
    if (error instanceof ValueRefused) return false
    throw error
  }
}

/** Compares the pattern with the type for each of the texts. */
function agree (t: Test, type: ColumnType, texts: readonly string[]): void {
  const pattern = new RegExp(type.schema['pattern'] as string, 'u')
  const different = texts.filter((text) => pattern.test(text) !== isRead(type, text))
  t.same(different, [])
  t.ok(texts.some((text) => pattern.test(text)))
}

const pad = (number: number): string => String(number).padStart(2, '0')
const days = [
  '0000', '0004', '0100', '0400', '1900', '1970', '1999', '2000', '2023', '2024', '2037', '2096', '2100', '2104',
  '2400', '9996', '9999'
].flatMap((year) =>
  Array.from({ length: 14 }, (_, month) => Array.from({ length: 33 }, (_, day) => `${year}-${pad(month)}-${pad(day)}`))
    .flat())

t.test('dates, with zero parts and leap years', async (t) => {
  agree(t as Test, dateType(), [...days, '2026-1-01', '26-01-01', '2026-01-01 ', ''])
  agree(t as Test, datetimeType(precision), [
    ...days.map((day) => `${day}T10:15:00`), '2026-01-01 23:59:59.123', '2026-01-01T24:00:00', '2026-01-01T10:60:00',
    '2026-01-01T10:00:60', '2026-01-01T10:00:00Z', '2026-01-01T10:00:00.', '2026-01-01T10:00:00.1234'
  ])
})

t.test('moments between 1970 and the last second', async (t) => {
  const last = [['2038-01-19T03:14:', 7, undefined], ['2106-02-07T06:28:', 15, LAST_SECOND_OF_64_BITS]] as const
  for (const [minute, second, lastSecond] of last) {
    const type = timestampType(precision, lastSecond)
    const near = [
      '2038-01-18T23:59:59Z', '2038-01-19T02:59:59Z', '2038-01-19T04:00:00Z', '2038-01-20T00:00:00Z',
      '2038-02-01T00:00:00Z', '2039-01-01T00:00:00Z', '2105-12-31T23:59:59Z', '2106-01-31T10:00:00Z',
      '2106-02-06T23:59:59Z', '2106-02-07T05:59:59Z', '2106-02-07T06:30:00Z', '2106-02-08T00:00:00Z',
      '2106-03-01T00:00:00Z', '2107-01-01T00:00:00Z', '0000-00-00T00:00:00Z', '0000-00-00T00:00:00.000Z'
    ]
    const seconds = Array.from({ length: 60 }, (_, index) => `${minute}${pad(index)}Z`)
    const whole = days.filter((day) => !/-00/.test(day) && !day.startsWith('1970-01-01')).map(
      (day) => `${day}T12:00:00+02:00`
    )
    agree(t as Test, type, [
      ...near, ...seconds, ...whole, '2026-01-01T10:00:00', '2026-01-01T10:00:00.123-11:30', '2026-01-01T10:00:00+24:00'
    ])
    t.ok(isRead(type, `${minute}${pad(second)}Z`))
  }
})

t.test('times to 838 hours', async (t) => {
  agree(t as Test, timeType(precision), [
    '00:00:00', '-12:30:00.5', '838:59:59', '839:00:00', '799:00:00', '800:00:00', '829:59:59', '999:00:00', '1:00:00',
    '10:60:00', '10:00:60', '10:00:00.123', '10:00:00.1234', '+10:00:00'
  ])
})

t.test('base64 of as many bytes as a column has', async (t) => {
  for (let size = 1; size <= 8; size++) {
    const texts = Array.from({ length: 12 }, (_, length) => Buffer.alloc(length, 0xfb).toString('base64'))
    agree(t as Test, binaryType({ bytes: size, padded: false }), [
      ...texts, '+/==', 'AB==', 'AAB=', 'A', 'AA', 'A===', '-_==', ' AA=='
    ])
  }
  agree(t as Test, binaryType({ bytes: null, padded: false }), [
    '', 'AAAA', 'AA==', 'AAA=', 'AB==', 'AAB=', 'AAAAA', 'AAA-'
  ])
})

t.test('members of which information_schema shows ? for a character', async (t) => {
  agree(t as Test, enumType(['q?', 'a.b', 'x|y']), ['q?', 'q🚲', 'qq', 'a.b', 'aab', 'x|y', 'x', 'y', 'q'])
})

// No check of a value, by a type or by the pattern of its schema, repeats a group, for which the stack would be too
// short.

t.test('a text of megabytes is read or refused by each type, and by the pattern of its schema', async (t) => {
  const declarations = (groups: Readonly<Record<string, readonly TypedColumn[]>>): string[] =>
    Object.values(groups).flat().map(({ declaration }) => declaration)
  const types = new Map([
    ...declarations(mysqlGroups).map(
      (declaration): [string, ColumnType] => [declaration, mysqlColumn('c', declaration).type]
    ),
    ...declarations(sqliteGroups).map(
      (declaration): [string, ColumnType] => [declaration, sqliteColumn('c', declaration).type]
    )
  ])
  const wrong: string[] = []
  for (const text of ['A'.repeat(4_400_000), '0'.repeat(4_400_000), '😀'.repeat(2_200_000)]) {
    for (const [declaration, { read, positions, schema, keeps }] of types) {
      const { pattern } = schema as { pattern?: string }
      const checks = [
        read, ...positions === undefined ? [] : [positions.read], ...keeps === undefined ? [] : [keeps],
        ...pattern === undefined ? [] : [(each: unknown) => new RegExp(pattern, 'u').test(String(each))]
      ]
      for (const check of checks) {
        try {
          check(text)
        } catch (error) {
          if (!(error instanceof ValueRefused)) wrong.push(`${declaration}, ${text.slice(0, 2)}: ${error}`)
        }
      }
    }
  }
  t.same(wrong, [])
})

// Very long values are refused quickly: reading takes linear time.

const LENGTH = 1_000_000
const zeros = '0'.repeat(LENGTH)
const precisionOfLongValues = { scale: 6, padded: true }

const long: Array<[string, () => unknown]> = [
  ['a decimal of zeros', () => decimalType({ precision: 10, scale: 2, unsigned: false }).read(`0.${zeros}1`)],
  ['a decimal with zeros before it', () => decimalType({ precision: 10, scale: 2, unsigned: false }).read(`${zeros}1`)],
  ['a whole number with zeros before it', () => integerType(64, false).read(`${zeros}1`)],
  ['a number inside JSON', () => requireMysqlNumber(`0.${zeros}1`)],
  ['a time', () => timeType(precisionOfLongValues).read(`10:00:00.${zeros}1`)],
  ['a date and time', () => datetimeType(precisionOfLongValues).read(`2026-01-01T10:00:00.${zeros}1`)],
  ['a moment', () => timestampType(precisionOfLongValues).read(`2026-01-01T10:00:00.${zeros}1Z`)]
]

for (const [name, read] of long) {
  // Reading these once took minutes; then the time limit of the file fails.
  t.test(`${name} of a million digits is refused`, async (t) => { t.throws(read, { name: 'ValueRefused' }) })
}
