/**
 * Compiles selects of rows with members, and the statements of members that need their own. The texts are cached by
 * shape, like those of other plans.
 */
import { type Expression, type RawBuilder, sql } from 'kysely'
import { baseTable, type Column, type Index, statementTable, type Table } from '../catalog/catalog.ts'
import { type Cells, cellsOf, tablesIn } from '../plan/cells.ts'
import { leavesOf } from '../plan/filters/scope.ts'
import type { Condition, Order, SelectPlan } from '../plan/plan.ts'
import { compileCondition, orderTerms, rowsOf, wrap } from './conditions.ts'
import { builderFor, type BuiltStatement, type StatementCounts } from './builder.ts'
import { severalTables, type SeveralTables } from './aliased-tables.ts'
import { findIndex } from './compile-select.ts'
import { rowsKey } from './statement-key.ts'
import type { CompiledStatement, Engine, Statement } from './statement.ts'

/** The columns of its table that a condition compares, without those of IS NULL, which is the same for every type. */
export function comparedColumns (condition: Condition): Column[] {
  return leavesOf(condition).flatMap((leaf) => {
    switch (leaf.kind) {
      case 'null':
      case 'constant': return []
      case 'exists': return leaf.on.map(({ column }) => column)
      default: return [leaf.column]
    }
  })
}

/** Compared columns of another table. */
interface RelatedColumns { readonly table: Table, readonly columns: readonly Column[] }

/** The columns that a condition compares in other tables. */
export function relatedColumns (condition: Condition): RelatedColumns[] {
  return leavesOf(condition).flatMap((leaf) => {
    if (leaf.kind !== 'exists') return []
    return [
      { table: leaf.table, columns: [...leaf.on.map(({ other }) => other), ...comparedColumns(leaf.condition)] },
      ...relatedColumns(leaf.condition)
    ]
  })
}

const NO_COLUMNS: readonly Column[] = []

/**
 * A statement without rows that shows the types of columns of several tables; undefined if there are none. `own`: the
 * table of the statement.
 */
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
  const cells = seen.flatMap((table, tableIndex) =>
    Array.from(needed.get(table) ?? NO_COLUMNS, (column) => ({ column, table, tableIndex }))
  )
  const selected = cells.map(
    ({ column, tableIndex }, index) => sql`${sql.ref(tables.at(tableIndex).token(column))} as ${sql.id(`v${index}`)}`
  )
  const {
    sql: text,
    pieces,
    parameters
  } = tables.build(
    sql`select ${sql.join(selected)} from ${sql.join(seen.map((_, index) => tables.from(index)))} limit ${0}`
  )
  return {
    verb: 'select',
    table: statementTable(own),
    sql: text,
    pieces,
    parameters,
    columns: cells.map(({ column }) => column),
    sources: cells.map(({ table }) => table),
    assigned: NO_COLUMNS,
    confirmation: undefined
  }
}

// Selects of rows with the members that are joined to them.

type Sql = RawBuilder<unknown>

const isTrue = (condition: Condition): boolean => condition.kind === 'constant' && condition.value

/** `select <cells> from <table> [left join <table> on …] where … order by … limit n` */
function compileRows (plan: SelectPlan, engine: Engine): BuiltStatement {
  const { table, condition, page, order } = plan
  const cells = cellsOf(plan)
  const tables = severalTables(engine, tablesIn(table, cells))
  const forced = engine === 'mysql' ? findIndex(plan) : undefined
  const conditions = [condition, ...page?.by === 'position' ? [page.after] : []]
  const rows = selectRows(tables, cells, { index: forced?.index, order: forced?.order ?? order, conditions })
  const skipped = page?.by === 'offset' ? sql` offset ${page.offset}` : sql``
  return tables.build(sql`select ${selectCells(tables, cells)} ${rows} limit ${rowsOf(plan)}${skipped}`)
}

interface RowsToSelect {
  readonly index?: Index | undefined
  readonly order: readonly Order[]
  readonly conditions: readonly Condition[]
  /** Conditions that relate the rows to others, and decide by which index they are found. */
  readonly related?: readonly Condition[]
}

