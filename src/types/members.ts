/** What stands after a backslash in a member, as MySQL and MariaDB write it. */
const ESCAPED = new Map([['0', '\0'], ['n', '\n'], ['r', '\r'], ['t', '\t'], ['Z', '\x1a']])

/**
 * The members of `enum('a','it''s')` or `set(…)` as information_schema.COLUMNS.COLUMN_TYPE writes them: quotes doubled,
 * backslashes and control characters escaped.
 */
export function parseMembers (declaration: string): string[] {
  return Array.from(declaration.matchAll(/'((?:[^'\\]|''|\\.)*)'/gs), ([, member]) => unescape(member as string))
}

function unescape (member: string): string {
  return member.replace(/''|\\(.)/gs, (_match, character?: string) => character === undefined ? "'" : ESCAPED.get(character) ?? character)
}

/** Which member a text is, by its place in the declaration, or undefined. */
export type FindMember = (text: string) => number | undefined

/**
 * Texts are members to the letter. The one exception is the servers': information_schema is utf8mb3, so a character beyond
 * U+FFFF in a member stands there as `?`; at such a place any one character of that kind is taken, and the server has the last word.
 */
export function createFindMember (members: readonly string[]): FindMember {
  const places = new Map(members.map((member, place) => [member, place]))
  const vague = members.flatMap((member, place) => member.includes('?') ? [{ place, pattern: toPattern(member) }] : [])
  return (text) => places.get(text) ?? vague.find(({ pattern }) => pattern.test(text))?.place
}

/** Those that are known to the letter. */
export function exactMembers (members: readonly string[]): string[] {
  return members.filter((member) => !member.includes('?'))
}

function toPattern (member: string): RegExp {
  const parts = member.split('?').map((part) => part.replace(/[\\^$.*+()[\]{}|/-]/g, '\\$&'))
  return new RegExp(`^${parts.join('[?\\u{10000}-\\u{10ffff}]')}$`, 'u')
}
