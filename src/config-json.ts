/** Parses the JSON of configuration files. */
import { lookOver, repeatsKey } from './request/exact-json.ts'
import { positionOf } from './config-errors.ts'

/**
 * Integers that a double cannot represent become bigints: claims of tokens must be exact. Of a repeated key JSON.parse would use the last one.
 * @throws Error with the reason; it contains no part of the file, which can contain secrets
 */
export function parseConfigJson (text: string): unknown {
  const parsed = parseJson(text)
  if (repeatsKey(lookOver(text), parsed)) throw new Error('has a key twice in one object')
  return parsed
}

function parseJson (text: string): unknown {
  try {
    return JSON.parse(text, (_key: string, value: unknown, { source = '' }: { source?: string }) => {
      return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value
    })
  } catch (error) {
    throw new Error(`is not valid JSON${positionOf(error as SyntaxError)}`)
  }
}