/** Selects the cells as `v0`, `v1`, …, or from a later number if other cells precede them (`from`). */
export function selectCells (tables: SeveralTables, { cells }: Cells, from = 0): Sql {
  return sql.join(
    cells.map(
      ({ column, table }, index) =>
        sql`${wrap(column.type.selected, sql.ref(tables.at(table).token(column)))} as ${sql.id(`v${from + index}`)}`
    )
  )
}

/** From FROM up to ORDER BY. */
export function selectRows (
  tables: SeveralTables,
  { joined }: Pick<Cells, 'joined'>,
  { index, order, conditions, related = [] }: RowsToSelect
): Sql {
  const own = tables.at(0)
  const joins = joined.map(({ member: { on, condition }, parent }, index): Sql => {
    const [child, outer] = [tables.at(index + 1), tables.at(parent)]
    // the column on the left decides the collation on SQLite
    const pairs: Array<Expression<unknown>> = on.map(
      ({ column, other }) => sql`${sql.ref(child.token(other))} = ${sql.ref(outer.token(column))}`
    )
    if (!isTrue(condition)) pairs.push(compileCondition(condition, child))
    return sql` left join ${tables.from(index + 1)} on ${sql.join(pairs, sql` and `)}`
  })
  const compile = (condition: Condition): Expression<unknown> => compileCondition(condition, own)
  const narrowing = [
    ...related.map((condition) => tables.relate(compile(condition))),
    ...conditions.filter((condition) => !isTrue(condition)).map(compile)
  ]
  const where = narrowing.length === 0 ? sql`` : sql` where ${sql.join(narrowing, sql` and `)}`
  const tokenOf = ({ of, column }: Order): string =>
    (of === undefined ? own : tables.at(joined.findIndex(({ member }) => member === of) + 1)).token(column)
  const terms = orderTerms(order, (term) => sql.ref(tokenOf(term)))
  const ordered = terms.length === 0 ? sql`` : sql` order by ${sql.join(terms)}`
  return sql`from ${tables.from(0, index)}${sql.join(joins, sql``)}${where}${ordered}`
}

const NONE: readonly Column[] = []

/** Compiles a select whose rows have members. Members of one row are joined to it. */
export function compileWithMembers (plan: SelectPlan, engine: Engine, counts: StatementCounts): Statement {
  const { statementCache } = builderFor(engine, plan.table)
  const { key, parameters } = rowsKey(plan, engine)
  const cached = statementCache.get(key)
  if (cached !== undefined) {
    counts.cached++
    return { ...cached, parameters }
  }
  counts.built++
  const cells = cellsOf(plan)
  const { condition, page } = plan
  const compiled = describeCells(
    { table: plan.table, cells, conditions: [condition, ...(page?.by === 'position' ? [page.after] : [])], engine },
    compileRows(plan, engine)
  )
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
function findCompared (
  { cells: { cells, joined }, conditions, compared = [] }: Described,
  tables: readonly Table[]
): RelatedColumns[] {
  const isShown = (column: Column, table: number): boolean =>
    column.type.selected === undefined && cells.some((cell) => cell.column === column && cell.table === table)
  const found: RelatedColumns[] = []
  const need = (table: number, columns: readonly Column[]): void => {
    found.push({ table: tables[table] as Table, columns: columns.filter((column) => !isShown(column, table)) })
  }
  need(0, [...conditions.flatMap(comparedColumns), ...compared])
  for (const { column, table } of cells) if (column.type.selected !== undefined) need(table, [column])
  for (const [
    index,
    {
      member: { on, condition },
      parent
    }
  ] of joined.entries()) {
    need(index + 1, [...comparedColumns(condition), ...on.map(({ other }) => other)])
    need(
      parent,
      on.map(({ column }) => column)
    )
  }
  return [...found, ...[...conditions, ...joined.map(({ member }) => member.condition)].flatMap(relatedColumns)]
}
