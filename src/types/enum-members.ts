/** Escape sequences of members in MySQL and MariaDB: the character after the backslash -> the character that it means. */
const ESCAPED = new Map([['0', '\0'], ['n', '\n'], ['r', '\r'], ['t', '\t'], ['Z', '\x1a']])

/**
 * Parses the members of `enum('a','it''s')` or `set(…)` from information_schema.COLUMNS.COLUMN_TYPE, where quotes are doubled
 * and backslashes and control characters are escaped.
 */
export function parseMembers (declaration: string): string[] {
  return Array.from(declaration.matchAll(/'((?:[^'\\]|''|\\.)*)'/gs), ([, member]) => unescape(member as string))
}

function unescape (member: string): string {
  return member.replace(/''|\\(.)/gs, (_match, character?: string) => character === undefined ? "'" : ESCAPED.get(character) ?? character)
}

/** Returns the index of the member in the declaration, or undefined. */
export type FindMember = (text: string) => number | undefined

/**
 * Members must match exactly, with one exception: information_schema is utf8mb3 and shows characters beyond U+FFFF as `?`. So any
 * such character matches a `?`, and the server decides whether the member exists.
 */
export function createFindMember (members: readonly string[]): FindMember {
  const places = new Map(members.map((member, place) => [member, place]))
  const vague = members.flatMap((member, place) => member.includes('?') ? [{ place, pattern: toPattern(member) }] : [])
  return (text) => places.get(text) ?? vague.find(({ pattern }) => pattern.test(text))?.place
}

/** The members without `?`, which are known exactly. */
export function exactMembers (members: readonly string[]): string[] {
  return members.filter((member) => !member.includes('?'))
}

/** Any character beyond U+FFFF, or a question mark, without escapes, which validators in different languages write differently. */
const VAGUE = `[?${String.fromCodePoint(0x10000)}-${String.fromCodePoint(0x10ffff)}]`

/** A regular expression for JSON Schema. */
export function memberPattern (member: string): string {
  return member.split('?').map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join(VAGUE)
}

function toPattern (member: string): RegExp {
  return new RegExp(`^${memberPattern(member)}$`, 'u')
}
