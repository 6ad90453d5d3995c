/**
 * By declared type (https://www.sqlite.org/datatype3.html). A column of any declared type can contain values of every
 * storage class, so the JSON depends on the stored value.
 */
import { Type } from '@sinclair/typebox'
import { numberText, isObject, parseExactJson } from '../json/exact-json.ts'
import { decimalTotals, integerTotals, realTotals, writeDecimal } from './aggregates.ts'
import { binaryType, readBase64 } from './binary.ts'
import {
  COLUMN, createType, EXACT_NUMBER, GIVEN, NOT_TEXT, numericOrder, RELATED_TEXT, ValueRefused, ValueUnreadable,
  type ColumnType, type DriverValue, expected, type SqlTemplate, type TypeFacts, type Value, type Positions
} from './column-type.ts'
import { parseDigits, readDecimal, decimalSchema, INT64, integerType, tinyBoolType } from './exact-numbers.ts'
import { doubleType, jsonNumber } from './float.ts'
import { isJson } from './json-text.ts'
import { jsonType, OWN_JSON, SQLITE_INSIDE, wholeNumber } from './json.ts'
import { longBinary, longCheckedJson, longText } from './long-values.ts'
import { SQLITE_PARTS, datetimeType, dateType, timestampBounds, timestampType, timeType } from './temporal.ts'
import { readString, textType, unknownType } from './text.ts'
import { incrementDecimal, incrementDouble, incrementInteger, mergeForm, sqlOf, withNow } from './update-operators.ts'

/** SQLite stores a DECIMAL as a double, which represents this many decimal digits exactly. */
const EXACT_DIGITS = 15

function writeNative (value: DriverValue): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') {
    // SQLite can store infinity (9e999), for which JSON has no number
    if (!Number.isFinite(value)) throw new ValueUnreadable('contains an infinite number')
    return jsonNumber(value)
  }
  if (typeof value === 'string') return JSON.stringify(value)
  if (value === NOT_TEXT) throw new ValueUnreadable('contains a text that is not valid UTF-8 or UTF-16')
  return `"${Buffer.from(value).toString('base64')}"`
}

/** A type of MySQL that writes values as SQLite returns them. `ownClassSql`: as in ColumnType. */
function native (
  type: ColumnType,
  ownClassSql: SqlTemplate | undefined,
  write: ColumnType['write'] = writeNative,
  long: ColumnType['long'] = write === writeNative ? longNative : undefined
): ColumnType {
  const positions = ownClassSql !== undefined && !type.structured && {
    positions: positionsOf({ ...type, write, isNumeric: ownClassSql === OWN_NUMBER })
  }
  return createType({
    ...type,
    wireFormat: undefined,
    write,
    long,
    storedJson: write,
    ...(ownClassSql !== undefined && { ownClassSql }),
    ...positions
  })
}

// SQLite compares integers and floats exactly
const OWN_NUMBER = sqlOf`typeof(${COLUMN}) in ('integer', 'real')`
const OWN_TEXT = sqlOf`typeof(${COLUMN}) = 'text'`
const OWN_BYTES = sqlOf`typeof(${COLUMN}) = 'blob'`

const OWN_DATE = ownText(sqlOf`${COLUMN} glob '${globOf('dddd-dd-dd')}'`)
const OWN_MOMENT = ownText(withFraction('dddd-dd-dd dd:dd:dd'))
const OWN_TIME = ownText(
  ['dd:dd:dd', '-dd:dd:dd', 'ddd:dd:dd', '-ddd:dd:dd'].map(withFraction)
    .reduce((one, other) => sqlOf`${one} or ${other}`)
)

function ownText (form: SqlTemplate): SqlTemplate {
  return sqlOf`${OWN_TEXT} and (${form})`
}

function withFraction (form: string): SqlTemplate {
  const glob = globOf(form)
  const fraction = sqlOf`${COLUMN} glob '${glob}.*[0-9]' and rtrim(${COLUMN}, '0123456789') glob '${glob}.'`
  return sqlOf`${COLUMN} glob '${glob}' or (${fraction})`
}

/** `d` is a digit. */
function globOf (form: string): string {
  return form.replaceAll('d', '[0-9]')
}

const longNative: ColumnType['long'] = (value) => typeof value === 'string' ? longText(value) : longBinary(value)

