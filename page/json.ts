/** JSON whose numbers keep their digits, and its text as the page shows it. */
import { parseSafely } from '../src/json/exact-json.ts'

/** A number that JavaScript would round or write differently. */
export class Digits {
  readonly text: string

  constructor (text: string) {
    this.text = text
  }
}

export type Json = null | boolean | number | string | Digits | readonly Json[] | JsonObject
export interface JsonObject { readonly [key: string]: Json }

/** A backslash, which a key may have (`exact-json.ts`), or a number that may change: with a point, an exponent, many digits, or `-0`. */
const RISKY = /\\|(?:^|[:,[])\s*(?:-?\d*[.eE]|-?\d{16}|-0)/

/** @throws SyntaxError */
export function parseJson (text: string): Json {
  // the parser of the browser is several times as fast: a page of 1,000 rows would be felt
  if (!RISKY.test(text)) {
    try {
      return JSON.parse(text)
    } catch {} // the other one says where
  }
  return parseSafely(text, (value, source) => String(value) === source ? value : new Digits(source)) as Json
}

export const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Digits)
export const isBoolean = (value: Json | undefined): value is boolean => typeof value === 'boolean'
export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

/** A member of an object of any names: `constructor` is one only if the object has it itself. */
export const memberOf = (value: Json | undefined, key: string): Json | undefined => isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** The object with some members set; those that are undefined are removed. New members come last. */
export function withMembers (object: JsonObject, members: Readonly<Record<string, Json | undefined>>): JsonObject {
  const all = new Map<string, Json | undefined>([...Object.entries(object), ...Object.entries(members)])
  return Object.fromEntries([...all].filter(([, value]) => value !== undefined)) as JsonObject
}

/** Writes a value in one line. */
export function writeLine (value: Json): string {
  if (value instanceof Digits) return value.text
  if (isList(value)) return `[${value.map(writeLine).join(', ')}]`
  if (isObject(value)) return `{${Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${writeLine(member)}`).join(', ')}}`
  return JSON.stringify(value)
}

/** Characters up to which a list or an object inside another one stays in one line. */
const SHORT = 54

/** Writes a value in lines, with short lists and objects in one. */
export function writeLines (value: Json, indent = ''): string {
  const inner = `${indent}  `
  const isShort = (text: string): boolean => indent !== '' && indent.length + text.length <= SHORT
  if (isList(value) && value.length > 0) {
    const line = writeLine(value)
    return isShort(line) ? line : `[\n${value.map((item) => inner + writeLines(item, inner)).join(',\n')}\n${indent}]`
  }
  if (isObject(value) && Object.keys(value).length > 0) {
    const line = writeLine(value)
    return isShort(line) ? line : `{\n${Object.entries(value).map(([key, member]) => `${inner}${JSON.stringify(key)}: ${writeLines(member, inner)}`).join(',\n')}\n${indent}}`
  }
  return writeLine(value)
}

export const isEqual = (one: Json | undefined, other: Json | undefined): boolean => one === other || (one !== undefined && other !== undefined && writeLine(one) === writeLine(other))
