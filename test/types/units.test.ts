/** Column types without a server: reasons of refusals, defaults, and how new keys are shown. */
import fc from 'fast-check'
import t from 'tap'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { binaryType } from '../../src/types/binary.ts'
import { NOT_TEXT, ValueUnreadable, type ColumnType, type DriverValue, type Positions } from '../../src/types/column-type.ts'
import { decimalType } from '../../src/types/decimal.ts'
import { doubleType, floatType } from '../../src/types/float.ts'
import { geometryType } from '../../src/types/geometry.ts'
import { bitType, integerType } from '../../src/types/integer.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import { sqliteType } from '../../src/types/sqlite.ts'
import { datetimeType, timestampType } from '../../src/types/temporal.ts'
import { enumType, setType, textType } from '../../src/types/text.ts'
import { vectorType } from '../../src/types/vector.ts'
import { readGeometry } from '../../src/types/wkb.ts'
import '../support/seed.ts'

const none = { length: null, bytes: null, scale: null, charset: null, srid: null, json: false }
const decimal = decimalType({ precision: 6, scale: 2, unsigned: false })
const point = (coordinates: unknown, rest: object = {}): object => ({ type: 'Point', coordinates, ...rest })
const crs = (name: unknown): object => ({ crs: { type: 'name', properties: { name } } })
const nested = (depth: number): object => depth === 0 ? point([1, 2]) : { type: 'GeometryCollection', geometries: [nested(depth - 1)] }

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
  for (const [type, value, message] of cases) t.throws(() => type.read(value), { name: 'ValueRefused', message }, JSON.stringify(value).slice(0, 80))
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
  for (const [type, hex] of unreadable) t.throws(() => type.write(Buffer.from(hex, 'hex')), { name: 'ValueUnreadable' }, hex.slice(0, 80))
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
    [integerType(64, true), '18446744073709551615', '18446744073709551615'], [decimal, 1.5, '"1.50"'], [bitType(3), '11', '"011"'], [bitType(1), true, 'true'],
    [binaryType({ bytes: 4, padded: true }), 'AQI=', '"AQIAAA=="'], [datetimeType({ scale: 3, padded: true }), '2026-01-01 00:00:00', '"2026-01-01T00:00:00.000"'],
    [timestampType({ scale: 0, padded: true }), '2026-01-01T02:00:00+02:00', '"2026-01-01T00:00:00Z"'], [textType({ characters: 9, bytes: null }), 'a"b', '"a\\"b"'], [floatType({ unsigned: false }), 0.1, '0.1']
  ]
  for (const [type, value, text] of shown) t.equal(type.echo(type.read(value)), text)
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

t.test('decimals of SQLite have up to 15 digits on both sides of the point, as far as the declaration allows', async (t) => {
  const type = (declaration: string, length: number | null = null, scale: number | null = null): ColumnType => sqliteType({ ...none, name: 'decimal', declaration, length, scale })
  t.equal(type('numeric').read(1_700_000_000_000), 1_700_000_000_000, 'without digits, nine before the point were once the most')
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
  t.equal(type('timestamp').write('2026-01-01 10:15:00+02:00'), '"2026-01-01 10:15:00+02:00"', 'a time in another notation')
  t.equal(type('timestamp').write('2026-01-01 10:15:00.5'), '"2026-01-01T10:15:00.5Z"')
  for (const declaration of ['decimal(10,2)', 'real', 'integer', 'datetime', 'json', '']) t.throws(() => type(declaration).write(-Infinity), { name: 'ValueUnreadable', message: 'contains an infinite number' })
  t.throws(() => type('json').write(Buffer.from([1])), { name: 'ValueUnreadable' }, 'bytes would look like a JSON string')
  t.throws(() => type('text').write(NOT_TEXT), { name: 'ValueUnreadable' })
})

