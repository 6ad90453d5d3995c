/**
 * SQLite's types by the declared type of a column (https://www.sqlite.org/datatype3.html). A declaration binds SQLite to
 * little: a column may hold any kind of value, so what is written out goes by the value that is there.
 */
import { numberText } from '../request/exact-json.ts'
import { binaryType } from './binary.ts'
import { createType, ValueRefused, type ColumnType, type DriverValue, type TypeFacts, type Value } from './column-type.ts'
import { parseDigits, readDecimal, decimalSchema } from './decimal.ts'
import { doubleType, jsonNumber } from './float.ts'
import { integerBounds, integerType, tinyBoolType } from './integer.ts'
import { jsonType, requireDouble, wholeNumber } from './json.ts'
import { datetimeType, dateType, timestampType, timeType } from './temporal.ts'
import { readString, textType, unknownType } from './text.ts'

/** Doubles, in which SQLite keeps a DECIMAL, hold this many decimal digits exactly. */
const EXACT_DIGITS = 15

/** A value by what it is. */
function writeNative (value: DriverValue): string {
  if (typeof value === 'bigint') return String(value)
  // SQLite's 9e999 is infinite; JSON has no such number.
  if (typeof value === 'number') return Number.isFinite(value) ? jsonNumber(value) : JSON.stringify(String(value))
  if (typeof value === 'string') return JSON.stringify(value)
  return `"${Buffer.from(value).toString('base64')}"`
}

/** A type of MySQL's with SQLite's way of writing values out. */
function native (type: ColumnType, write: ColumnType['write'] = writeNative): ColumnType {
  return createType({ ...type, wireFormat: undefined, write, echo: write })
}

function sqliteDecimal ({ length, scale }: TypeFacts): ColumnType {
  const bounds = { precision: Math.min(length ?? EXACT_DIGITS, EXACT_DIGITS), scale: scale ?? (length === null ? 6 : 0), unsigned: false }
  const write = (value: DriverValue): string => {
    if (typeof value !== 'bigint' && typeof value !== 'number') return writeNative(value)
    const digits = parseDigits(String(value))
    return digits === undefined ? writeNative(value) : `"${digits.negative ? '-' : ''}${digits.whole || '0'}${fractionAt(digits.fraction, length === null ? 0 : bounds.scale)}"`
  }
  return native(createType({ schema: decimalSchema(bounds), read: (value): Value => Number(readDecimal(value, bounds)), write }), write)
}

function fractionAt (fraction: string, scale: number): string {
  return fraction === '' && scale === 0 ? '' : '.' + fraction.padEnd(scale, '0')
}

/** Dates and times are text in SQLite; the `T` between day and time is JSON's. */
const writeMoment = (zone: string) => (value: DriverValue): string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d \d/.test(value) ? `"${value.replace(' ', 'T')}${zone}"` : writeNative(value)

function writeJson (value: DriverValue): string {
  if (typeof value !== 'string') return writeNative(value)
  try {
    JSON.parse(value)
    return value
  } catch {
    return JSON.stringify(value)
  }
}

const JSON_TEXT = jsonType({ compared: ['json(', ')'], comparedColumn: ['json(', ')'] })
/** A column declared JSON has numeric affinity: text that is a number becomes one, so a number is sent as one to begin with. */
const SQLITE_JSON = native({
  ...JSON_TEXT,
  read: (value): Value => {
    const text = numberText(value)
    if (text === undefined) return JSON_TEXT.read(value)
    const { min, max } = integerBounds(64, false)
    return wholeNumber(text, min, max) ?? requireDouble(text)
  }
}, writeJson)

/** SQLite's LIKE takes a NUL for the end of a text: `\0%` would be taken for `` and `%\0%` for `%`, which matches everything. */
function readPattern (value: unknown): string {
  const pattern = readString(value)
  if (pattern.includes('\0')) throw new ValueRefused('holds a NUL character, which SQLite takes for the end of a pattern')
  return pattern
}

/** Whatever collation the column declares. */
const EXACT: NonNullable<ColumnType['exact']> = { parameter: ['', ' collate binary'] }

const unpadded = { scale: 6, padded: false }

/** Tried in order: the first whose word the declaration begins with, then SQLite's own rules of affinity. */
const byPrefix: ReadonlyArray<readonly [RegExp, (facts: TypeFacts) => ColumnType]> = [
  [/^bool|^tinyint\(1\)/, () => native(tinyBoolType(false))],
  [/^datetime/, () => native(datetimeType(unpadded), writeMoment(''))],
  [/^timestamp/, () => native(timestampType(unpadded), writeMoment('Z'))],
  [/^date/, () => native(dateType())],
  [/^time/, () => native(timeType(unpadded))],
  [/^json/, () => SQLITE_JSON],
  [/^(dec|num)/, sqliteDecimal],
  [/int|^year/, () => native(integerType(64, false))],
  [/char|clob|text/, () => native({ ...textType({ characters: null, bytes: null }), readPattern, exact: EXACT })],
  [/blob/, () => native(binaryType({ bytes: null, padded: false }))],
  [/real|floa|doub/, () => native(doubleType({ unsigned: false }))]
]

/** The column type of a declaration; one without a type that is known is shown as it is and not written. */
export function sqliteType (facts: TypeFacts): ColumnType {
  const declaration = facts.declaration.toLowerCase()
  const found = byPrefix.find(([prefix]) => prefix.test(declaration))
  return found === undefined ? native(unknownType(facts.declaration || 'of no declared type')) : found[1](facts)
}
