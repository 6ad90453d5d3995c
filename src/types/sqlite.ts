/**
 * The column types of SQLite, by declared type (https://www.sqlite.org/datatype3.html). A column of any declared type can
 * contain values of every storage class, so the JSON depends on the stored value.
 */
import { numberText } from '../json/exact-json.ts'
import { binaryType } from './binary.ts'
import { COLUMN, createType, GIVEN, numericOrder, RELATED_TEXT, ValueRefused, type ColumnType, type DriverValue, type FormSql, type TypeFacts, type Value } from './column-type.ts'
import { parseDigits, readDecimal, decimalSchema } from './decimal.ts'
import { doubleType, jsonNumber } from './float.ts'
import { incrementDecimal, incrementDouble, incrementInteger, mergeForm, sqlOf, withNow } from './forms.ts'
import { integerBounds, integerType, tinyBoolType } from './integer.ts'
import { jsonType, requireDouble, wholeNumber } from './json.ts'
import { isJson } from './json-text.ts'
import { longBinary, longCheckedJson, longText } from './long-values.ts'
import { decimalTotals, doubleTotals, integerTotals } from './sqlite-aggregates.ts'
import { SQLITE_PARTS } from './time-parts.ts'
import { datetimeType, dateType, timestampBounds, timestampType, timeType } from './temporal.ts'
import { readString, textType, unknownType } from './text.ts'

/** SQLite stores a DECIMAL as a double, which represents this many decimal digits exactly. */
const EXACT_DIGITS = 15

/** Writes a value by its storage class. */
function writeNative (value: DriverValue): string {
  if (typeof value === 'bigint') return String(value)
  // SQLite can store infinity (9e999), for which JSON has no number
  if (typeof value === 'number') return Number.isFinite(value) ? jsonNumber(value) : JSON.stringify(String(value))
  if (typeof value === 'string') return JSON.stringify(value)
  return `"${Buffer.from(value).toString('base64')}"`
}

/** A type of MySQL that writes values as SQLite returns them. */
function native (type: ColumnType, write: ColumnType['write'] = writeNative, long: ColumnType['long'] = write === writeNative ? longNative : undefined): ColumnType {
  return createType({ ...type, wireFormat: undefined, write, long, echo: write })
}

const longNative: ColumnType['long'] = (value) => typeof value === 'string' ? longText(value) : longBinary(value)

function sqliteDecimal ({ length, scale }: TypeFacts): ColumnType {
  const places = scale ?? (length === null ? 6 : 0)
  const bounds = { precision: places + Math.min((length ?? Infinity) - places, EXACT_DIGITS), scale: places, unsigned: false }
  const write = (value: DriverValue): string => {
    if (typeof value !== 'bigint' && typeof value !== 'number') return writeNative(value)
    const digits = parseDigits(String(value))
    return digits === undefined ? writeNative(value) : `"${digits.negative ? '-' : ''}${digits.whole || '0'}${fractionAt(digits.fraction, length === null ? 0 : bounds.scale)}"`
  }
  const sum = sqlOf`round(${COLUMN} + ${GIVEN}, ${String(bounds.scale)})`
  const increment = incrementDecimal(bounds, sumWithin(sum, NUMBERS, [...sqlOf`abs(`, ...sum, ` ) < 1e${bounds.precision - bounds.scale}`]), Number)
  return native(createType({ schema: decimalSchema(bounds), read: (value): Value => readExact(readDecimal(value, bounds)), write, forms: [increment], order: numericOrder, totals: decimalTotals({ scale: bounds.scale, padded: length !== null }) }), write)
}

/** @throws ValueRefused for more digits than a double has */
function readExact (text: string): number {
  if (text.replace(/[-.]/g, '').replace(/^0+|0+$/g, '').length > EXACT_DIGITS) throw new ValueRefused(`can have at most ${EXACT_DIGITS} digits`)
  return Number(text)
}

/** Storage classes of numbers. A column can also contain texts and blobs, which SQLite would count as 0. */
const NUMBERS = "('integer', 'real')"

/**
 * A sum that fails if it is out of bounds: SQLite would return a double for an integer of more than 64 bits, and infinity for a double. It fails by the
 * absolute value of the least integer ("integer overflow"), which depends on the column so that it is not computed in advance.
 */
function sumWithin (sum: FormSql, classes: string, condition: FormSql): FormSql {
  return [
    ...sqlOf`case when ${COLUMN} is null then null when typeof(${COLUMN}) in ${classes} and `, ...condition, ' then ', ...sum,
    ...sqlOf` else abs(min(-9223372036854775807 - 1, length(${COLUMN}))) end`
  ]
}

const SUM = sqlOf`${COLUMN} + ${GIVEN}`
const WHOLE = "('integer')"
const INCREMENT_INTEGER = incrementInteger(sumWithin(SUM, WHOLE, sqlOf`typeof(${COLUMN} + ${GIVEN}) = 'integer'`))
const INCREMENT_TINY = incrementInteger(sumWithin(SUM, WHOLE, sqlOf`${COLUMN} + ${GIVEN} between -128 and 127`))
const INCREMENT_REAL = incrementDouble(sumWithin(SUM, NUMBERS, sqlOf`abs(${COLUMN} + ${GIVEN}) <= 1.7976931348623157e308`))

