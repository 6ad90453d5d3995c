/**
 * Positions on SQLite. Values of the type and numbers are written as a select shows them. Other texts and bytes are
 * written with their storage class, because a select may show values of the type like them, such as a time with a space
 * like one with a `T`: `{"$text": "2026-11-20T10:15:00"}`, `{"$bytes": "AAH/"}`.
 */
import { isObject, numberText, parseExactJson } from '../json/exact-json.ts'
import { readBase64 } from './binary.ts'
import { ValueRefused, type ColumnType, type DriverValue, type Positions, type Value } from './column-type.ts'
import { jsonNumber } from './float.ts'
import { wholeNumber } from './json.ts'
import { integerBounds } from './integer.ts'
import { readString } from './text.ts'

/** The storage classes that a value of a position can name. */
const CLASSES = new Map<string, (value: unknown) => Value>([['$text', readString], ['$bytes', readBase64]])

const { min, max } = integerBounds(64, false)

/** The positions of the columns of a type. */
export function positionsOf ({
  read,
  write,
  comparison
}: Pick<ColumnType, 'read' | 'write' | 'comparison'>): Positions {
  const readPosition = (value: unknown): Value => {
    const named = readNamed(value)
    if (named !== undefined) return named
    try {
      return read(value)
    } catch (error) {
      // a column of texts stores numbers as texts
      const number = comparison === 'text' ? undefined : readNumber(value)
      if (number === undefined) throw error
      return number
    }
  }
  const isReadAs = (shown: string, value: DriverValue): boolean => {
    try {
      return isSame(readPosition(parseExactJson(shown)), value)
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

/** Reads a number that is not one of the type; undefined for another value. */
function readNumber (value: unknown): Value | undefined {
  const text = numberText(value)
  if (text === undefined) return undefined
  const number = wholeNumber(text, min, max) ?? Number(text)
  if (number === Infinity || number === -Infinity) throw new ValueRefused('is too large for a floating-point number')
  return number
}

/** Whether the parameter has the place of the stored value, which an integer and a float with the same value share. */
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
  // the digits of a large float are not those of the integer with the same value
  if (typeof value === 'number') return Number.isInteger(value) ? value.toExponential() : jsonNumber(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return JSON.stringify({ $text: value })
  return JSON.stringify({ $bytes: Buffer.from(value as Uint8Array).toString('base64') })
}