function sqliteDecimal ({ length, scale }: TypeFacts): ColumnType {
  const digits = scale ?? (length === null ? 6 : 0)
  const bounds = {
    precision: digits + Math.min((length ?? Infinity) - digits, EXACT_DIGITS),
    scale: digits,
    unsigned: false
  }
  const fraction = { scale: digits, padded: length !== null }
  const write = (value: DriverValue): string =>
    typeof value === 'bigint' || typeof value === 'number' ? writeDecimal(String(value), fraction) : writeNative(value)
  const sum = sqlOf`round(${COLUMN} + ${GIVEN}, ${String(bounds.scale)})`
  const increment = incrementDecimal(
    bounds,
    sumWithin(sum, NUMBERS, sqlOf`abs(${sum} ) < 1e${String(bounds.precision - bounds.scale)}`),
    Number
  )
  const totals = decimalTotals(fraction)
  const read = (value: unknown): Value => readExact(readDecimal(value, bounds))
  return native(
    createType({ schema: decimalSchema(bounds), read, write, updates: [increment], order: numericOrder, totals }),
    OWN_NUMBER,
    write
  )
}

/** @throws ValueRefused for more digits than a double has */
function readExact (text: string): number {
  if (text.replace(/[-.]/g, '').replace(/^0+|0+$/g, '').length > EXACT_DIGITS) {
    throw new ValueRefused(`can have at most ${EXACT_DIGITS} digits`)
  }
  return Number(text)
}

/** Of numbers. A column can also contain texts and blobs, which SQLite would count as 0. */
const NUMBERS = "('integer', 'real')"

/**
 * A sum that fails if it is out of bounds: SQLite would return a double for an integer of more than 64 bits, and
 * infinity for a double. It fails by the absolute value of the least integer ("integer overflow"), which depends on the
 * column so that it is not computed in advance.
 */
function sumWithin (sum: SqlTemplate, classes: string, condition: SqlTemplate): SqlTemplate {
  const isValid = sqlOf`typeof(${COLUMN}) in ${classes} and ${condition}`
  const overflow = sqlOf`abs(min(-9223372036854775807 - 1, length(${COLUMN})))`
  return sqlOf`case when ${COLUMN} is null then null when ${isValid} then ${sum} else ${overflow} end`
}

const SUM = sqlOf`${COLUMN} + ${GIVEN}`
const WHOLE = "('integer')"
const INCREMENT_INTEGER = incrementInteger(sumWithin(SUM, WHOLE, sqlOf`typeof(${COLUMN} + ${GIVEN}) = 'integer'`))
const INCREMENT_TINY = incrementInteger(sumWithin(SUM, WHOLE, sqlOf`${COLUMN} + ${GIVEN} between -128 and 127`))
const INCREMENT_REAL = incrementDouble(
  sumWithin(SUM, NUMBERS, sqlOf`abs(${COLUMN} + ${GIVEN}) <= 1.7976931348623157e308`)
)

/** Digits after the second: as many as declared, without trailing zeros, as values are stored. */
const digitsOf = ({ length }: TypeFacts) => ({ digits: length ?? 0, padded: false })

/** The form in which the service stores a date and time. */
const STORED_MOMENT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$/

/** Replaces the space between date and time with the `T` of JSON. A text in another notation is written as it is. */
const writeMoment = (zone: string) => (value: DriverValue): string =>
  typeof value === 'string' && STORED_MOMENT.test(value) ? `"${value.replace(' ', 'T')}${zone}"` : writeNative(value)

const BYTES_IN_JSON = 'contains bytes, which are not JSON'

function writeJson (value: DriverValue): string {
  if (typeof value === 'object') throw new ValueUnreadable(BYTES_IN_JSON)
  return typeof value === 'string' && isJson(Buffer.from(value)) ? value : writeNative(value)
}

const longNativeJson: ColumnType['long'] = (value) => {
  if (typeof value !== 'string') throw new ValueUnreadable(BYTES_IN_JSON)
  return longCheckedJson(value)
}

const JSON_TEXT = jsonType({ compared: ['json(', ')'], comparedColumn: ['json(', ')'], inside: SQLITE_INSIDE })
/**
 * Sends numbers as numbers, because a column declared as JSON has numeric affinity, which converts texts to numbers.
 */
const SQLITE_JSON = native({
  ...JSON_TEXT,
  read: (value): Value => numberText(value) === undefined ? JSON_TEXT.read(value) : SQLITE_INSIDE.readNumber(value),
  updates: [mergeForm(JSON_TEXT.read, sqlOf`json_patch(coalesce(${COLUMN}, '{}'), ${GIVEN})`)]
}, OWN_JSON, writeJson, longNativeJson)

/** Refuses NUL characters, which end the pattern in SQLite's LIKE: `%\0%` would be `%`, which matches every text. */
function readPattern (value: unknown): string {
  const pattern = readString(value)
  if (pattern.includes('\0')) throw new ValueRefused('contains a NUL character, which would end the pattern in SQLite')
  return pattern
}

