/**
 * Patterns of LIKE. Clients escape `%` and `_` by a backslash; in a statement the escape character is `!`. The backslash is another
 * character in some character sets (sjis, swe7) and the second byte of one in others (gbk, big5); `!` is one byte in all of them.
 */
export const ESCAPE = '!'

/** A client's pattern with our escape character. A backslash at the end stands for itself. */
export function toPattern (pattern: string): string {
  return pattern.replace(/\\(.?)|!/gs, (match, escaped: string | undefined) => {
    if (match === ESCAPE) return ESCAPE + ESCAPE
    if (escaped === '') return match
    return literally(escaped as string)
  })
}

/** A text as a pattern that matches only itself. */
export function literally (text: string): string {
  return text.replace(/[!%_]/g, ESCAPE + '$&')
}
