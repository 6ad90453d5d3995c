/** Finds syntax errors in JSON text, parses configuration files, and writes JSON on one line. */
import { lookOver, repeatsKey } from './exact-json.ts'
import { type JsonError, parseSafely } from './parser.ts'

/**
 * The position of the first syntax error, such as `line 3 column 14`, without any part of the text. Undefined if the
 * text is JSON, or nested too deeply to check.
 */
export function findSyntaxError (text: string): string | undefined {
  try {
    parseSafely(text, Number)
    return undefined
  } catch (error) {
    const { at } = error as Partial<JsonError>
    if (at === undefined) return undefined
    const lines = text.slice(0, at).split('\n')
    return `line ${lines.length} column ${(lines.at(-1) as string).length + 1}`
  }
}

/**
 * The characters besides CR and LF at which some readers end a line, such as those of Java, Python and Node's readline.
 * In JSON, only strings can contain them.
 */
export const LINE_ENDS = ['\u0085', '\u2028', '\u2029'] as const

const PATTERN = new RegExp(`[${LINE_ENDS.join('')}]`, 'g')

/** Escapes the ends of lines, so that every reader sees one line. */
export function onOneLine (json: string): string {
  return json.replace(PATTERN, escapeOf)
}

/** The escape of a character in JSON. */
export const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Integers that a double cannot represent become bigints, because claims of tokens must be exact. A repeated key is
 * refused: JSON.parse would use the last one.
 * @throws Error with the reason; it contains no part of the file, which can contain secrets
 */
export function parseConfigJson (text: string): unknown {
  if (text.trim() === '') throw new Error('is empty')
  const parsed = parseOrThrow(text)
  if (repeatsKey(lookOver(text), parsed)) throw new Error('has a key twice in one object')
  return parsed
}

function parseOrThrow (text: string): unknown {
  try {
    return parseSafely(text, keepInteger)
  } catch {
    throw new Error(['is not valid JSON', findSyntaxError(text)].join(', '))
  }
}

function keepInteger (value: number, source: string): number | bigint {
  return !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value
}
