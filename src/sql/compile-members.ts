/** Compiles selects of rows with members, and the statements of members that have their own. The texts are kept by their shapes, like those of other plans. */
import { statementTable, type Column, type Table } from '../catalog/catalog.ts'
import { cellsOf, tablesIn, type Cells } from '../plan/cells.ts'
import type { Condition, SelectPlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement } from './kysely-builder.ts'
import { comparedColumns } from './compared-columns.ts'
import { compileCellDefinitions, compileRows } from './rows-with-members.ts'
import { rowsShape } from './shape-members.ts'
import type { StatementCounts } from './statement-cache.ts'
import type { CompiledStatement, Engine, Statement } from './statement.ts'

const NONE: readonly Column[] = []

/** Compiles a select whose rows have members. Those that are one row are joined to it. */
export function compileWithMembers (plan: SelectPlan, engine: Engine, counts: StatementCounts): Statement {
  const { statements } = builderFor(engine, plan.table)
  const { key, parameters } = rowsShape(plan, engine)
  const kept = statements.get(key)
  if (kept !== undefined) {
    counts.kept++
    return { ...kept, parameters }
  }
  counts.built++
  const cells = cellsOf(plan)
  const { condition, page } = plan
  const compiled = describeCells({ table: plan.table, cells, conditions: [condition, ...page?.by === 'position' ? [page.after] : []], engine }, compileRows(plan, engine))
  statements.set(key, compiled)
  return { ...compiled, parameters }
}

interface Described {
  readonly table: Table
  readonly cells: Cells
  /** On the columns of the table. */
  readonly conditions: readonly Condition[]
  /** Further columns of the table that the statement compares or computes with. */
  readonly compared?: readonly Column[]
  readonly engine: Engine
}

/** What a dialect needs to know of a statement that selects cells, besides its text. */
export function describeCells (described: Described, { sql, pieces }: BuiltStatement): CompiledStatement {
  const { table, cells, engine } = described
  const tables = tablesIn(table, cells)
  return {
    verb: 'select',
    table: statementTable(table),
    sql,
    pieces,
    columns: cells.cells.map(({ column }) => column),
    sources: cells.cells.map((cell) => tables[cell.table] as Table),
    assigned: NONE,
    confirmation: engine === 'mysql' ? compileConfirmation(described, tables) : undefined
  }
}

/** Shows the types of the columns that the statement compares and does not return as they are. */
function compileConfirmation ({ table, cells: { cells, joined }, conditions, compared = [] }: Described, tables: readonly Table[]): Statement | undefined {
  const isShown = (column: Column, place: number): boolean => column.type.selected === undefined && cells.some((cell) => cell.column === column && cell.table === place)
  const needed = new Map<string, Cells['cells'][number]>()
  const need = (column: Column, place: number): void => {
    if (column.type.sentAs !== undefined && !isShown(column, place)) needed.set(`${place} ${column.name}`, { column, table: place })
  }
  for (const column of [...conditions.flatMap(comparedColumns), ...compared]) need(column, 0)
  for (const { column, table: place } of cells) if (column.type.selected !== undefined) need(column, place)
  for (const [index, { member: { on, condition }, parent }] of joined.entries()) {
    for (const column of [...comparedColumns(condition), ...on.map(({ other }) => other)]) need(column, index + 1)
    for (const { column } of on) need(column, parent)
  }
  const confirmed = [...needed.values()]
  if (confirmed.length === 0) return undefined
  const { sql, pieces, parameters } = compileCellDefinitions(tables, confirmed)
  return { verb: 'select', table: statementTable(table), sql, pieces, parameters, columns: confirmed.map(({ column }) => column), sources: confirmed.map((cell) => tables[cell.table] as Table), assigned: NONE, confirmation: undefined }
}
