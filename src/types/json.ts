import { Type } from '@sinclair/typebox'
import { createType, textOf, ValueRefused, type ColumnType, type DriverValue, type Wrapping } from './column-type.ts'
import { parseDigits } from './decimal.ts'
import { integerBounds } from './integer.ts'
import { isJson } from './json-text.ts'

/** How deep MySQL lets JSON nest (manual, "The JSON Data Type"). */
const MAX_DEPTH = 100

interface JsonOptions {
  compared: Wrapping
  comparedColumn?: Wrapping
  /** Refuses the text of a number that the engine would not keep as it is; none does that if left out. */
  checkNumber?: (text: string) => void
  /** Whether the engine lets nothing but JSON into such a column. */
  alwaysJson?: boolean
}

/** JSON: the value itself going out, any JSON value coming in. How it is compared depends on the engine. */
export function jsonType ({ checkNumber = () => {}, alwaysJson = false, ...sql }: JsonOptions): ColumnType {
  return createType({
    schema: Type.Unknown({ title: 'Json', description: 'Any JSON value.', examples: [{ key: 'value' }] }),
    read: (value) => {
      check(value, 0, checkNumber)
      return JSON.stringify(value)
    },
    write: alwaysJson ? textOf : writeChecked,
    wireFormat: alwaysJson ? 'plain' : 'json',
    comparison: 'equality',
    structured: true,
    holdsJson: true,
    ownNull: 'null',
    ...sql
  })
}

/** What is JSON as it is; anything else as the string that it is. */
function writeChecked (value: DriverValue): string {
  const text = textOf(value)
  return isJson(value as Buffer) ? text : JSON.stringify(text)
}

/** @throws ValueRefused where the database could not keep the value as it is */
function check (value: unknown, depth: number, checkNumber: (text: string) => void): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw new ValueRefused('holds text that is not valid Unicode')
  if (typeof value !== 'object' || value === null) return
  if (JSON.isRawJSON(value)) return checkNumber(value.rawJSON)
  if (depth >= MAX_DEPTH) throw new ValueRefused(`nests deeper than ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) {
    for (const item of value) check(item, depth + 1, checkNumber)
    return
  }
  for (const key of Object.keys(value)) {
    check(key, depth, checkNumber)
    check((value as Record<string, unknown>)[key], depth + 1, checkNumber)
  }
}

const signed = integerBounds(64, false)
const unsigned = integerBounds(64, true)

/** MySQL's JSON keeps a number as an integer of 64 bits, signed or not, or else as a double. */
export function requireMysqlNumber (text: string): void {
  if (wholeNumber(text, signed.min, unsigned.max) === undefined) requireDouble(text)
}

/** The number as a bigint if it is whole and within bounds. */
export function wholeNumber (text: string, min: bigint, max: bigint): bigint | undefined {
  const number = /^-?\d+$/.test(text) ? BigInt(text) : undefined
  return number !== undefined && number >= min && number <= max ? number : undefined
}

/** The number as a double. @throws ValueRefused where a double does not hold it exactly */
export function requireDouble (text: string): number {
  const [sent, kept] = [parseDigits(text), parseDigits(String(Number(text)))]
  if (sent === undefined || kept === undefined || sent.whole !== kept.whole || sent.fraction !== kept.fraction) {
    throw new ValueRefused(`holds the number ${text.slice(0, 40)}, which the database would round`)
  }
  return Number(text)
}
