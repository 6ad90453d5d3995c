/** Ready requests for a table, one for each verb, to look at and to send. */
import type { Column, Table } from '../catalog/catalog.ts'
import type { Verb } from '../../schemas/grant.ts'
import { membersOf, type Schema } from './schema.ts'
import { filterKey, isWritable } from './table-schemas.ts'

/** Columns that a select in an example asks for, at most. */
const SHOWN = 6
const ROWS = 10

const build: Readonly<Record<Verb, (table: Table, columns: readonly Column[]) => object>> = {
  select: (table, columns) => ({
    columns: columns.slice(0, SHOWN).map(({ name }) => name),
    ...orderOf(keyOf(table, columns)),
    limit: ROWS
  }),
  insert: (_table, columns) => ({ data: rowOf(toInsert(columns)) }),
  update: (table, columns) => ({ data: rowOf(toUpdate(table, columns)), filters: nothingBy(keyOf(table, columns)) }),
  delete: (table, columns) => ({ filters: nothingBy(keyOf(table, columns)) })
}

/** Verb -> an example as a document has them. */
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

/** What must be given; else something that may be. */
function toInsert (columns: readonly Column[]): Column[] {
  const writable = columns.filter(isWritable)
  const required = writable.filter(({ optional }) => !optional)
  return required.length > 0 ? required : writable.filter(({ autoIncrement }) => !autoIncrement).slice(0, 1)
}

/** A column that is no key, if there is one. */
function toUpdate ({ primaryKey, foreignKeys }: Table, columns: readonly Column[]): Column[] {
  const keys = new Set([...primaryKey, ...foreignKeys.flatMap((key) => key.columns)])
  const writable = columns.filter(isWritable)
  const others = writable.filter(({ name }) => !keys.has(name))
  return (others.length > 0 ? others : writable).slice(0, 1)
}

/** The column that rows are told apart by: of the primary key, or the first that can be compared. */
function keyOf ({ primaryKey }: Table, columns: readonly Column[]): Column {
  return columns.find(({ name }) => name === primaryKey[0]) ?? columns.find(({ type }) => type.comparison !== 'none') ?? columns[0] as Column
}

function orderOf ({ name, type }: Column): object {
  if (!type.sortable) return {}
  return { orderBy: /^\w+$/.test(name) ? `${name} DESC` : [{ [name]: 'DESC' }] }
}

/** Filters for an example that somebody may send unread: of a numbered row they name one that is hardly there. */
function nothingBy (column: Column): object {
  const key = filterKey(column)
  if (column.type.comparison === 'none') return { [key]: null }
  return { [key]: membersOf(column.type.schema).some(({ type }) => type === 'integer') ? 0 : exampleOf(column) }
}
