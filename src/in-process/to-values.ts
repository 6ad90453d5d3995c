/** An answer as values for a program: numbers that a double does not hold are not left to be rounded. */
import { inspect } from 'node:util'
import { invalidBody, invalidJson, ServiceError } from '../errors.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import type { RawNumber } from '../request/exact-json.ts'

/** What whole numbers become that a double does not hold exactly: `JSON.stringify`, and so `reply.send`, takes no bigint. */
export type Bigints = 'bigint' | 'string'

interface Data { rows?: Array<Record<string, unknown>> }

/**
 * Whole numbers beyond what a double holds exactly become bigints, or strings of digits, where the column has whole numbers or JSON; every other
 * number becomes the nearest double, which is what a FLOAT or DOUBLE holds.
 */
export function toValues (data: Data, { columns }: Table, bigints: Bigints): unknown {
  const settle = createSettle(bigints === 'string' ? (digits) => digits : BigInt)
  for (const row of data.rows ?? []) {
    for (const [name, value] of Object.entries(row)) settle(row, name, value, isExact(columns.get(name)))
  }
  for (const [name, value] of Object.entries(data)) if (name !== 'rows') settle(data, name, value, true)
  return data
}

function isExact (column: Column | undefined): boolean {
  return column?.type.wholeNumbers !== undefined || column?.type.structured === true
}

type Settle = (holder: object, key: string, value: unknown, isExact: boolean) => void

/** Puts the value of a number that was kept as text in its place, however deep in a value of JSON. */
function createSettle (toLarge: (digits: string) => bigint | string): Settle {
  const toValue = ({ rawJSON }: RawNumber, isExact: boolean): number | bigint | string =>
    isExact && /^-?\d+$/.test(rawJSON) && !Number.isSafeInteger(Number(rawJSON)) ? toLarge(rawJSON) : Number(rawJSON)

  const settle: Settle = (holder, key, value, isExact) => {
    // not by assignment: a key may be `__proto__`
    if (JSON.isRawJSON(value)) Object.defineProperty(holder, key, { value: toValue(value, isExact), writable: true, enumerable: true, configurable: true })
    else if (typeof value === 'object' && value !== null) for (const [name, item] of Object.entries(value)) settle(value, name, item, isExact)
  }
  return settle
}

/** Whole numbers may be bigints. @throws INVALID_BODY where JSON has no such value, INVALID_JSON where it cannot be written */
export function toJson (value: unknown): string {
  try {
    return JSON.stringify(value, requireJson)
  } catch (error) {
    throw error instanceof ServiceError ? error : invalidJson('it cannot be written')
  }
}

/** A filter left undefined would be none, NaN would be null and a Promise an empty object: all of them mean other rows. */
function requireJson (key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return JSON.rawJSON(String(value))
  if (!isJson(value)) throw invalidBody(`"${key}" is ${inspect(value, { depth: -1 })}, which JSON does not have`)
  return value
}

function isJson (value: unknown): boolean {
  switch (typeof value) {
    case 'object': return value === null || Array.isArray(value) || isPlain(value)
    case 'number': return Number.isFinite(value)
    default: return ['string', 'boolean'].includes(typeof value)
  }
}

/** Neither a Map nor a Promise nor anything else of a class, by whose fields JSON would go, whatever it holds. */
function isPlain (value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
