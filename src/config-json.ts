/** Parses the JSON of configuration files. */
import { parseSafely } from './json/parser.ts'
import { lookOver, repeatsKey } from './json/exact-json.ts'
import { orThrow, positionOf } from './config-errors.ts'

/**
 * Integers that a double cannot represent become bigints: claims of tokens must be exact. Of a repeated key JSON.parse would use the last one.
 * @throws Error with the reason; it contains no part of the file, which can contain secrets
 */
export function parseConfigJson (text: string): unknown {
  const parse = (): unknown => {
    JSON.parse(text) // its errors have the position
    return parseSafely(text, keepInteger)
  }
  const parsed = orThrow(parse, (error) => new Error(`is not valid JSON${positionOf(error)}`))
  if (repeatsKey(lookOver(text), parsed)) throw new Error('has a key twice in one object')
  return parsed
}

function keepInteger (value: number, source: string): number | bigint {
  return !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value
}
