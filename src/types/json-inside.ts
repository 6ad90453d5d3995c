/** How each engine compares values inside JSON. */
import { numberText } from '../json/exact-json.ts'
import { COLUMN, expected, GIVEN, type JsonInside } from './column-type.ts'
import { integerBounds } from './integer.ts'
import { requireDouble, wholeNumber } from './json.ts'
import { sqlOf } from './update-operators.ts'

/** A 64-bit integer, or a double that represents the number exactly. */
const numberWithin = ({ min, max }: { readonly min: bigint, readonly max: bigint }) =>
  (value: unknown): number | bigint => {
    const text = numberText(value)
    if (text === undefined) throw expected('a number')
    return wholeNumber(text, min, max) ?? requireDouble(text)
  }

const signed = integerBounds(64, false)
const readServerNumber = numberWithin({ min: signed.min, max: integerBounds(64, true).max })

const VALUE = sqlOf`json_extract(${COLUMN}, ${GIVEN})`
const SERVER_TYPE = sqlOf`json_type(json_extract(${COLUMN}, ${GIVEN}))`

/** MySQL compares JSON values of one type by value. JSON can store decimals. */
const MYSQL_NUMBER = {
  types: "'INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL'",
  value: VALUE,
  operand: ['cast(', ' as json)']
} as const

export const MYSQL_INSIDE: JsonInside = {
  typeAt: SERVER_TYPE,
  nullName: 'NULL',
  listName: 'ARRAY',
  scalars: {
    text: { types: "'STRING'", value: ['cast(json_unquote(', ...VALUE, ') as binary)'] },
    number: MYSQL_NUMBER,
    large: MYSQL_NUMBER,
    boolean: { types: "'BOOLEAN'", value: VALUE, operand: MYSQL_NUMBER.operand }
  },
  readNumber: (value) => String(readServerNumber(value)),
  booleans: ['false', 'true'],
  maxSteps: 100
}

const MARIADB_NUMBER = { types: "'INTEGER', 'DOUBLE'", value: ['cast(', ...VALUE, ' as double)'] }

/**
 * JSON_EXTRACT returns the text of a number. JSON_VALUE would return it as a number, but an update then fails on a
 * stored 1e400, as it does on a text that is not JSON. Of a decimal only numbers near the operand are made.
 */
export const MARIADB_INSIDE: JsonInside = {
  isJson: sqlOf`json_valid(${COLUMN})`,
  typeAt: SERVER_TYPE,
  nullName: 'NULL',
  listName: 'ARRAY',
  scalars: {
    text: {
      types: "'STRING'",
      value: sqlOf`cast(convert(json_value(${COLUMN}, ${GIVEN}) using utf8mb4) as binary)`
    },
    number: MARIADB_NUMBER,
    large: { ...MARIADB_NUMBER, exact: ['cast(', ...VALUE, ' as decimal(65,30))'] },
    boolean: { types: "'BOOLEAN'", value: VALUE }
  },
  readNumber: readServerNumber,
  booleans: ['false', 'true'],
  maxSteps: 31,
  // it reads the sign of an index there, also in quotes and as an escape, and a write would fail
  unreachable: { keys: /^-/, reason: 'MariaDB does not find a key that begins with "-"' }
}

export const OWN_JSON = sqlOf`typeof(${COLUMN}) <> 'blob' and json_valid(${COLUMN})`

const SQLITE_NUMBER = { types: "'integer', 'real'", value: VALUE }

/** SQLite ends a text at a NUL character where it compares texts, but not bytes. */
export const SQLITE_INSIDE: JsonInside = {
  isJson: OWN_JSON,
  typeAt: sqlOf`json_type(${COLUMN}, ${GIVEN})`,
  nullName: 'null',
  scalars: {
    text: { types: "'text'", value: ['cast(', ...VALUE, ' as blob)'] },
    number: SQLITE_NUMBER,
    large: SQLITE_NUMBER,
    boolean: { types: "'true', 'false'", value: VALUE }
  },
  readNumber: numberWithin(signed),
  booleans: [0, 1],
  maxSteps: 100,
  // it would find the key that ends there
  unreachable: { keys: /\0/, reason: 'SQLite does not find a key with a NUL character' }
}
