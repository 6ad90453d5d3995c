import { parseSafely, type JsonError } from './parser.ts'

/** The place at which a text is not JSON: `line 3 column 14`. Contains nothing of the text. Undefined if it is JSON, or nested too deeply to check. */
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
