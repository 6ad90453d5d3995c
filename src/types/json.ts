import { Type } from '@sinclair/typebox'
import { isObject, parseExactJson, numberText } from '../json/exact-json.ts'
import {
  createType, textOf, ValueRefused, type ColumnType, type DriverValue, type JsonInside, type Wrapping, COLUMN,
  expected, GIVEN
} from './column-type.ts'
import { INT64, type IntegerBounds, integerBounds, parseDigits } from './exact-numbers.ts'
import { isJson } from './json-text.ts'
import { longCheckedJson, longJson } from './long-values.ts'
import { sqlOf } from './update-operators.ts'

/** MySQL's limit (manual, "The JSON Data Type"). */
const MAX_DEPTH = 100

/** JSON: accepts and returns any JSON value. The comparison depends on the engine. */
export function jsonType ({ checkNumber = () => {}, alwaysJson = false, ...sql }: {
  compared: Wrapping
  comparedColumn?: Wrapping
  inside: JsonInside
  /** Throws for numbers that the engine would change; every number is accepted if omitted. */
  checkNumber?: (text: string) => void
  /** The engine guarantees valid JSON. */
  alwaysJson?: boolean
}): ColumnType {
  return createType({
    schema: Type.Unknown({ title: 'Json', description: 'Any JSON value.', examples: [{ key: 'value' }] }),
    read: (value) => {
      check(value, 0, checkNumber)
      return JSON.stringify(value)
    },
    write: alwaysJson ? textOf : writeChecked,
    long: alwaysJson ? longJson : longCheckedJson,
    wireFormat: alwaysJson ? 'plain' : 'json',
    comparison: 'equality',
    structured: true,
    holdsJson: true,
    ownNull: 'null',
    defaultOf: parseExactJson,
    ...sql
  })
}

/** Writes valid JSON unchanged and any other text as a JSON string. */
function writeChecked (value: DriverValue): string {
  const text = textOf(value)
  return isJson(value as Buffer) ? text : JSON.stringify(text)
}

