import type { Column, Table } from '../catalog/catalog.ts'
import { invalidOrderBy } from '../errors.ts'
import { at, getColumn } from './columns.ts'
import type { Order } from './plan.ts'

const DIRECTION = /\s(asc|desc)$/i
/** What looks like a name is answered as a column that is not there; anything else as a mistake of form. */
const NAME = /^[\p{L}\p{M}\p{N}_$]+$/u

/** The terms of `orderBy`: "<column> [ASC|DESC], …". @throws INVALID_ORDER_BY, COLUMN_NOT_FOUND */
export function planOrder (orderBy: string, table: Table): Order[] {
  const order = orderBy.split(',').map((term) => planTerm(term.trim(), table))
  const columns = new Set(order.map((term) => term.column))
  if (columns.size < order.length) throw refuse('names a column twice')
  return order
}

function planTerm (term: string, table: Table): Order {
  const direction = DIRECTION.exec(term)?.[1]
  const column = findColumn(table, term, direction === undefined ? term : term.slice(0, -direction.length).trimEnd())
  if (column.type.comparison === 'none' || column.type.structured) throw refuse(`names "${column.name}", whose type has no order`)
  return { column, direction: direction?.toLowerCase() === 'desc' ? 'desc' : 'asc' }
}

function findColumn (table: Table, term: string, name: string): Column {
  const column = table.columns.get(name)
  if (column !== undefined) return column
  if (!NAME.test(name)) throw refuse(`must be of the form "<column> [ASC|DESC]", several separated by commas, not ${JSON.stringify(term)}`)
  return getColumn(table, name, ['orderBy'])
}

const refuse = (reason: string) => at(['orderBy'], invalidOrderBy(reason))
