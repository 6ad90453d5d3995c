/** Example requests for a table, one for each verb, which can be sent unchanged. */
import type { Column, Table } from '../catalog/catalog.ts'
import type { Verb } from '../../schemas/grant.ts'
import { membersOf, type Schema } from './schema.ts'
import { filterKey } from './table-schemas.ts'
import { writableColumns } from './visible.ts'

/** Maximum number of columns in the example of select. */
const MAX_COLUMNS = 6
const ROWS = 10

const build: Readonly<Record<Verb, (table: Table, columns: readonly Column[]) => object>> = {
  select: (table, columns) => ({
    columns: columns.slice(0, MAX_COLUMNS).map(({ name }) => name),
    ...orderOf(keyOf(table, columns)),
    limit: ROWS
  }),
  insert: (table) => ({ data: rowOf(toInsert(table)) }),
  update: (table, columns) => ({ data: rowOf(toUpdate(table)), filters: filterWithoutMatch(keyOf(table, columns)) }),
  delete: (table, columns) => ({ filters: filterWithoutMatch(keyOf(table, columns)) })
}

/** Returns the OpenAPI examples by verb. */
export function requestExamples (table: Table, verbs: readonly Verb[]): Record<string, Schema> {
  const columns = [...table.columns.values()]
  return Object.fromEntries(verbs.map((verb) => [verb, { summary: verb, value: { verb, ...build[verb](table, columns) } }]))
}

function exampleOf ({ type }: Column): unknown {
  return (type.schema.examples as unknown[])[0]
}

function rowOf (columns: readonly Column[]): object {
  return Object.fromEntries(columns.map((column) => [column.name, exampleOf(column)]))
}

/** The required columns; if there are none, one optional column. */
function toInsert (table: Table): Column[] {
  const writable = writableColumns(table, 'insert')
  const required = writable.filter((column) => table.requiredColumns.includes(column) || table.granted?.given.has(column.name) === true)
  return required.length > 0 ? required : writable.filter(({ autoIncrement }) => !autoIncrement).slice(0, 1)
}

/** One column, preferably not part of a key. */
function toUpdate (table: Table): Column[] {
  const { primaryKey, foreignKeys } = table
  const keys = new Set([...primaryKey, ...foreignKeys.flatMap((key) => key.columns)])
  const writable = writableColumns(table, 'update')
  const others = writable.filter(({ name }) => !keys.has(name))
  return (others.length > 0 ? others : writable).slice(0, 1)
}

/** The column that identifies rows in examples: the first of the primary key, or the first that can be compared. */
function keyOf ({ primaryKey }: Table, columns: readonly Column[]): Column {
  return columns.find(({ name }) => name === primaryKey[0]) ?? columns.find(({ type }) => type.comparison !== 'none') ?? columns[0] as Column
}

function orderOf ({ name, type }: Column): object {
  if (!type.sortable) return {}
  return { orderBy: /^\w+$/.test(name) ? `${name} DESC` : [{ [name]: 'DESC' }] }
}

/** Filters that are unlikely to match a row, because users may send an example without reading it. */
function filterWithoutMatch (column: Column): object {
  const key = filterKey(column)
  if (column.type.comparison === 'none') return { [key]: null }
  return { [key]: membersOf(column.type.schema).some(({ type }) => type === 'integer') ? 0 : exampleOf(column) }
}
