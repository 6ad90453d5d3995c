import type { Column, Table } from '../catalog/catalog.ts'
import { invalidOrderBy } from '../errors.ts'
import { at, getColumn } from './columns.ts'
import type { Order } from './plan.ts'

const DIRECTION = /\s(asc|desc)$/i
/** What looks like a name is answered as a column that is not there; anything else as a mistake of form. */
const NAME = /^[\p{L}\p{M}\p{N}_$]+$/u

/** A term of the list form: its one key is the column, its value the direction. */
type Term = Readonly<Record<string, string>>

/** The terms of `orderBy`: "<column> [ASC|DESC], …", or a list of objects. @throws INVALID_ORDER_BY, COLUMN_NOT_FOUND */
export function planOrder (orderBy: string | readonly Term[], table: Table): Order[] {
  const order = typeof orderBy === 'string' ? orderBy.split(',').map((term) => planText(term.trim(), table)) : orderBy.map((term, index) => planTerm(term, index, table))
  const columns = new Set(order.map((term) => term.column))
  if (columns.size < order.length) throw refuse('names a column twice')
  return order
}

function planText (term: string, table: Table): Order {
  const direction = DIRECTION.exec(term)?.[1]
  return toOrder(findColumn(table, term, direction === undefined ? term : term.slice(0, -direction.length).trimEnd()), direction)
}

function planTerm (term: Term, index: number, table: Table): Order {
  const [[name, direction]] = Object.entries(term) as [[string, string]]
  return toOrder(getColumn(table, name, ['orderBy', index, name]), direction)
}

function toOrder (column: Column, direction: string | undefined): Order {
  if (!column.type.sortable) throw refuse(`names "${column.name}", whose type has no order`)
  return { column, direction: direction?.toLowerCase() === 'desc' ? 'desc' : 'asc' }
}

function findColumn (table: Table, term: string, name: string): Column {
  const column = table.columns.get(name)
  if (column !== undefined) return column
  if (!NAME.test(name)) throw refuse(`must be of the form "<column> [ASC|DESC]", several separated by commas, not ${JSON.stringify(term)}`)
  return getColumn(table, name, ['orderBy'])
}

const refuse = (reason: string) => at(['orderBy'], invalidOrderBy(reason))
