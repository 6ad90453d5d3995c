import { Type } from '@sinclair/typebox'
import { type ColumnType, createType, expected, textOf, ValueRefused, ValueTooLong } from './column-type.ts'
import { longText } from './long-values.ts'

/** In members: the character after the backslash -> the character that it means. */
const ESCAPED = new Map([['0', '\0'], ['n', '\n'], ['r', '\r'], ['t', '\t'], ['Z', '\x1a']])

/**
 * From `enum('a','it''s')` or `set(…)` from information_schema.COLUMNS.COLUMN_TYPE, where quotes are doubled and
 * backslashes and control characters are escaped.
 */
export function parseMembers (declaration: string): string[] {
  return Array.from(declaration.matchAll(/'((?:[^'\\]|''|\\.)*)'/gs), ([, member]) => unescape(member as string))
}

function unescape (member: string): string {
  return member.replace(/''|\\(.)/gs, (_match, character?: string) =>
    character === undefined ? "'" : (ESCAPED.get(character) ?? character)
  )
}

/**
 * Members must match exactly, with one exception: information_schema is utf8mb3 and shows characters beyond U+FFFF as
 * `?`. So any such character matches a `?`, and the server decides whether the member exists.
 */
function createFindMember (members: readonly string[]): (text: string) => number | undefined {
  const indexes = new Map(members.map((member, bit) => [member, bit]))
  const vague = members.flatMap((member, bit) => member.includes('?') ? [{ bit, pattern: toPattern(member) }] : [])
  return (text) => indexes.get(text) ?? vague.find(({ pattern }) => pattern.test(text))?.bit
}

/** The members without `?`, which are known exactly. */
function exactMembers (members: readonly string[]): string[] {
  return members.filter((member) => !member.includes('?'))
}

/**
 * Any character beyond U+FFFF, or a question mark, without escapes, which validators in different languages write
 * differently.
 */
const VAGUE = `[?${String.fromCodePoint(0x10000)}-${String.fromCodePoint(0x10ffff)}]`

function memberPattern (member: string): string {
  return member.split('?').map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join(VAGUE)
}

function toPattern (member: string): RegExp {
  return new RegExp(`^${memberPattern(member)}$`, 'u')
}

/**
 * Compares texts exactly in MySQL: by their bytes in UTF-8, whatever the character set of the column is. A collation
 * can treat `acme`, `ACME` and `acme ` as equal.
 */
const EXACT: NonNullable<ColumnType['exact']> = {
  column: ['cast(convert(', ' using utf8mb4) as binary)'],
  parameter: ['cast(', ' as binary)']
}

interface TextBounds {
  readonly characters: number | null
  readonly bytes: number | null
  /** MySQL's name; any character if omitted. */
  readonly charset?: string | null
}

/** Patterns of the characters in a character set. Other sets have too many. */
const CHARACTERS = new Map([
  ['ascii', '^[\\u0000-\\u007f]*$'],
  // MySQL's latin1 is Windows-1252
  ['latin1', '^[\\u0000-\\u007f\\u00a0-\\u00ff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]*$'],
  ...['utf8', 'utf8mb3', 'ucs2'].map((name): [string, string] => [name, '^[\\u0000-\\ud7ff\\ue000-\\uffff]*$'])
])

/**
 * Undefined for a default with a ?, which may be any character beyond U+FFFF, because information_schema is utf8mb3.
 */
const exactDefault = (text: string): string | undefined => text.includes('?') ? undefined : text

/** All of Unicode. */
const WITHOUT_LIMIT = new Set(['utf8mb4', 'utf16', 'utf16le', 'utf32', 'gb18030'])
const BEYOND_FFFF = /[\ud800-\udfff]/

/** The characters are known only for ASCII and latin1; no small set has characters beyond U+FFFF. */
function mayHave (charset: string | null | undefined): (text: unknown) => boolean {
  if (charset === null || charset === undefined || WITHOUT_LIMIT.has(charset)) return () => true
  const pattern = CHARACTERS.get(charset)
  const only = pattern === undefined ? undefined : new RegExp(pattern)
  return (text) => only === undefined ? !BEYOND_FFFF.test(String(text)) : only.test(String(text))
}

/** @throws ValueRefused for a lone surrogate */
export function readString (value: unknown): string {
  if (typeof value !== 'string') throw expected('a string')
  if (!value.isWellFormed()) throw new ValueRefused('contains a lone surrogate, which is not valid Unicode')
  return value
}

