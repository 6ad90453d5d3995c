/** The column types of MySQL and MariaDB, by their names in information_schema.COLUMNS.DATA_TYPE. */
import { isIPv4, isIPv6 } from 'node:net'
import { doubleTotals, exactTotals } from './aggregates.ts'
import { binaryType, bitType } from './binary.ts'
import {
  COLUMN, createType, EXACT_NUMBER, GIVEN, RELATED_TEXT, type ColumnType, type SqlTemplate, type TypeFacts,
  type Wrapping
} from './column-type.ts'
import { decimalType, integerType, tinyBoolType, yearType } from './exact-numbers.ts'
import { computedDoubleType, doubleType, floatType, type FixedPoint } from './float.ts'
import { incrementDecimal, incrementDouble, incrementInteger, mergeForm, sqlOf, withNow } from './update-operators.ts'
import { geometryType, vectorType, GEOMETRY_TYPES } from './geometry.ts'
import { jsonType, removalsFirst, requireMysqlNumber, MARIADB_INSIDE, MYSQL_INSIDE } from './json.ts'
import { parseMembers, charType, enumType, formType, setType, textType, unknownType } from './text.ts'
import { MYSQL_PARTS, datetimeType, dateType, timestampBounds, timestampType, timeType } from './temporal.ts'
import { INTEGERS, valueClassesOf } from './value-classes.ts'

const UUID_TEXT = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

/**
 * Uses an aggregate of the column in HAVING, because MariaDB 10.11 would use the value of the previous group if it
 * sorts the rows to group them, as with COUNT(DISTINCT …). All values of a group are equal.
 */
const addressType = (form: Parameters<typeof formType>[0]): ColumnType =>
  createType({ ...formType(form), grouped: ['min(', ')'] })

const UUID = addressType({
  name: 'a UUID',
  format: 'uuid',
  title: 'Uuid',
  example: '123e4567-e89b-12d3-a456-426655440000',
  isValid: (text) => UUID_TEXT.test(text),
  normal: (text) => text.toLowerCase().replace(UUID_TEXT, '$1-$2-$3-$4-$5')
})
const INET4 = addressType({
  name: 'an IPv4 address',
  format: 'ipv4',
  title: 'Ipv4',
  example: '192.0.2.1',
  isValid: isIPv4
})
const INET6 = addressType({
  name: 'an IPv6 address',
  format: 'ipv6',
  title: 'Ipv6',
  example: '2001:db8::1',
  isValid: (text) => isIPv6(text) && !text.includes('%'),
  normal: allGroups,
  rewritten: true
})