/** Compares bytes, whatever the collation of the column. */
const EXACT: NonNullable<ColumnType['exact']> = { parameter: ['', ' collate binary'] }

const SQLITE_TEXT = createType({
  ...textType({ characters: null, bytes: null }),
  readPattern,
  exact: EXACT,
  defaultOf: (text) => text
})

const SPACES = '[ \\t\\n\\v\\f\\r]*'
/** Texts that a column without the affinity of texts stores as numbers, such as `007`: up to a NUL character. */
const LIKE_NUMBERS = `^${SPACES}[-+]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][-+]?[0-9]+)?${SPACES}(\\u0000|$)`
const LIKE_NUMBER = new RegExp(LIKE_NUMBERS)

/** Declarations that mean texts, to which SQLite gives the affinity of numbers. Bytes have none in any column. */
const AMONG_NUMBERS = createType({
  ...SQLITE_TEXT,
  schema: Type.String({
    title: 'TextThatIsNoNumber',
    not: { type: 'string', pattern: LIKE_NUMBERS }, // a pattern alone is true of NULL, too
    description: 'A text that is no number, which SQLite would store as one.',
    examples: ['text']
  }),
  // SQLite compares the text `7` of another column with such a column as a number
  comparedAs: `${RELATED_TEXT} among numbers`,
  read: (value) => {
    const text = readString(value)
    if (LIKE_NUMBER.test(text)) throw new ValueRefused('is a number, which SQLite would store as one in this column')
    return text
  }
})

const SQLITE_INTEGER = createType({ ...integerType(64, false), updates: [INCREMENT_INTEGER], totals: integerTotals })

const DOUBLE = doubleType({ unsigned: false })

const SQLITE_DOUBLE = createType({
  ...DOUBLE,
  // stores whole numbers of a REAL column as integers, so that -0 is 0 (Datatypes In SQLite, section 2)
  read: (value) => Number(DOUBLE.read(value)) + 0,
  updates: [INCREMENT_REAL],
  totals: realTotals(writeNative)
})

const unpadded = { scale: 6, padded: false }

/** By the number in a declaration, the scale of a time; the last number is the scale of a decimal. */
const byLength = (name: string) => ({ length }: TypeFacts): string => `${name} ${length ?? ''}`
const related = (name: string) => (): string => name

/**
 * The first pattern that matches the declaration determines the type; those without `^` are SQLite's affinity rules.
 * `relatedAs`: as in ColumnType.
 */
const byPrefix: ReadonlyArray<
  readonly [pattern: RegExp, toType: (facts: TypeFacts) => ColumnType, relatedAs?: (facts: TypeFacts) => string]
> = [
  [
    /^bool|^tinyint\(1\)/,
    () => native(createType({ ...tinyBoolType(false), updates: [INCREMENT_TINY], totals: integerTotals }), OWN_NUMBER),
    related('integer')
  ],
  [/^datetime/, sqliteDatetime, byLength('datetime')],
  [/^timestamp/, sqliteTimestamp, byLength('timestamp')],
  [
    /^date/,
    () => native(withNow(createType({ ...dateType(), parts: SQLITE_PARTS.day }), { kind: 'date' }), OWN_DATE),
    related('date')
  ],
  [
    /^time/,
    (facts) => native(withNow(timeType(unpadded), { kind: 'time', ...digitsOf(facts) }), OWN_TIME),
    byLength('time')
  ],
  [/^json/, () => SQLITE_JSON],
  [/^(dec|num)/, sqliteDecimal, ({ scale }) => `decimal ${scale ?? ''}`],
  [/^year/, () => native(withNow(SQLITE_INTEGER, { kind: 'year' }), OWN_NUMBER), related('year')],
  [/int/, () => native(SQLITE_INTEGER, OWN_NUMBER), related('integer')],
  [/char|clob|text/, () => native(SQLITE_TEXT, OWN_TEXT), related(RELATED_TEXT)],
  [/blob/, sqliteBytes],
  [/real|floa|doub/, () => native(SQLITE_DOUBLE, OWN_NUMBER)],
  [/^(uuid|guid|uniqueidentifier|string)/, () => native(AMONG_NUMBERS, OWN_TEXT), related(RELATED_TEXT)],
  [/^(var)?binary/, sqliteBytes]
]

function sqliteBytes (): ColumnType {
  return native(binaryType({ bytes: null, padded: false }), OWN_BYTES)
}

function sqliteDatetime (facts: TypeFacts): ColumnType {
  const type = createType({ ...datetimeType(unpadded), parts: SQLITE_PARTS.moment })
  return native(withNow(type, { kind: 'moment', ...digitsOf(facts) }), OWN_MOMENT, writeMoment(''))
}

