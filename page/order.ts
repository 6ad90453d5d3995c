/** The field `orderBy` of a body as terms, and back. */
import { isList, isObject, memberOf, type Json, type JsonObject } from './json.ts'

export interface Term { readonly name: string, readonly descends: boolean }

/** Undefined for an order that the head of the grid cannot show, such as that of a member's column. */
export function readOrder (orderBy: Json | undefined): readonly Term[] {
  if (typeof orderBy === 'string') {
    return orderBy.split(',').map((term) => /^\s*(\S.*?)(?:\s+(asc|desc))?\s*$/i.exec(term)).filter((term) => term !== null).map(([, name = '', direction = '']) => ({ name, descends: /^desc$/i.test(direction) }))
  }
  if (!isList(orderBy)) return []
  return orderBy.filter(isObject).flatMap((term) => Object.entries(term).map(([name, direction]) => ({ name, descends: typeof direction === 'string' && /^desc$/i.test(direction) })))
}

export function writeOrder (terms: readonly Term[]): Json | undefined {
  if (terms.length === 0) return undefined
  if (terms.every(({ name }) => /^\w+$/.test(name))) return terms.map(({ name, descends }) => descends ? `${name} DESC` : name).join(', ')
  return terms.map(({ name, descends }) => ({ [name]: descends ? 'DESC' : 'ASC' }))
}

/** The order after a click on the head of a column: ascending, then descending, then none. With `isAdded` other terms stay. */
export function toggleOrder (terms: readonly Term[], name: string, isAdded: boolean): readonly Term[] {
  const term = terms.find((each) => each.name === name)
  const next = term === undefined ? [{ name, descends: false }] : term.descends ? [] : [{ name, descends: true }]
  if (!isAdded) return next
  return term === undefined ? [...terms, ...next] : terms.flatMap((each) => each === term ? next : [each])
}

/** The body of the first page again: with another order or other filters a position means nothing. */
export function firstPage (body: JsonObject): JsonObject {
  const restarted = { ...body, ...memberOf(body, 'after') !== undefined && { after: null }, ...memberOf(body, 'offset') !== undefined && { offset: 0 } }
  return restarted
}