/** All spellings have the same text. */
function allGroups (address: string): string {
  const groups = address.toLowerCase().replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_match, ...bytes) => {
    const [a, b, c, d] = bytes.map(Number) as [number, number, number, number]
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [before, after] = groups.split('::').map((part) => part === '' ? [] : part.split(':')) as [string[], string[]?]
  const all =
    after === undefined ? before : [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return all.map((group) => group.replace(/^0+(?=.)/, '')).join(':')
}

const isUnsigned = (facts: TypeFacts): boolean => / unsigned/i.test(facts.declaration)
const isZerofill = (facts: TypeFacts): boolean => / zerofill/i.test(facts.declaration)
/**
 * Compares integers for equality as strings of digits. Both servers convert the constant to an integer once, exactly,
 * and use an index. If the column has become a text since the catalog was read, they compare strings; with a number,
 * MariaDB would convert the column's texts, and `abc` would equal 0.
 */
const DIGITS: Wrapping = ["'", "'"]
/**
 * MySQL finds no row of the year 0 where an equality with the text `0000` stands beside a list that contains it.
 * MariaDB, which does, and would find a number equal to `abc`, ignores these comments.
 */
const YEAR: Wrapping = ['/*!80000 cast(*/', '/*!80000  as unsigned)*/']
/** Both servers refuse a sum that does not fit 64 bits (1690) or the column (1264). */
const SUM = sqlOf`${COLUMN} + ${GIVEN}`
const INCREMENT_INTEGER = [incrementInteger(SUM)]
/** Guards against sums such as 51, which the servers would store as the year 2051. */
const INCREMENT_YEAR = [
  incrementInteger(
    sqlOf`if(${COLUMN} + ${GIVEN} <> 0 and ${COLUMN} + ${GIVEN} not between 1901 and 2155, 9999, ${COLUMN} + ${GIVEN})`
  )
]
/** The seconds of the years from 1901 to 2155, since 1970. */
const YEARS = { first: Date.UTC(1901, 0) / 1000, last: Date.UTC(2156, 0) / 1000 - 1 }
/** A BIGINT has 20 digits. */
const INTEGER_TOTALS = exactTotals({ precision: 20, scale: 0 })
const wholeNumbers = (type: ColumnType): ColumnType =>
  createType({ ...type, equated: DIGITS, updates: INCREMENT_INTEGER, totals: INTEGER_TOTALS })
const integer =
  (bits: number) =>
    (facts: TypeFacts): ColumnType =>
      wholeNumbers(integerType(bits, isUnsigned(facts), isZerofill(facts)))
const decimal = (facts: TypeFacts): ColumnType => {
  const bounds = {
    precision: facts.length ?? 10,
    scale: facts.scale ?? 0,
    unsigned: isUnsigned(facts),
    zerofill: isZerofill(facts)
  }
  // a sum with the uncast text would be a double
  const sum = sqlOf`${COLUMN} + cast(${GIVEN} as decimal(${String(bounds.precision)},${String(bounds.scale)}))`
  return createType({ ...decimalType(bounds), updates: [incrementDecimal(bounds, sum)], totals: exactTotals(bounds) })
}
const double = (facts: TypeFacts, type: ColumnType): ColumnType =>
  createType({ ...type, updates: [incrementDouble(SUM, fixedPoint(facts))], totals: doubleTotals })
const digitsOf = (facts: TypeFacts) => ({ digits: facts.scale ?? 0 })
const text = (facts: TypeFacts): ColumnType =>
  textType({ characters: facts.length, bytes: null, charset: facts.charset })
const longText = (facts: TypeFacts): ColumnType =>
  textType({ characters: null, bytes: isUtf8(facts) ? facts.bytes : null, charset: facts.charset })
const binary = (padded: boolean) => (facts: TypeFacts): ColumnType => binaryType({ bytes: facts.bytes, padded })
/** Only DOUBLE(M,D) and FLOAT(M,D) have a scale. */
const fixedPoint = ({ length, scale }: TypeFacts): FixedPoint | undefined =>
  scale === null ? undefined : { precision: length as number, scale }
const precision = (facts: TypeFacts) => ({ scale: facts.scale ?? 0, padded: true })
const geometry = (only: string | null) => ({ srid }: TypeFacts): ColumnType => geometryType({ only, srid })
const isUtf8 = ({ charset }: TypeFacts): boolean => charset?.startsWith('utf8') ?? false

const MYSQL_JSON = withMerge(
  jsonType({
    compared: ['cast(', ' as json)'],
    inside: MYSQL_INSIDE,
    checkNumber: requireMysqlNumber,
    alwaysJson: true
  }),
  sqlOf`json_merge_patch(coalesce(${COLUMN}, '{}'), cast(${GIVEN} as json))`
)
/**
 * Compares normalized forms, because MariaDB stores JSON as text. The trailing space keeps JSON_NORMALIZE of 10.11 from
 * reading past the end of a text that ends with an exponent.
 */
const MARIADB_NORMAL: Wrapping = ['json_normalize(concat(', ', \' \'))']
/**
 * The function returns NULL with a warning for a text that is not JSON; the empty text makes the check of the column
 * fail instead.
 *
 * The patch is applied twice. As long as every member of a stored object has been removed, JSON_MERGE_PATCH of MariaDB
 * searches the patch from the last member found, not from its beginning (`do_merge_patch` in sql/item_jsonfunc.cc): it
 * keeps `a` in `json_merge_patch('{"b":1,"a":1}', '{"a":null,"b":null}')`. With a patch from `removalsFirst` it can
 * miss only one removal in each object, and this member is then the first of its object, where the second application
 * finds it.
 */
const MARIADB_JSON = withMerge(
  jsonType({ compared: MARIADB_NORMAL, comparedColumn: MARIADB_NORMAL, inside: MARIADB_INSIDE }),
  sqlOf`coalesce(json_merge_patch(coalesce(${COLUMN}, '{}'), ${GIVEN}, ${GIVEN}), '')`,
  removalsFirst
)

function withMerge (
  type: ColumnType,
  sql: SqlTemplate,
  write: (patch: unknown) => string = JSON.stringify
): ColumnType {
  const read = (patch: unknown): string => {
    type.read(patch)
    return write(patch)
  }
  return createType({ ...type, updates: [mergeForm(read, sql)] })
}

/** MySQL shows TINYINT(1) UNSIGNED as `tinyint unsigned`, as it does with every width. */
const MAY_BE_BOOL = /^tinyint(?:\(1\)| unsigned$)/i

const factories = new Map<string, (facts: TypeFacts) => ColumnType>([
  [
    'tinyint',
    (facts) =>
      MAY_BE_BOOL.test(facts.declaration) ? wholeNumbers(tinyBoolType(isUnsigned(facts))) : integer(8)(facts)
  ],
  ['smallint', integer(16)],
  ['mediumint', integer(24)],
  ['int', integer(32)],
  ['bigint', integer(64)],
  [
    'year',
    ({ declaration }) =>
      withNow(
        createType({
          ...yearType(),
          equated: YEAR,
          updates: INCREMENT_YEAR,
          totals: INTEGER_TOTALS,
          // MariaDB sorts them by all digits, and compares the last two
          ...(declaration === 'year(2)' && { unplaced: true as const })
        }),
        { kind: 'year', ...YEARS }
      )
  ],
  ['bit', (facts) => bitType(facts.length ?? 1)],
  ['decimal', decimal],
  ['float', (facts) => double(facts, floatType({ unsigned: isUnsigned(facts), fixed: fixedPoint(facts) }))],
  [
    'double',
    (facts) => {
      const fixed = fixedPoint(facts)
      if (facts.computed === true && fixed !== undefined) {
        return double({ ...facts, scale: null }, computedDoubleType())
      }
      return double(facts, doubleType({ unsigned: isUnsigned(facts), zerofill: isZerofill(facts), fixed }))
    }
  ],
  ['char', (facts) => charType({ characters: facts.length, bytes: null, charset: facts.charset })],
  ['varchar', text],
  ...['tinytext', 'text', 'mediumtext', 'longtext'].map((name) => [name, longText] as const),
  ['enum', (facts) => enumType(parseMembers(facts.declaration))],
  ['set', (facts) => setType(parseMembers(facts.declaration))],
  ['binary', binary(true)],
  ...['varbinary', 'tinyblob', 'blob', 'mediumblob', 'longblob'].map((name) => [name, binary(false)] as const),
  ['date', () => withNow(createType({ ...dateType(), parts: MYSQL_PARTS.day }), { kind: 'date' })],
  // MySQL would compare an expression with a text as texts
  [
    'time',
    (facts) =>
      withNow(createType({ ...timeType(precision(facts)), computed: ['cast(', ' as time(6))'] }), {
        kind: 'time',
        ...digitsOf(facts)
      })
  ],
  [
    'datetime',
    (facts) =>
      withNow(createType({ ...datetimeType(precision(facts)), parts: MYSQL_PARTS.moment }), {
        kind: 'moment',
        ...digitsOf(facts)
      })
  ],
  [
    'timestamp',
    (facts) =>
      withNow(createType({ ...timestampType(precision(facts), facts.lastTimestamp), parts: MYSQL_PARTS.moment }), {
        kind: 'moment',
        ...digitsOf(facts),
        ...timestampBounds(facts.lastTimestamp)
      })
  ],
  ['json', () => MYSQL_JSON],
  ['vector', (facts) => vectorType(facts.bytes ?? 0)],
  ['geometry', geometry(null)],
  ...GEOMETRY_TYPES.map((only) => [only.toLowerCase(), geometry(only)] as const),
  ['geomcollection', geometry('GeometryCollection')],
  ['inet4', () => INET4],
  ['inet6', () => INET6],
  ['uuid', () => UUID]
])

/** Unknown types are returned as text and are not writable. */
export function mysqlType (facts: TypeFacts): ColumnType {
  const sentAs = valueClassesOf(facts)
  if (facts.json && facts.name === 'longtext') return createType({ ...MARIADB_JSON, sentAs })
  const type = factories.get(facts.name)?.(facts) ?? unknownType(facts.declaration)
  return createType({ ...type, sentAs, relatedAs: relatedAs(facts), ...comparedAs(facts), listed: listedAs(facts) })
}

/** Types whose columns can be related to columns of the same type. */
const RELATED = new Set(['date', 'year', 'binary', 'varbinary', 'uuid', 'inet4', 'inet6'])
/** Types whose scale must also be the same. */
const RELATED_BY_SCALE = new Set(['decimal', 'time', 'datetime', 'timestamp'])

function relatedAs ({ name, scale }: TypeFacts): string | undefined {
  if (INTEGERS.includes(name)) return 'integer'
  if (name === 'char' || name === 'varchar') return RELATED_TEXT
  return RELATED.has(name) ? name : RELATED_BY_SCALE.has(name) ? `${name} ${scale ?? 0}` : undefined
}

/** Kinds of columns that can be compared with each other, and do not relate rows. */
function comparedAs ({ name }: TypeFacts): Pick<ColumnType, 'comparedAs'> {
  if (INTEGERS.includes(name) || name === 'decimal') return { comparedAs: EXACT_NUMBER }
  if (/text$/.test(name)) return { comparedAs: RELATED_TEXT }
  return name === 'float' || name === 'double' ? { comparedAs: name } : {}
}

/** Types to which a text is cast in a list of values: those that relate rows and are sent as texts. */
function listedAs ({ name, scale }: TypeFacts): Wrapping | undefined {
  const type = LISTED.get(name)
  const digits = RELATED_BY_SCALE.has(name) ? `(${scale ?? 0})` : ''
  return type === undefined ? undefined : ['cast(', ` as ${type}${digits})`]
}

const LISTED = new Map([
  ['timestamp', 'datetime'],
  ['year', 'unsigned'],
  ...['date', 'time', 'datetime', 'uuid', 'inet4', 'inet6'].map((name): [string, string] => [name, name])
])
