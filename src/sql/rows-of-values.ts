/**
 * On MySQL and MariaDB, one update gives rows values of their own: the join begins with the values. The text is built
 * for one row, which the dialect repeats.
 */
import { type Expression, sql } from 'kysely'
import { type Column, type Index, statementTable, type Table } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import type { Assignment, UpdatePlan } from '../plan/plan.ts'
import { findUniqueIndex } from '../plan/row-keys.ts'
import type { Cell } from '../types/column-type.ts'
import { build, reference, tableNamed, updateTable } from './builder.ts'
import { confirmationsOf } from './compile-select.ts'
import { bind } from './conditions.ts'
import { findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'
import { onlyTable, unlike } from './table-scope.ts'

export interface RowsOfValues {
  readonly table: Table
  readonly key: readonly Column[]
  readonly columns: readonly Column[]
  /** The values of the key of each row, then of its columns. */
  readonly rows: ReadonlyArray<readonly Cell[]>
}

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n] as const

/**
 * The class of a value in the table of values; NULL is of any. A column with values of one class has their type, so
 * that no value is converted before it is written. Undefined for numbers that are no 64-bit integers, and moments.
 */
function classOf (cell: Cell): 'text' | 'integer' | 'bytes' | 'null' | undefined {
  if (cell === null) return 'null'
  if (typeof cell === 'string') return 'text'
  if (Buffer.isBuffer(cell)) return 'bytes'
  const isInteger = typeof cell === 'bigint' ? cell >= LEAST && cell <= MOST : Number.isSafeInteger(cell)
  return isInteger ? 'integer' : undefined
}

/** The values that an update gives to columns, in their order. */
export const valuesFor = (columns: readonly Column[], { assignments }: UpdatePlan): Cell[] =>
  columns.map((column) => (assignments.find((each) => each.column === column) as Assignment).parameter as Cell)

export function areAlike (rows: RowsOfValues['rows']): boolean {
  const classes = rows[0]?.map(classOf) ?? []
  return rows.every((row) => row.every((cell, index) => {
    const found = classOf(cell)
    if (classes[index] === 'null') classes[index] = found
    return found !== undefined && (found === 'null' || found === classes[index])
  }))
}

/** Takes the cached statement if there is one. */
export function compileRowsOfValues (
  { rows, ...part }: RowsOfValues,
  engine: Engine,
  counts: StatementCounts
): Statement {
  const { key } = keyOf(part)
  const template = findTemplate(part, { counts, key, engine }, describeRows)
  return { ...template, parameters: rows.flat(), rows: rows.length }
}

/** The names of the columns are in a row of the union that it does not have. */
function describeRows ({ table, key, columns }: Omit<RowsOfValues, 'rows'>, engine: Engine): Template {
  const { qualified } = onlyTable(engine, table)
  const alias = unlike([table.name], 'given')
  const all = [...key, ...columns]
  const given = (column: Column): Expression<unknown> => reference(`v${all.indexOf(column)}`, alias)
  const names = sql.join(all.map((_, index) => sql`null as ${sql.id(`v${index}`)}`))
  const index = sql.id((findUniqueIndex(table, key) as Index).name)
  const row = sql.join(all.map(() => bind(null)))
  const isSame = sql.join(key.map((column) => sql`${qualified(column)} = ${given(column)}`), sql` and `)
  // Kysely has neither STRAIGHT_JOIN nor hints
  const values = sql`(select ${names} from dual where 1 = 0 union all select ${row}) as ${sql.id(alias)}`
  const target = sql`${values} straight_join ${tableNamed(table.name)} force index (${index}) on ${isSame}`
  const changes = columns.map((column) => ({ column: qualified(column), value: given(column) }))
  const built = build(updateTable(target, changes), engine)
  return {
    verb: 'update',
    table: statementTable(table),
    ...built,
    slots: [],
    columns: [],
    assigned: all,
    separator: ' union all select ',
    confirmations: confirmationsOf(engine, [statementTable(table)])
  }
}
