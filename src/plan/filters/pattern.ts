/**
 * The escape character of LIKE patterns in SQL. Clients escape `%` and `_` with a backslash, but in SQL a backslash is unsafe: it is a
 * different character in sjis and swe7, and the second byte of some characters in gbk and big5. `!` is the same byte in every character set.
 */
export const ESCAPE = '!'

/** Converts a client's pattern to one that uses ESCAPE. A backslash at the end matches itself. */
export function toPattern (pattern: string): string {
  return pattern.replace(/\\(.?)|!/gs, (match, escaped: string | undefined) => {
    if (match === ESCAPE) return ESCAPE + ESCAPE
    if (escaped === '') return match
    return escapePattern(escaped as string)
  })
}

/** Returns a pattern that matches exactly the text. */
export function escapePattern (text: string): string {
  return text.replace(/[!%_]/g, ESCAPE + '$&')
}
