/** Copies values that a program passes, as their JSON text would be parsed. */
import { inspect } from 'node:util'
import { invalidBody, invalidJson, ServiceError } from '../errors.ts'
import { keepKeys, keepText, parseExactJson } from '../json/exact-json.ts'
import { isPlain } from '../json/plain-values.ts'

type Values = Record<string, unknown>

/** @throws as `copyJson` */
export const toJson = (value: unknown): string => JSON.stringify(copyJson(value))

/**
 * As its JSON text would be parsed (src/json); integers may be bigints. @throws INVALID_BODY for values that JSON does
 * not have, INVALID_JSON for cycles
 */
export function copyJson (value: unknown): unknown {
  try {
    return copyValue(value, '')
  } catch (error) {
    throw error instanceof ServiceError ? error : invalidJson('it cannot be serialized')
  }
}

/**
 * Refuses values that JSON.stringify would change: it would remove a filter that is undefined, and write NaN and an
 * invalid Date as null and a promise as an empty object.
 */
function copyValue (given: unknown, key: string): unknown {
  const value = hasToJson(given) ? given.toJSON(key) : given
  switch (typeof value) {
    case 'string':
    case 'boolean': return value
    case 'bigint': return keepText(Number(value), String(value))
    // JSON has no -0
    case 'number': if (Number.isFinite(value)) return value + 0
  }
  if (value === null && given === null) return null
  if (Array.isArray(value)) return Array.from(value as unknown[], (item, index) => copyValue(item, String(index)))
  if (typeof value !== 'object' || value === null || !isPlain(value)) {
    throw invalidBody(`"${key}" is ${inspect(value, { depth: -1 })}, which JSON does not have`)
  }
  return JSON.isRawJSON(value) ? parseExactJson(value.rawJSON) : copyObject(value as Values)
}

function copyObject (value: Values): Values {
  const copy: Values = {}
  const keys = Object.keys(value)
  for (const key of keys) {
    const item = copyValue(value[key], key)
    // an assignment would set the prototype
    if (key === '__proto__') Object.defineProperty(copy, key, { value: item, ...ORDINARY })
    else copy[key] = item
  }
  keepKeys(copy, keys)
  return copy
}

const ORDINARY = { enumerable: true, configurable: true, writable: true }

const hasToJson = (value: unknown): value is { toJSON (key: string): unknown } =>
  typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function'
