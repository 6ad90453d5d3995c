/** Compiles selects of rows with members, and the statements of members that need their own. The texts are cached by shape, like those of other plans. */
import { statementTable, type Column, type Table } from '../catalog/catalog.ts'
import { cellsOf, tablesIn, type Cells } from '../plan/cells.ts'
import type { Condition, SelectPlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement } from './kysely-builder.ts'
import { comparedColumns, relatedColumns, type RelatedColumns } from './compared-columns.ts'
import { confirmColumns } from './confirm-columns.ts'
import { compileRows } from './rows-with-members.ts'
import { rowsShape } from './shape-members.ts'
import type { StatementCounts } from './statement-cache.ts'
import type { CompiledStatement, Engine, Statement } from './statement.ts'

const NONE: readonly Column[] = []

/** Compiles a select whose rows have members. Members of one row are joined to it. */
export function compileWithMembers (plan: SelectPlan, engine: Engine, counts: StatementCounts): Statement {
  const { statementCache } = builderFor(engine, plan.table)
  const { key, parameters } = rowsShape(plan, engine)
  const kept = statementCache.get(key)
  if (kept !== undefined) {
    counts.kept++
    return { ...kept, parameters }
  }
  counts.built++
  const cells = cellsOf(plan)
  const { condition, page } = plan
  const compiled = describeCells({ table: plan.table, cells, conditions: [condition, ...page?.by === 'position' ? [page.after] : []], engine }, compileRows(plan, engine))
  statementCache.set(key, compiled)
  return { ...compiled, parameters }
}

interface Described {
  readonly table: Table
  readonly cells: Cells
  /** The conditions on the columns of the table. */
  readonly conditions: readonly Condition[]
  /** Other columns of the table that the statement compares or computes with. */
  readonly compared?: readonly Column[]
  readonly engine: Engine
}

/** Describes a statement that selects cells for a dialect. */
export function describeCells (described: Described, { sql, pieces }: BuiltStatement): CompiledStatement {
  const { table, cells, engine } = described
  const tables = tablesIn(table, cells)
  return {
    verb: 'select',
    table: statementTable(table),
    sql,
    pieces,
    columns: cells.cells.map(({ column }) => column),
    sources: cells.cells.map((cell) => statementTable(tables[cell.table] as Table)),
    assigned: NONE,
    confirmation: engine === 'mysql' ? confirmColumns(table, findCompared(described, tables)) : undefined
  }
}

/** The columns that the statement compares but does not return unchanged. */
function findCompared ({ cells: { cells, joined }, conditions, compared = [] }: Described, tables: readonly Table[]): RelatedColumns[] {
  const isShown = (column: Column, place: number): boolean => column.type.selected === undefined && cells.some((cell) => cell.column === column && cell.table === place)
  const found: RelatedColumns[] = []
  const need = (place: number, columns: readonly Column[]): void => {
    found.push({ table: tables[place] as Table, columns: columns.filter((column) => !isShown(column, place)) })
  }
  need(0, [...conditions.flatMap(comparedColumns), ...compared])
  for (const { column, table: place } of cells) if (column.type.selected !== undefined) need(place, [column])
  for (const [index, { member: { on, condition }, parent }] of joined.entries()) {
    need(index + 1, [...comparedColumns(condition), ...on.map(({ other }) => other)])
    need(parent, on.map(({ column }) => column))
  }
  return [...found, ...[...conditions, ...joined.map(({ member }) => member.condition)].flatMap(relatedColumns)]
}
