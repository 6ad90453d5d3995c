/** Upserts of rows that give no values, for which SQLite has no ON CONFLICT: a column that stands for the others gets its default by name. */
import { baseTable, type Column, type Table } from '../catalog/catalog.ts'
import { pointer, unsupported } from '../errors.ts'
import { knownDefault } from './known-default.ts'
import type { InsertPlan } from './plan.ts'

/** Finds a column whose default is known, or the rowid. */
export function findDefaulted (table: Table): Column | undefined {
  // the text of a JSON default may have spaces, which the service would not write
  return baseTable(table).columnList.find((column) => column.autoIncrement || (!column.generated && !column.type.structured && knownDefault(column) !== undefined))
}

/** @throws NOT_SUPPORTED if a row gives no values, and only the database knows the defaults of all columns */
export function refuseOnlyDefaults ({ table, rows, conflict, isList }: InsertPlan): void {
  if (table.engine !== 'sqlite' || conflict === undefined) return
  const row = rows.find(({ columns }) => columns.length === 0)
  if (row === undefined || findDefaulted(table) !== undefined) return
  throw unsupported(isList ? pointer('data', row.index) : '/data', `the database computes the defaults of all columns of table "${table.name}": send a value`)
}
