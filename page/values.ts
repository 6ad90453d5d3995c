/** Values of columns as text that a person enters, and back. */
import { Digits, isList, isObject, memberOf, parseJson, writeLine, type Json, type JsonObject } from './json.ts'
import type { Column } from './table.ts'

/** A value as it stands in an input. */
export function toText ({ kind, members }: Pick<Column, 'kind' | 'members'>, value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  if (value instanceof Digits) return value.text
  if (kind === 'boolean' && (value === 0 || value === 1)) return String(value === 1)
  if (kind === 'scalar') return typeof value === 'string' && fromText({ kind, members }, value) === value ? value : writeLine(value)
  if (kind === 'list' && members !== undefined && isList(value)) return value.join(', ')
  if (typeof value === 'string' && kind !== 'json') return value === '' ? '""' : value
  return typeof value === 'object' || typeof value === 'string' ? writeLine(value) : String(value)
}

/** The value of a text; undefined where the text is none. `""` is an empty text. What does not fit the column is sent as text, for the service to say so. */
export function fromText ({ kind, members }: Pick<Column, 'kind' | 'members'>, text: string): Json | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  switch (kind) {
    case 'boolean': return trimmed === 'true' ? true : trimmed === 'false' ? false : readNumber(trimmed)
    case 'integer':
    case 'number': return readNumber(trimmed)
    case 'list': return members !== undefined && !trimmed.startsWith('[') ? trimmed.split(',').map((part) => part.trim()).filter((part) => part !== '') : readJson(trimmed)
    case 'json': return readJson(trimmed)
    case 'scalar': return readScalar(trimmed) ?? text
    case 'decimal': return trimmed
    case 'text': return trimmed === '""' ? '' : text
  }
}

const readNumber = (text: string): Json => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? parseJson(text.replace(/^(-?)0+(?=\d)/, '$1')) : text

/** A number, a boolean, or a text in quotes. */
function readScalar (text: string): Json | undefined {
  const value = readJson(text)
  return value === null || isObject(value) || isList(value) ? undefined : value
}

function readJson (text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

export type LineEnd = '\n' | '\r\n'

/** The line end of a text. Undefined for a text with several, or with `\r` alone: a textarea makes `\n` of all of them, and could not give them back. */
export function lineEndOf (text: string): LineEnd | undefined {
  const [end = '\n', other] = new Set(text.match(/\r\n|\r|\n/g))
  return other === undefined && end !== '\r' ? end as LineEnd : undefined
}

/** What `data` has for a column: a value, or a form such as `{"$inc": 1}`. */
export interface Given { readonly value?: Json | undefined, readonly form?: JsonObject | undefined }

const looksLikeForm = (given: Json): given is JsonObject => isObject(given) && Object.keys(given).length > 0 && Object.keys(given).every((key) => key.startsWith('$'))

/** A value as `data` has it. A JSON value that looks like a form is under `$eq`. */
export const toGiven = ({ kind }: Pick<Column, 'kind'>, value: Json): Json => kind === 'json' && looksLikeForm(value) ? { $eq: value } : value

export function fromGiven ({ kind }: Pick<Column, 'kind'>, given: Json): Given {
  if (!looksLikeForm(given)) return { value: given }
  const { $eq, ...others } = given
  return kind === 'json' && $eq !== undefined && Object.keys(others).length === 0 ? { value: $eq } : { form: given }
}

const UNITS = ['hours', 'days', 'months', 'years'] as const

/** A moment relative to the present one, as the form can show it: so many units ago, or now. */
interface Ago { readonly count: number, readonly unit: string }

export { UNITS }
/** What "in the last" begins with. */
export const DAYS = 30

/** Reads `{"$now": {"days": -7}}`. */
export function readAgo (value: Json | undefined): Ago | undefined {
  const offset = memberOf(value, '$now')
  if (!isObject(offset)) return undefined
  const [[unit, count] = [], ...more] = Object.entries(offset)
  return more.length === 0 && typeof count === 'number' && count < 0 && UNITS.includes(unit as typeof UNITS[number]) ? { count: -count, unit: unit as string } : undefined
}

export const writeAgo = ({ count, unit }: Ago): Json => ({ $now: { [unit]: -count } })

/** Which picker of the browser a column has, and a value that it takes. */
export const TIMES: ReadonlyArray<readonly [type: RegExp, picker: 'date' | 'datetime-local' | 'time', example: string]> = [
  [/^date$/i, 'date', '2026-11-20'], [/^datetime\b/i, 'datetime-local', '2026-11-20T10:15:00'], [/^timestamp\b/i, 'datetime-local', '2026-11-20T10:15:00Z'], [/^time\b/i, 'time', '10:15:00']
]

const timeOf = ({ kind, type }: Pick<Column, 'kind' | 'type'>): typeof TIMES[number] | undefined => kind === 'text' ? TIMES.find(([pattern]) => pattern.test(type)) : undefined
export const pickerOf = (column: Pick<Column, 'kind' | 'type'>): 'date' | 'datetime-local' | 'time' | undefined => timeOf(column)?.[1]
/** A value that the column takes, for placeholders; empty if its type says enough. */
export const exampleOf = (column: Pick<Column, 'kind' | 'type'>): string => timeOf(column)?.[2] ?? ''

const isUtc = ({ type }: Pick<Column, 'type'>): boolean => /^timestamp\b/i.test(type)
const two = (value: number): string => String(value).padStart(2, '0')

/** What was picked, as a value of the column: with seconds, and in UTC for a TIMESTAMP. */
export function fromPicked (column: Pick<Column, 'kind' | 'type'>, picked: string): string {
  const seconds = pickerOf(column) !== 'date' && /(^|T)\d\d:\d\d$/.test(picked) ? `${picked}:00` : picked
  return isUtc(column) ? new Date(seconds).toISOString().replace(/\.\d+Z$/, 'Z') : seconds
}

/** A value of the column as its picker begins with it; empty if the picker has no such value. */
export function toPicked (column: Pick<Column, 'kind' | 'type'>, value: string): string {
  if (!isUtc(column)) {
    const text = value.replace(/(:\d\d)\.\d+$/, '$1')
    const at = new Date(pickerOf(column) === 'time' ? `2000-01-01T${text}Z` : pickerOf(column) === 'date' ? text : `${text}Z`)
    return !Number.isNaN(at.getTime()) && /\d{2}$/.test(text) && at.toISOString().includes(text) ? text : ''
  }
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? '' : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** Bytes of a file as base64, and back. */
export async function readBase64 (file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  const parts = Array.from({ length: Math.ceil(bytes.length / 0x8000) }, (_, index) => String.fromCharCode(...bytes.subarray(index * 0x8000, (index + 1) * 0x8000)))
  return btoa(parts.join(''))
}
export const fromBase64 = (text: string): Blob => new Blob([Uint8Array.from(atob(text), (character) => character.charCodeAt(0))])