/** VARCHAR and the TEXT types, compared by the collation of the column. Limits are in code points or bytes. */
export function textType ({ characters, bytes, charset }: TextBounds): ColumnType {
  const pattern = CHARACTERS.get(charset ?? '')
  const longest = characters ?? bytes ?? Infinity
  // client generators store lengths as int32
  const maxLength = longest < 2 ** 31 ? longest : undefined
  const name = String(charset)
  const prefix = pattern === undefined ? '' : `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  const any = pattern === undefined ? {} : { pattern }
  return createType({
    schema: Type.String({
      title: `${prefix}Text${maxLength ?? ''}`,
      ...(maxLength !== undefined && { maxLength }),
      ...any,
      examples: ['text'.slice(0, characters ?? undefined)]
    }),
    unbounded: Type.String(any),
    read: (value) => {
      const text = readString(value)
      // most texts are shorter, of which thousands come at once
      if (characters !== null && text.length > characters && isLonger(text, characters)) {
        throw new ValueTooLong(`is longer than ${characters} characters`)
      }
      if (bytes !== null && text.length > bytes / 4 && Buffer.byteLength(text) > bytes) {
        throw new ValueTooLong(`is longer than ${bytes} bytes`)
      }
      return text
    },
    write: (value) => JSON.stringify(textOf(value)),
    long: longText,
    wireFormat: 'escaped',
    keeps: mayHave(charset),
    ...(pattern === undefined && { defaultOf: exactDefault }),
    comparison: 'text',
    exact: EXACT
  })
}

/** CHAR: the server removes trailing spaces when it returns a value. */
export function charType (bounds: TextBounds): ColumnType {
  const text = textType(bounds)
  return createType({ ...text, storedJson: (parameter) => JSON.stringify((parameter as string).replace(/ +$/, '')) })
}

/** Counted as MySQL does: a surrogate pair is one character. */
export function isLonger (text: string, characters: number): boolean {
  if (text.length <= characters) return false
  return text.length > 2 * characters || text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0) > characters
}

/**
 * Collations in whose ORDER BY the servers put texts elsewhere than `>` and `=` do, so that a condition on a position
 * leaves out rows or returns them again: their sort keys treat contractions, ignored characters or missing weights
 * otherwise than their comparison, as `a` and `a` with U+007F in latin7_general_ci. The list is what MySQL 9.7 or
 * MariaDB 10.11 have; test/types/collations.test.ts compares it with all collations of a server.
 */
const UNORDERED = new Set([
  'big5_chinese_ci',
  'cp1250_czech_cs',
  'euckr_korean_ci',
  'gb18030_chinese_ci',
  'latin7_estonian_cs',
  'latin7_general_ci',
  'latin7_general_cs',
  'tis620_thai_ci'
])
/**
 * NO PAD collations of MariaDB. It pads their sort keys with zeros, so that a text and the same text with U+0000 behind
 * it are equal in an order.
 */
const ZERO_PADDED = /_nopad_/
/** Those by the Unicode Collation Algorithm, which ignores U+0000, except the tailoring for Persian. */
const BY_UCA = /_(?:unicode|unicode_520|uca1400(?!_persian)\w*)_nopad_/

/** The server sorts texts as it compares them. */
export const keepsOrder = (collation: string): boolean =>
  !UNORDERED.has(collation) && (!ZERO_PADDED.test(collation) || BY_UCA.test(collation))

/** It lists the members only if all are known exactly; otherwise it would refuse existing values. */
function memberSchema (members: readonly string[], rest: { examples?: string[] } = {}) {
  if (exactMembers(members).length === members.length) return Type.String({ enum: [...members], ...rest })
  return Type.String({
    pattern: `^(${members.map(memberPattern).join('|')})$`,
    description: `One of ${quoted(members)}, where ? can be any character beyond U+FFFF.`,
    ...rest
  })
}

/** MySQL converts them to the index 0 of an ENUM if no member has that name. */
const ZEROS = ['0', '00', '000', '0000']

/**
 * ENUM: accepts its members exactly; MySQL would convert '1' to the first member if no member has that name. The
 * servers store invalid values as the index 0, which they show as an empty string. In strict mode MySQL stores that
 * index only if it is sent as text ('0'), and MariaDB never stores it.
 */
export function enumType (members: readonly string[]): ColumnType {
  const findMember = createFindMember(members)
  // full-width digits equal ASCII digits in most collations
  const called = new Set(members.map((member) => member.normalize('NFKC').trim()))
  const zero = called.has('') ? '' : ZEROS.find((text) => !called.has(text) && findMember(text) === undefined) ?? ''
  return createType({
    schema: memberSchema(members, { examples: [...exactMembers(members), ...members].slice(0, 1) }),
    read: (value) => {
      const member = readString(value)
      if (member !== '' && findMember(member) === undefined) throw expected('one of ' + quoted(members))
      return member
    },
    write: (value) => JSON.stringify(textOf(value)),
    wireFormat: 'escaped',
    stored: (member) => (member === '' ? zero : member),
    // a collation may consider all characters beyond U+FFFF equal
    keeps: (member) => member === '' || exactMembers(members).includes(String(member)),
    defaultOf: exactDefault,
    storedJson: (member) => JSON.stringify(member === zero ? '' : member),
    comparison: 'equality',
    // an invalid value, which has the index 0, is shown as the empty text
    ...((new Set(members).size < members.length || members.includes('')) && { unplaced: true as const }),
    ranking: {
      values:
        exactMembers(members).length < members.length ? undefined : members.includes('') ? members : ['', ...members],
      rank: (member) => (findMember(member as string) ?? -1) + 1
    },
    exact: EXACT
  })
}

/** SET: a list of members, returned in the order of the declaration. */
export function setType (members: readonly string[]): ColumnType {
  const findMember = createFindMember(members)
  return createType({
    schema: Type.Array(memberSchema(members), { uniqueItems: true, examples: [exactMembers(members).slice(0, 1)] }),
    read: (value) => {
      if (!Array.isArray(value)) throw expected('a list of ' + quoted(members))
      const chosen = value
        .map((member) => ({ member, bit: findMember(readString(member)) }))
        .sort((a, b) => Number(a.bit) - Number(b.bit))
      if (chosen.some(({ bit }) => bit === undefined)) throw expected('a list of ' + quoted(members))
      if (new Set(chosen.map(({ member }) => member)).size !== chosen.length) {
        throw new ValueRefused('contains a member twice')
      }
      return chosen.map(({ member }) => member).join(',')
    },
    readMember: (value) => {
      const bit = findMember(readString(value))
      if (bit === undefined) throw expected('one of ' + quoted(members))
      return 1n << BigInt(bit)
    },
    write: (value) => {
      const text = textOf(value)
      return text === '' ? '[]' : JSON.stringify(text.split(','))
    },
    defaultOf: (text) => text === '' ? [] : exactDefault(text)?.split(','),
    comparison: 'equality',
    structured: true,
    sortable: true, // by the stored number, where each member is one bit
    exact: EXACT
  })
}

const quoted = (members: readonly string[]): string => members.map((name) => JSON.stringify(name)).join(', ')

/** Text of a certain format (UUID, INET6). */
export function formType ({
  name,
  format,
  title,
  example,
  isValid,
  normal = (text) => text,
  rewritten = false
}: {
  /** For messages: `a UUID`. */
  name: string
  /** The `format` of its JSON Schema. */
  format: string
  title: string
  example: string
  isValid: (text: string) => boolean
  /** Converts a text to the form in which the server returns it. */
  normal?: (text: string) => string
  /** The server changes the form: the text of a select is not known in advance. */
  rewritten?: boolean
}): ColumnType {
  return createType({
    schema: Type.String({ title, format, examples: [example] }),
    read: (value) => {
      if (typeof value !== 'string' || !isValid(value)) throw expected(name)
      return normal(value)
    },
    write: (value) => JSON.stringify(textOf(value)),
    ...(rewritten && { storedJson: () => 'null' }),
    wireFormat: 'escaped'
  })
}

/**
 * An unknown type: returned as text, not writable, not comparable. `declaration` is empty if the column has no declared
 * type.
 */
export function unknownType (declaration: string): ColumnType {
  const name = declaration === '' ? 'no declared type' : `the type ${declaration}`
  return createType({
    schema: Type.Unknown({ title: 'Unknown', description: `A column with ${name}: returned as text, not writable.` }),
    read: () => { throw new ValueRefused(`has ${name}, which is not supported`) },
    write: (value) => JSON.stringify(textOf(value)),
    long: longText,
    comparison: 'none',
    writable: false
  })
}
