/** The field `orderBy` of a body as terms, and back. */
import { isList, isObject, memberOf, withMembers, type Json, type JsonObject } from './json.ts'

export interface Term {
  /** The column; for that of a member `member.column`. */
  readonly name: string
  readonly descends: boolean
  /** Where the order puts rows without a value, if it says that: `NULLS LAST`. */
  readonly nulls?: string
  /** The member of `include` whose column it is. */
  readonly member?: string
}

/** The terms of the order of a body, whose members are those of `include`. */
export function readOrder ({ orderBy, include }: JsonObject = {}): readonly Term[] {
  if (typeof orderBy === 'string') {
    const members = isObject(include) ? Object.keys(include) : []
    return orderBy.split(',').map((term) => /^\s*(\S.*?)(?:\s+((?:asc|desc)(?:\s+nulls\s+(?:first|last))?))?\s*$/i.exec(term)).filter((term) => term !== null).map(([, name = '', direction = '']) => {
      const member = members.find((each) => name.startsWith(`${each}.`))
      return { name, ...readDirection(direction), ...member !== undefined && { member } }
    })
  }
  if (!isList(orderBy)) return []
  return orderBy.filter(isObject).flatMap((term) => Object.entries(term)).flatMap(([name, given]) => {
    if (!isObject(given)) return [{ name, ...readDirection(given) }]
    return readMember(name, given).map((term) => ({ ...term, member: name }))
  })
}

/** The columns of a member, also through members of it. */
function readMember (name: string, given: JsonObject): Term[] {
  return Object.entries(given).flatMap(([column, value]) => isObject(value) ? readMember(`${name}.${column}`, value) : [{ name: `${name}.${column}`, ...readDirection(value) }])
}

function readDirection (direction: Json | undefined): Pick<Term, 'descends' | 'nulls'> {
  const [way, ...nulls] = typeof direction === 'string' ? direction.toUpperCase().split(/\s+/) : []
  return { descends: way === 'DESC', ...nulls.length > 0 && { nulls: nulls.join(' ') } }
}

const writeDirection = ({ descends, nulls }: Term): string => [descends ? 'DESC' : 'ASC', nulls].filter((word) => word !== undefined).join(' ')

export function writeOrder (terms: readonly Term[]): Json | undefined {
  if (terms.length === 0) return undefined
  if (terms.every(({ name, member }) => (member === undefined ? /^\w+$/ : /^\w+(\.\w+)+$/).test(name))) return terms.map((term) => term.descends || term.nulls !== undefined ? `${term.name} ${writeDirection(term)}` : term.name).join(', ')
  return terms.map((term): JsonObject => {
    const { name, member } = term
    const direction = writeDirection(term)
    return member === undefined ? { [name]: direction } : { [member]: { [name.slice(member.length + 1)]: direction } }
  })
}

/** The order after a click on the head of a column: ascending, then descending, then none. With `isAdded` other terms stay. */
export function toggleOrder (terms: readonly Term[], name: string, isAdded: boolean): readonly Term[] {
  const term = terms.find((each) => each.name === name)
  const next = term === undefined ? [{ name, descends: false }] : term.descends ? [] : [{ name, descends: true }]
  if (!isAdded) return next
  return term === undefined ? [...terms, ...next] : terms.flatMap((each) => each === term ? next : [each])
}

/** The order that begins with the last rows: that of the terms, and of the key where they are equal, from its end. */
export function reverseOrder (terms: readonly Term[], key: readonly string[]): Json {
  const added = key.filter((column) => !terms.some(({ name }) => name === column)).map((name): Term => ({ name, descends: false }))
  return writeOrder([...terms, ...added].map(({ nulls, ...term }) => ({ ...term, descends: !term.descends, ...nulls !== undefined && { nulls: nulls === 'NULLS LAST' ? 'NULLS FIRST' : 'NULLS LAST' } }))) ?? []
}

/** Whether the order puts rows without a value where no index has them: it has no positions. */
const isFar = ({ descends, nulls }: Term): boolean => nulls === (descends ? 'NULLS FIRST' : 'NULLS LAST')

/** The first page in another order. */
export function withOrder (body: JsonObject, terms: readonly Term[], hasPositions: boolean): JsonObject {
  const isPaged = memberOf(body, 'after') !== undefined || memberOf(body, 'offset') !== undefined
  const skips = terms.some(isFar) || !hasPositions
  return withMembers(body, { orderBy: writeOrder(terms), ...isPaged && { after: skips ? undefined : null, offset: skips ? 0 : undefined } })
}

/** The body of the first page again: with another order or other filters a position means nothing. */
export function firstPage (body: JsonObject): JsonObject {
  const restarted = { ...body, ...memberOf(body, 'after') !== undefined && { after: null }, ...memberOf(body, 'offset') !== undefined && { offset: 0 } }
  return restarted
}
