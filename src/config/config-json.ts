/** Parses the JSON of configuration files. */
import { orThrow } from '../config-errors.ts'
import { lookOver, repeatsKey } from '../json/exact-json.ts'
import { parseSafely } from '../json/parser.ts'
import { findSyntaxError } from '../json/syntax.ts'

/**
 * Integers that a double cannot represent become bigints, because claims of tokens must be exact. A repeated key is refused: JSON.parse would use the last one.
 * @throws Error with the reason; it contains no part of the file, which can contain secrets
 */
export function parseConfigJson (text: string): unknown {
  if (text.trim() === '') throw new Error('is empty')
  const parsed = orThrow(() => parseSafely(text, keepInteger), () => new Error(['is not valid JSON', findSyntaxError(text)].join(', ')))
  if (repeatsKey(lookOver(text), parsed)) throw new Error('has a key twice in one object')
  return parsed
}

function keepInteger (value: number, source: string): number | bigint {
  return !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value
}
