import { Type } from '@sinclair/typebox'
import { createType, expected, textOf, ValueRefused, type ColumnType } from './column-type.ts'
import { createFindMember, exactMembers } from './members.ts'

/**
 * MySQL's way to compare texts to the letter: as the bytes of their UTF-8, in which the service sends and shows them, whatever
 * the character set of the column is. A collation would hold `acme`, `ACME` and, in most of MariaDB's, `acme ` equal.
 */
const EXACT: NonNullable<ColumnType['exact']> = { column: ['cast(convert(', ' using utf8mb4) as binary)'], parameter: ['cast(', ' as binary)'] }

interface TextBounds { characters: number | null, bytes: number | null }

/** A string that can be stored: half of a surrogate pair is no character, and no UTF-8. */
export function readString (value: unknown): string {
  if (typeof value !== 'string') throw expected('a string')
  if (!value.isWellFormed()) throw new ValueRefused('is not valid Unicode: it has half of a surrogate pair')
  return value
}

/** CHAR, VARCHAR and the TEXTs: compared by the column's own collation. Characters are code points, as MySQL counts them. */
export function textType ({ characters, bytes }: TextBounds): ColumnType {
  return createType({
    schema: Type.String({ title: 'Text', ...(characters !== null && { maxLength: characters }), examples: ['text'.slice(0, characters ?? undefined)] }),
    read: (value) => {
      const text = readString(value)
      if (characters !== null && text.length > characters && countCharacters(text) > characters) throw new ValueRefused(`is longer than ${characters} characters`)
      if (bytes !== null && text.length > bytes / 4 && Buffer.byteLength(text) > bytes) throw new ValueRefused(`is longer than ${bytes} bytes`)
      return text
    },
    write: (value) => JSON.stringify(textOf(value)),
    wireFormat: 'escaped',
    comparison: 'text',
    exact: EXACT
  })
}

/** CHAR: the server takes trailing spaces off when it is read. */
export function charType (characters: number | null): ColumnType {
  const text = textType({ characters, bytes: null })
  return createType({ ...text, echo: (parameter) => JSON.stringify((parameter as string).replace(/ +$/, '')) })
}

/** Characters as MySQL counts them: the two halves of a surrogate pair are one. */
export function countCharacters (text: string): number {
  return text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0)
}

/** One of the members; where not all are known to the letter, a schema that listed them would forbid what is there. */
function memberSchema (members: readonly string[], rest: { examples?: string[] } = {}) {
  if (exactMembers(members).length === members.length) return Type.String({ enum: [...members], ...rest })
  return Type.String({ description: `One of ${quoted(members)}, in which ? may stand for another character.`, ...rest })
}

/** Texts that MySQL reads as the number 0 of an ENUM where no member is called so. */
const ZEROS = ['0', '00', '000', '0000']

/**
 * ENUM: one of its members, to the letter; MySQL would take '1' for the first member if none is called so. The empty string that is no
 * member has the number 0: the servers have put it where a value was no member. In strict mode MySQL stores it for the text of that
 * number alone, and MariaDB for nothing.
 */
export function enumType (members: readonly string[]): ColumnType {
  const findMember = createFindMember(members)
  // full-width digits equal those of ASCII in most collations
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
    stored: (member) => member === '' ? zero : member,
    echo: (member) => JSON.stringify(member === zero ? '' : member),
    comparison: 'equality',
    exact: EXACT
  })
}

/** SET: a list of its members, given back in the order of the declaration. */
export function setType (members: readonly string[]): ColumnType {
  const findMember = createFindMember(members)
  return createType({
    schema: Type.Array(memberSchema(members), { uniqueItems: true, examples: [exactMembers(members).slice(0, 1)] }),
    read: (value) => {
      if (!Array.isArray(value)) throw expected('a list of ' + quoted(members))
      const chosen = value.map((member) => ({ member, place: findMember(readString(member)) })).sort((a, b) => Number(a.place) - Number(b.place))
      if (chosen.some(({ place }) => place === undefined)) throw expected('a list of ' + quoted(members))
      if (new Set(chosen.map(({ place }) => place)).size !== chosen.length) throw new ValueRefused('names a member twice')
      return chosen.map(({ member }) => member).join(',')
    },
    write: (value) => {
      const text = textOf(value)
      return text === '' ? '[]' : JSON.stringify(text.split(','))
    },
    comparison: 'equality',
    structured: true,
    sortable: true, // by the number of the value, as the servers keep it: the first member is 1, the second 2, the third 4
    exact: EXACT
  })
}

const quoted = (members: readonly string[]): string => members.map((name) => JSON.stringify(name)).join(', ')

interface TextForm {
  /** For messages: `a UUID`. */
  name: string
  /** JSON Schema's name of it. */
  format: string
  title: string
  example: string
  isValid: (text: string) => boolean
  /** The text as the server would write it. */
  normal?: (text: string) => string
  /** Whether the server writes it in a form of its own, so that it is not known how a select will show it. */
  rewritten?: boolean
}

/** A type that is text with a form of its own (UUID, INET6): checked by a pattern, compared as the server does. */
export function formType ({ name, format, title, example, isValid, normal = (text) => text, rewritten = false }: TextForm): ColumnType {
  return createType({
    schema: Type.String({ title, format, examples: [example] }),
    read: (value) => {
      if (typeof value !== 'string' || !isValid(value)) throw expected(name)
      return normal(value)
    },
    write: (value) => JSON.stringify(textOf(value)),
    ...(rewritten && { echo: () => 'null' }),
    wireFormat: 'escaped'
  })
}

/** The last resort for a type that is not known yet: shown as text, never written or compared. */
export function unknownType (declaration: string): ColumnType {
  return createType({
    schema: Type.Unknown({ title: 'Unknown', description: `SQL type ${declaration}: shown as text, not writable` }),
    read: () => { throw new ValueRefused(`has the type ${declaration}, which is not supported yet`) },
    write: (value) => JSON.stringify(textOf(value)),
    comparison: 'none',
    writable: false
  })
}
