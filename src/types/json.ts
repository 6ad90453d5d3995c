import { Type } from '@sinclair/typebox'
import { isObject, parseExactJson } from '../json/exact-json.ts'
import {
  createType, textOf, ValueRefused, type ColumnType, type DriverValue, type JsonInside, type Wrapping
} from './column-type.ts'
import { parseDigits } from './decimal.ts'
import { integerBounds } from './integer.ts'
import { isJson } from './json-text.ts'
import { longCheckedJson, longJson } from './long-values.ts'

/** MySQL's limit for the depth of JSON documents (manual, "The JSON Data Type"). */
const MAX_DEPTH = 100

/** JSON: accepts and returns any JSON value. The comparison depends on the engine. */
export function jsonType ({ checkNumber = () => {}, alwaysJson = false, ...sql }: {
  compared: Wrapping
  comparedColumn?: Wrapping
  inside: JsonInside
  /** Throws for numbers that the engine would change; every number is accepted if omitted. */
  checkNumber?: (text: string) => void
  /** Whether the engine guarantees that the column contains valid JSON. */
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

/**
 * Writes a JSON Merge Patch with the members that are null at the beginning of each object. The result is the same
 * patch (RFC 7396).
 */
export function removalsFirst (patch: unknown): string {
  if (!isObject(patch)) return JSON.stringify(patch)
  const members = Object.entries(patch)
  const inOrder = [...members.filter(([, value]) => value === null), ...members.filter(([, value]) => value !== null)]
  return `{${inOrder.map(([name, value]) => `${JSON.stringify(name)}:${removalsFirst(value)}`).join(',')}}`
}

function requireWellFormed (text: string): void {
  if (!text.isWellFormed()) throw new ValueRefused('contains a lone surrogate, which is not valid Unicode')
}

const signed = integerBounds(64, false)
const unsigned = integerBounds(64, true)

/**
 * MySQL stores JSON numbers as 64-bit integers (signed or unsigned) or as doubles. @throws ValueRefused for other
 * numbers
 */
export function requireMysqlNumber (text: string): void {
  if (wholeNumber(text, signed.min, unsigned.max) === undefined) requireDouble(text)
}

/** Returns the number as a bigint if it is an integer within the bounds. */
export function wholeNumber (text: string, min: bigint, max: bigint): bigint | undefined {
  const number = /^-?\d+$/.test(text) ? BigInt(text) : undefined
  return number !== undefined && number >= min && number <= max ? number : undefined
}

/** Returns the number as a double. @throws ValueRefused if a double cannot represent it exactly */
export function requireDouble (text: string): number {
  const [sent, kept] = [parseDigits(text), parseDigits(String(Number(text)))]
  if (sent === undefined || kept === undefined || sent.whole !== kept.whole || sent.fraction !== kept.fraction) {
    throw new ValueRefused(`contains the number ${text.slice(0, 40)}, which the database would round`)
  }
  return Number(text)
}