t.test('a position on SQLite holds each stored value exactly', async (t) => {
  const positions = (declaration: string): Positions => sqliteType({ ...none, name: declaration, declaration }).positions as Positions
  const stored: Array<[declaration: string, value: DriverValue, text: string]> = [
    ['timestamp', '2026-01-01 10:15:00', '"2026-01-01T10:15:00Z"'], ['timestamp', '2026-01-01T10:15:00Z', '{"$text":"2026-01-01T10:15:00Z"}'], ['timestamp', 1900000000n, '1900000000'], ['timestamp', 'soon', '{"$text":"soon"}'],
    ['timestamp', Buffer.from('soon'), '{"$bytes":"c29vbg=="}'], ['date', '2026-02-30', '{"$text":"2026-02-30"}'], ['integer', 1.5, '1.5'], ['integer', -(2n ** 63n), '-9223372036854775808'], ['integer', 'x', '{"$text":"x"}'], ['real', 1e300, '1e+300'],
    ['real', -0, '-0'], ['decimal(10,2)', 0.30000000000000004, '0.30000000000000004'], ['decimal(10,2)', 3n, '"3"'], ['decimal(10,2)', 123456789012345678n, '123456789012345678'], ['blob', 2 ** 60, '1.152921504606847e+18'],
    ['blob', 2n ** 60n, '1152921504606846976'], ['blob', 'AAAA', '{"$text":"AAAA"}'], ['blob', 'a', '{"$text":"a"}'], ['blob', Buffer.from([0, 1]), '"AAE="'], ['text', Buffer.from([0, 1]), '{"$bytes":"AAE="}'], ['text', 'AAE=', '"AAE="'], ['text', '{"$text":"a"}', '"{\\"$text\\":\\"a\\"}"']
  ]
  for (const [declaration, value, text] of stored) {
    const { read, write } = positions(declaration)
    t.equal(write(value), text, declaration)
    const parameter = read(parseExactJson(text))
    t.ok(typeof value === 'number' || typeof value === 'bigint' ? Number(parameter) === Number(value) && typeof parameter !== 'object' : Buffer.from(parameter as string).equals(Buffer.from(value as string)) && typeof parameter === typeof value, `${declaration} ${text} is read again`)
  }
  for (const [declaration, given] of [['integer', true], ['integer', [1]], ['integer', { $gt: 1 }], ['integer', { $text: 5 }], ['integer', { $text: 'a', $bytes: '' }], ['text', 5], ['integer', 'x'], ['date', '2026-02-30'], ['integer', { $text: '\ud800' }], ['real', JSON.rawJSON('1e400')]] as const) {
    t.throws(() => positions(declaration).read(given), { name: 'ValueRefused' }, declaration)
  }
  t.notOk('positions' in sqliteType({ ...none, name: 'json', declaration: 'json' }), 'no position has a JSON value')
})

t.test('DOUBLE(M,D) accepts only numbers with its digits', async (t) => {
  const double = doubleType({ unsigned: false, fixed: { precision: 10, scale: 2 } })
  for (const value of [1, 1.5, -12.25, 99999999.99, 0.1]) t.equal(double.read(value), value)
  t.equal(double.read(-0.01), -1 + 0.99, 'as the servers compute it')
  t.equal(double.echo(double.read(-0.01)), '-0.01')
  for (const value of [1.005, 0.001, -1e-7, 100000000, 1e300]) t.throws(() => double.read(value), { name: 'ValueRefused', message: /^can have at most (2|8) digits/ })
  t.throws(() => double.read(JSON.rawJSON('0.' + '0'.repeat(500) + '1')), { name: 'ValueRefused' }, 'a number of any length')
  t.equal(floatType({ unsigned: false, fixed: { precision: 7, scale: 3 } }).read(1234.001), Math.fround(1234.001))
})

t.test('the upper bound of TIMESTAMP depends on the server', async (t) => {
  const type = (lastTimestamp?: number): ColumnType => mysqlType({ ...none, name: 'timestamp', declaration: 'timestamp', lastTimestamp })
  t.equal(type(0xffffffff).read('2106-02-07T06:28:15Z'), '2106-02-07 06:28:15')
  t.throws(() => type(0xffffffff).read('2106-02-07T06:28:16Z'), { message: 'must be from 1970-01-01T00:00:01Z to 2106-02-07T06:28:15Z' })
  t.throws(() => type().read('2038-01-19T03:14:08Z'), { message: 'must be from 1970-01-01T00:00:01Z to 2038-01-19T03:14:07Z' })
})

t.test('the key of a new row is shown as the server stores it, or as null', async (t) => {
  const echo = (declaration: string, value: unknown): string => {
    const type = mysqlType({ ...none, name: declaration.replace(/\(.*/, ''), declaration, length: 9 })
    const parameter = type.read(value)
    return type.echo(type.stored?.(parameter) ?? parameter)
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
