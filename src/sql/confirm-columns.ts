import { sql } from 'kysely'
import { baseTable, statementTable, type Column, type Table } from '../catalog/catalog.ts'
import type { RelatedColumns } from './compared-columns.ts'
import { severalTables } from './several-tables.ts'
import type { Statement } from './statement.ts'

const NONE: readonly Column[] = []

/** A statement without rows that shows the types of columns of several tables; undefined if there are none. `own`: the table of the statement. */
export function confirmColumns (own: Table, compared: readonly RelatedColumns[]): Statement | undefined {
  const needed = new Map<Table, Set<Column>>()
  for (const { table, columns } of compared) {
    const base = baseTable(table)
    const known = needed.get(base) ?? new Set()
    for (const column of columns) if (column.type.sentAs !== undefined) known.add(column)
    if (known.size > 0) needed.set(base, known)
  }
  if (needed.size === 0) return undefined
  const seen = [...needed.keys()]
  const tables = severalTables('mysql', seen)
  const cells = seen.flatMap((table, place) => Array.from(needed.get(table) ?? NONE, (column) => ({ column, table, place })))
  const selected = cells.map(({ column, place }, index) => sql`${sql.ref(tables.at(place).token(column))} as ${sql.id(`v${index}`)}`)
  const { sql: text, pieces, parameters } = tables.build(sql`select ${sql.join(selected)} from ${sql.join(seen.map((_, place) => tables.from(place)))} limit ${0}`)
  return { verb: 'select', table: statementTable(own), sql: text, pieces, parameters, columns: cells.map(({ column }) => column), sources: cells.map(({ table }) => table), assigned: NONE, confirmation: undefined }
}