/** @throws ValueRefused if the database would change the value */
function check (value: unknown, depth: number, checkNumber: (text: string) => void): void {
  if (typeof value === 'string') return requireWellFormed(value)
  if (typeof value !== 'object' || value === null) return
  if (JSON.isRawJSON(value)) return checkNumber(value.rawJSON)
  if (depth >= MAX_DEPTH) throw new ValueRefused(`is nested deeper than ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item !== 'number') check(item, depth + 1, checkNumber)
    return
  }
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    requireWellFormed(key)
    check((value as Readonly<Record<string, unknown>>)[key], depth + 1, checkNumber)
  }
}

/** The members that are null stand at the beginning of each object. The result is the same patch (RFC 7396). */
export function removalsFirst (patch: unknown): string {
  if (!isObject(patch)) return JSON.stringify(patch)
  const members = Object.entries(patch)
  const inOrder = [...members.filter(([, value]) => value === null), ...members.filter(([, value]) => value !== null)]
  return `{${inOrder.map(([name, value]) => `${JSON.stringify(name)}:${removalsFirst(value)}`).join(',')}}`
}

function requireWellFormed (text: string): void {
  if (!text.isWellFormed()) throw new ValueRefused('contains a lone surrogate, which is not valid Unicode')
}

/** As servers store whole numbers: signed or unsigned. */
const WHOLE_NUMBERS = { min: INT64.min, max: integerBounds(64, true).max }

/**
 * MySQL stores JSON numbers as 64-bit integers (signed or unsigned) or as doubles. @throws ValueRefused for other
 * numbers
 */
export function requireMysqlNumber (text: string): void {
  if (wholeNumber(text, WHOLE_NUMBERS) === undefined) requireDouble(text)
}

/** A whole number in JSON of at most 20 digits, as 64 bits have: a bigint of a million takes long. */
const WHOLE = /^-?\d{1,20}$/

/** Returns the number as a bigint if it is an integer within the bounds. */
export function wholeNumber (text: string, { min, max }: IntegerBounds): bigint | undefined {
  const number = WHOLE.test(text) ? BigInt(text) : undefined
  return number !== undefined && number >= min && number <= max ? number : undefined
}

/** @throws ValueRefused if a double cannot represent it exactly */
function requireDouble (text: string): number {
  const number = Number(text)
  const [sent, kept] = [parseDigits(text), parseDigits(String(number))]
  const isShown = sent !== undefined && sent.whole === kept?.whole && sent.fraction === kept.fraction
  // the digits that JavaScript writes of 2^63 are not all of them, which the servers may show
  const isExact = Number.isFinite(number) && sent?.fraction === '' && text.includes('.') &&
    BigInt(Math.abs(number)) === BigInt(sent.whole)
  if (isShown || isExact) return number
  throw new ValueRefused(`contains the number ${text.slice(0, 40)}, which the database would round`)
}

/** A 64-bit integer, or a double that represents the number exactly. */
const numberWithin = (bounds: IntegerBounds) => (value: unknown): number | bigint => {
  const text = numberText(value)
  if (text === undefined) throw expected('a number')
  return wholeNumber(text, bounds) ?? requireDouble(text)
}

const readServerNumber = numberWithin(WHOLE_NUMBERS)

const isLargeDouble = (number: number | bigint): number is number =>
  Number.isInteger(number) && !Number.isSafeInteger(number)

const VALUE = sqlOf`json_extract(${COLUMN}, ${GIVEN})`

/** MySQL compares JSON values of one type by value. JSON can store decimals. */
const MYSQL_NUMBER = {
  types: ['INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL'],
  value: VALUE,
  operand: ['cast(', ' as json)']
} as const

const MYSQL_TEXT = { types: ['STRING'], value: sqlOf`cast(json_unquote(${VALUE}) as binary)` } as const
const SERVER_BOOLEAN = { types: ['BOOLEAN'], value: VALUE } as const

const OF_SERVERS = {
  typeAt: sqlOf`json_type(${VALUE})`,
  nullName: 'NULL',
  listName: 'ARRAY',
  booleans: ['false', 'true']
} as const

export const MYSQL_INSIDE: JsonInside = {
  ...OF_SERVERS,
  scalars: {
    text: MYSQL_TEXT,
    number: MYSQL_NUMBER,
    large: MYSQL_NUMBER,
    boolean: { ...SERVER_BOOLEAN, operand: MYSQL_NUMBER.operand }
  },
  sorted: [{ types: [...MYSQL_NUMBER.types, ...SERVER_BOOLEAN.types], value: VALUE }, MYSQL_TEXT],
  // without an exponent, it would be an integer
  readNumber: (value) => {
    const number = readServerNumber(value)
    return isLargeDouble(number) ? number.toExponential() : String(number)
  },
  maxSteps: 100,
  fromEnd: (others) => others === 0 ? '[last]' : `[last-${others}]`
}

const MARIADB_NUMBER = { types: ['INTEGER', 'DOUBLE'], value: sqlOf`cast(${VALUE} as double)` } as const
const INEXACT = `${2n ** 53n} and ${2n ** 64n}`
const MARIADB_DECIMAL = sqlOf`cast(${VALUE} as decimal(65,30))`
const MARIADB_TEXT = {
  types: ['STRING'],
  value: sqlOf`cast(convert(json_value(${COLUMN}, ${GIVEN}) using utf8mb4) as binary)`
}

/**
 * JSON_EXTRACT returns the text of a number. JSON_VALUE would return it as a number, but an update then fails on a
 * stored 1e400, as it does on a text that is not JSON. Of a decimal only numbers near the operand are made.
 */
export const MARIADB_INSIDE: JsonInside = {
  ...OF_SERVERS,
  isJson: sqlOf`json_valid(${COLUMN})`,
  scalars: {
    text: MARIADB_TEXT,
    number: MARIADB_NUMBER,
    large: { ...MARIADB_NUMBER, exact: MARIADB_DECIMAL },
    boolean: SERVER_BOOLEAN
  },
  sorted: [
    MARIADB_NUMBER,
    // tells numbers apart that are one as doubles
    {
      types: MARIADB_NUMBER.types,
      value: sqlOf`case when abs(${MARIADB_NUMBER.value}) between ${INEXACT} then ${MARIADB_DECIMAL} end`
    },
    // JSON_VALUE makes 0 and 1 of booleans
    { ...MARIADB_TEXT, types: [...MARIADB_TEXT.types, ...SERVER_BOOLEAN.types] }
  ],
  // it sorts by 16 texts of `max_sort_length` at most (1038)
  maxSorted: 16,
  readNumber: (value) => {
    const number = readServerNumber(value)
    return isLargeDouble(number) && Math.abs(number) <= WHOLE_NUMBERS.max ? BigInt(number) : number
  },
  maxSteps: 31,
  step: VALUE,
  fromEnd: (others) => `[-${others + 1}]`,
  // of a constant path, it keeps for the next row how far it has counted
  perRow: sqlOf`concat(${GIVEN}, left(${COLUMN}, 0))`,
  // it reads the sign of an index there, also in quotes and as an escape, and a write would fail
  unreachable: { keys: /^-/, reason: 'MariaDB does not find a key that begins with "-"' }
}

export const OWN_JSON = sqlOf`typeof(${COLUMN}) <> 'blob' and json_valid(${COLUMN})`

const SQLITE_NUMBER = { types: ['integer', 'real'], value: VALUE } as const
const SQLITE_BOOLEAN = { types: ['true', 'false'], value: VALUE } as const
const SQLITE_TEXT = { types: ['text'], value: sqlOf`cast(${VALUE} as blob)` } as const

/** SQLite ends a text at a NUL character where it compares texts, but not bytes. */
export const SQLITE_INSIDE: JsonInside = {
  isJson: OWN_JSON,
  typeAt: sqlOf`json_type(${COLUMN}, ${GIVEN})`,
  nullName: 'null',
  scalars: { text: SQLITE_TEXT, number: SQLITE_NUMBER, large: SQLITE_NUMBER, boolean: SQLITE_BOOLEAN },
  sorted: [{ types: [...SQLITE_NUMBER.types, ...SQLITE_BOOLEAN.types], value: VALUE }, SQLITE_TEXT],
  readNumber: numberWithin(INT64),
  booleans: [0, 1],
  maxSteps: 100,
  fromEnd: (others) => `[#-${others + 1}]`,
  // it would find the key that ends there
  unreachable: { keys: /\0/, reason: 'SQLite does not find a key with a NUL character' }
}