function sqliteTimestamp (facts: TypeFacts): ColumnType {
  const type = createType({ ...timestampType(unpadded), parts: SQLITE_PARTS.moment })
  return native(
    withNow(type, { kind: 'moment', ...digitsOf(facts), ...timestampBounds() }),
    OWN_MOMENT,
    writeMoment('Z')
  )
}

/** Unknown types are written by their storage class and are not writable. */
export function sqliteType (facts: TypeFacts): ColumnType {
  const declaration = facts.declaration.toLowerCase()
  const entry = byPrefix.find(([prefix]) => prefix.test(declaration))
  if (entry === undefined) return native(unknownType(facts.declaration), undefined)
  const [, toType, relatedAs] = entry
  const [type, related] = [toType(facts), relatedAs?.(facts)]
  return createType({
    ...type,
    ...related !== undefined && { relatedAs: related },
    ...(related === 'integer' || related?.startsWith('decimal') === true) && { comparedAs: EXACT_NUMBER },
    ...related === undefined && type.totals !== undefined && { comparedAs: 'double' }
  })
}

// Positions on SQLite. Values of the type and numbers are written as a select shows them. Other texts and bytes are
// written with their storage class, because a select may show values of the type like them, such as a time with a space
// like one with a `T`: `{"$text": "2026-11-20T10:15:00"}`, `{"$bytes": "AAH/"}`. So are whole numbers beyond 2^53 in
// columns of other types, which a client that parses them as doubles would send back as others: `{"$number": "…"}`.

/** A value of a position can name them. */
const CLASSES = new Map<string, (value: unknown) => Value>([
  ['$text', readString],
  ['$bytes', readBase64],
  ['$number', (value) => toStored(typeof value === 'string' && parseDigits(value) !== undefined ? value : undefined)]
])

export function positionsOf ({
  read,
  write,
  comparison,
  isNumeric
}: Pick<ColumnType, 'read' | 'write' | 'comparison'> & { readonly isNumeric: boolean }): Positions {
  /** The text of a number that is not one of the type. A column of texts stores numbers as texts. */
  const textOfNumber = (value: unknown): string | undefined => {
    if (comparison === 'text') return undefined
    return isNumeric && typeof value === 'string' && parseDigits(value) !== undefined ? value : numberText(value)
  }
  const readPosition = (value: unknown): Value => {
    const named = readNamed(value)
    if (named !== undefined) return named
    try {
      return read(value)
    } catch (error) {
      const number = textOfNumber(value)
      if (number === undefined) throw error
      return toStored(number)
    }
  }
  const isReadAs = (shown: string, value: DriverValue): boolean => {
    const json = parseExactJson(shown)
    // a client that parses numbers as doubles may send another one
    const isLarge = numberText(json) !== undefined && Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER
    try {
      return isSame((isLarge ? read : readPosition)(json), value)
    } catch {
      return false
    }
  }
  return {
    read: readPosition,
    write: (value) => {
      const shown = write(value)
      return isReadAs(shown, value) ? shown : nameClass(value)
    }
  }
}

/** Reads a value with its storage class; undefined for any other value. */
function readNamed (value: unknown): Value | undefined {
  if (!isObject(value)) return undefined
  const [[name, given] = ['', undefined], ...others] = Object.entries(value)
  return others.length > 0 ? undefined : CLASSES.get(name)?.(given)
}

/** @throws ValueRefused */
function toStored (text: string | undefined): Value {
  if (text === undefined) throw expected('a number')
  const number = wholeNumber(text, INT64) ?? Number(text)
  if (number === Infinity || number === -Infinity) throw new ValueRefused('is too large for a floating-point number')
  return number
}

/** The same place, which an integer and a float with the same value share. */
function isSame (parameter: Value, value: DriverValue): boolean {
  if (typeof value === 'number' || typeof value === 'bigint') {
    const number = parameter === NEGATIVE_ZERO ? 0 : parameter
    return (typeof number === 'number' || typeof number === 'bigint') && !(number < value) && !(number > value)
  }
  if (typeof value === 'string') return parameter === value
  return Buffer.isBuffer(parameter) && parameter.equals(value as Uint8Array)
}

/** The parameter for -0 (float.ts). */
const NEGATIVE_ZERO = '-0'

function nameClass (value: DriverValue): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return jsonNumber(value)
  // the digits of a large float are not the digits of the integer with the same value
  if (typeof value === 'number') return JSON.stringify({ $number: value.toExponential() })
  if (typeof value === 'bigint') return JSON.stringify({ $number: String(value) })
  if (typeof value === 'string') return JSON.stringify({ $text: value })
  return JSON.stringify({ $bytes: Buffer.from(value as Uint8Array).toString('base64') })
}
