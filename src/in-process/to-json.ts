/** Values of a program as JSON text that means the same, or a refusal. */
import { inspect } from 'node:util'
import { invalidBody, invalidJson, ServiceError } from '../errors.ts'

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
