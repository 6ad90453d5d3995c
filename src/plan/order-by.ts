import type { Column } from '../catalog/catalog.ts'
import { at, invalidOrderBy, type Path } from '../errors.ts'
import { getColumn, type ColumnScope } from './columns.ts'
import type { Order } from './plan.ts'

const DIRECTION = /\s(asc|desc)$/i
/** An unknown term that looks like a name is COLUMN_NOT_FOUND; any other is INVALID_ORDER_BY. */
const NAME = /^[\p{L}\p{M}\p{N}_$]+$/u

/** A term of the list form: the key is the column, the value is the direction. */
type Term = Readonly<Record<string, string>>

/** Plans `orderBy`: "<column> [ASC|DESC], …", or a list of objects such as {"<column>": "DESC"}. @throws INVALID_ORDER_BY, COLUMN_NOT_FOUND */
export function planOrder (orderBy: string | readonly Term[], table: ColumnScope, path: Path = ['orderBy']): Order[] {
  const order = typeof orderBy === 'string' ? orderBy.split(',').map((term) => planTextTerm(term.trim(), table, path)) : orderBy.map((term, index) => planTerm(term, table, path, index))
  if (order.length > 1 && new Set(order.map(({ column }) => column)).size < order.length) throw refuse(path, 'contains a column twice')
  return order
}

function planTextTerm (term: string, table: ColumnScope, path: Path): Order {
  const direction = DIRECTION.exec(term)?.[1]
  return toOrder(getTermColumn(table, { term, name: direction === undefined ? term : term.slice(0, -direction.length).trimEnd(), path }), direction, path)
}

function planTerm (term: Term, table: ColumnScope, path: Path, index: number): Order {
  const [[name, direction]] = Object.entries(term) as [[string, string]]
  return toOrder(getColumn(table, name, [...path, index, name]), direction, path)
}

function toOrder (column: Column, direction: string | undefined, path: Path): Order {
  if (!column.type.sortable) throw refuse(path, `contains "${column.name}"; rows cannot be sorted by the type ${column.declaration}`)
  return { column, direction: direction?.toLowerCase() === 'desc' ? 'desc' : 'asc' }
}

function getTermColumn (table: ColumnScope, { term, name, path }: { readonly term: string, readonly name: string, readonly path: Path }): Column {
  const column = table.columns.get(name)
  if (column !== undefined) return column
  if (!NAME.test(name)) throw refuse(path, `must contain terms of the form "<column> [ASC|DESC]" separated by commas, not ${JSON.stringify(term)}`)
  return getColumn(table, name, path)
}

const refuse = (path: Path, reason: string) => at(path, invalidOrderBy(reason))