/** Digits after the second: as many as declared, without trailing zeros, as values are stored. */
const digitsOf = ({ length }: TypeFacts) => ({ digits: length ?? 0, padded: false })

function fractionAt (fraction: string, scale: number): string {
  return fraction === '' && scale === 0 ? '' : '.' + fraction.padEnd(scale, '0')
}

/** Replaces the space between date and time, with which SQLite stores them, with the `T` of JSON. */
const writeMoment = (zone: string) => (value: DriverValue): string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d \d/.test(value) ? `"${value.replace(' ', 'T')}${zone}"` : writeNative(value)

function writeJson (value: DriverValue): string {
  return typeof value === 'string' && isJson(Buffer.from(value)) ? value : writeNative(value)
}

const longNativeJson: ColumnType['long'] = (value) => typeof value === 'string' ? longCheckedJson(value) : longBinary(value)

const JSON_TEXT = jsonType({ compared: ['json(', ')'], comparedColumn: ['json(', ')'] })
/** Sends numbers as numbers, because a column declared as JSON has numeric affinity, which converts texts to numbers. */
const SQLITE_JSON = native({
  ...JSON_TEXT,
  read: (value): Value => {
    const text = numberText(value)
    if (text === undefined) return JSON_TEXT.read(value)
    const { min, max } = integerBounds(64, false)
    return wholeNumber(text, min, max) ?? requireDouble(text)
  },
  forms: [mergeForm(JSON_TEXT.read, sqlOf`json_patch(coalesce(${COLUMN}, '{}'), ${GIVEN})`)]
}, writeJson, longNativeJson)

/** Refuses NUL characters, which end the pattern in SQLite's LIKE: `%\0%` would be `%`, which matches every text. */
function readPattern (value: unknown): string {
  const pattern = readString(value)
  if (pattern.includes('\0')) throw new ValueRefused('contains a NUL character, which would end the pattern in SQLite')
  return pattern
}

/** Compares bytes, whatever the collation of the column. */
const EXACT: NonNullable<ColumnType['exact']> = { parameter: ['', ' collate binary'] }

const SQLITE_INTEGER = createType({ ...integerType(64, false), forms: [INCREMENT_INTEGER], totals: integerTotals })

const unpadded = { scale: 6, padded: false }

/** Names a schema by the number in a declaration, which is the scale of a time; the last number is that of a decimal. */
const byLength = (name: string) => ({ length }: TypeFacts): string => `${name} ${length ?? ''}`
const related = (name: string) => (): string => name

/**
 * The first pattern that matches the declaration determines the type; the last five are SQLite's affinity rules. `relatedAs`: as in ColumnType.
 */
const byPrefix: ReadonlyArray<readonly [pattern: RegExp, toType: (facts: TypeFacts) => ColumnType, relatedAs?: (facts: TypeFacts) => string]> = [
  [/^bool|^tinyint\(1\)/, () => native(createType({ ...tinyBoolType(false), forms: [INCREMENT_TINY], totals: integerTotals })), related('integer')],
  [/^datetime/, (facts) => native(withNow(createType({ ...datetimeType(unpadded), parts: SQLITE_PARTS.moment }), { kind: 'moment', ...digitsOf(facts) }), writeMoment('')), byLength('datetime')],
  [/^timestamp/, (facts) => native(withNow(createType({ ...timestampType(unpadded), parts: SQLITE_PARTS.moment }), { kind: 'moment', ...digitsOf(facts), ...timestampBounds() }), writeMoment('Z')), byLength('timestamp')],
  [/^date/, () => native(withNow(createType({ ...dateType(), parts: SQLITE_PARTS.day }), { kind: 'date' })), related('date')],
  [/^time/, (facts) => native(withNow(timeType(unpadded), { kind: 'time', ...digitsOf(facts) })), byLength('time')],
  [/^json/, () => SQLITE_JSON],
  [/^(dec|num)/, sqliteDecimal, ({ scale }) => `decimal ${scale ?? ''}`],
  [/^year/, () => native(withNow(SQLITE_INTEGER, { kind: 'year' })), related('year')],
  [/int/, () => native(SQLITE_INTEGER), related('integer')],
  [/char|clob|text/, () => native({ ...textType({ characters: null, bytes: null }), readPattern, exact: EXACT, defaultOf: (text) => text }), related(RELATED_TEXT)],
  [/blob/, () => native(binaryType({ bytes: null, padded: false }))],
  [/real|floa|doub/, () => native(createType({ ...doubleType({ unsigned: false }), forms: [INCREMENT_REAL], totals: doubleTotals(writeNative) }))]
]

/** Returns the column type of a declaration. Values of unknown types are written by their storage class and are not writable. */
export function sqliteType (facts: TypeFacts): ColumnType {
  const declaration = facts.declaration.toLowerCase()
  const found = byPrefix.find(([prefix]) => prefix.test(declaration))
  if (found === undefined) return native(unknownType(facts.declaration))
  const [, toType, relatedAs] = found
  return relatedAs === undefined ? toType(facts) : createType({ ...toType(facts), relatedAs: relatedAs(facts) })
}
