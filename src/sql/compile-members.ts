/** Compiles selects of rows with members: members of one row are joined to it. */
import { type Expression, type RawBuilder, sql } from 'kysely'
import { type Index, statementTable, type Table } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import { type Cells, cellsOf, haveView, tablesIn, tablesRead } from '../plan/members.ts'
import { matchesIn } from '../plan/filters/match.ts'
import type { ComputedColumn, ComputedMember, Condition, Order, SelectPlan } from '../plan/plan.ts'
import { compileCondition, isTrue, orderTerms, wrap } from './conditions.ts'
import { type BuiltStatement, severalTables, type SeveralTables, type TableTokens } from './builder.ts'
import { compute, confirmationsOf, findIndex, leftJoin, lockClause, positionIn } from './compile-select.ts'
import type { Template } from './statement.ts'

// Selects of rows with the members that are joined to them.

type Sql = RawBuilder<unknown>

/** `select <cells> from <table> [left join <table> on …] where … order by … limit n [lock in share mode]` */
export function compileRows (plan: SelectPlan, engine: Engine): BuiltStatement {
  const { table, condition, page, order, sequence } = plan
  const cells = cellsOf(plan)
  const lock = lockClause(table, plan.lock, engine)
  const tables = severalTables(engine, tablesIn(table, cells), lock)
  const forced = findIndex(plan, engine)
  const conditions = [condition, ...page?.by === 'position' ? [page.after] : []]
  const rows = selectRows(tables, cells, {
    index: forced?.index,
    order: forced?.order ?? order,
    sequence,
    conditions,
    engine
  })
  const skipped = page?.by === 'offset' ? sql` offset ${page.offset}` : sql``
  const limited = sql`${rows} limit ${plan.read ?? plan.limit}${skipped}${lock}`
  return tables.build(sql`select ${selectCells(tables, cells)} ${limited}`)
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
  { index, order, sequence, conditions, related = [], beside = sql``, engine }: {
    readonly index?: Index | undefined
    readonly order: readonly Order[]
    readonly sequence?: SelectPlan['sequence']
    readonly engine: Engine
    readonly conditions: readonly Condition[]
    /** Conditions that relate the rows to others, and decide by which index they are found. */
    readonly related?: readonly Condition[]
    /** What is joined to the table before its members. */
    readonly beside?: Sql
  }
): Sql {
  const own = tables.at(0)
  const joins = joined.map(({ member, parent }, index): Sql =>
    sql` ${leftJoin(member, { other: tables.at(index + 1), from: tables.from(index + 1), outer: tables.at(parent) })}`
  )
  const compile = (condition: Condition): Expression<unknown> => compileCondition(condition, own)
  const narrowing = [
    ...related.map((condition) => tables.relate(compile(condition))),
    ...conditions.filter((condition) => !isTrue(condition)).map(compile)
  ]
  const where = narrowing.length === 0 ? sql`` : sql` where ${sql.join(narrowing, sql` and `)}`
  const terms = termsOf(order, tables, { joined }, engine)
  if (sequence !== undefined) terms.push(positionIn(sequence, own))
  const ordered = terms.length === 0 ? sql`` : sql` order by ${sql.join(terms)}`
  return sql`from ${tables.from(0, index)}${beside}${sql.join(joins, sql``)}${where}${ordered}`
}

/** The terms of an order by columns of the table, and by its members. */
export function termsOf (
  order: readonly Order[],
  tables: SeveralTables,
  { joined }: Pick<Cells, 'joined'>,
  engine: Engine
): Array<Expression<unknown>> {
  const own = tables.at(0)
  return orderTerms(order, ({ of, column }) => {
    if (of?.kind === 'computed') return computeRelated(column as ComputedColumn, of, own, engine)
    const tokens = of === undefined ? own : tables.at(joined.findIndex(({ member }) => member === of) + 1)
    return sql.ref(tokens.token(column))
  }, own)
}

/** `(select <aggregate> from <table> where <on> and …)` */
function computeRelated (
  column: ComputedColumn,
  { table, on, condition, index }: ComputedMember,
  own: TableTokens,
  engine: Engine
): Sql {
  const other = own.add(table, index?.index)
  const conditions = on.map((pair) =>
    other.relate(sql`${sql.ref(other.token(pair.other))} = ${sql.ref(own.outer(pair.column))}`)
  )
  if (!isTrue(condition)) conditions.push(compileCondition(condition, other))
  const value = compute(column, engine, other)
  return sql`(select ${value} from ${other.from} where ${sql.join(conditions, sql` and `)})`
}

/** Describes a statement that selects cells for a dialect. */
export function describeCells (
  { table, cells, conditions, order = [], engine }: {
    readonly table: Table
    readonly cells: Cells
    /** The order of the rows of the table, whose aggregates need the tables of their members. */
    readonly order?: readonly Order[]
    /** The conditions on the columns of the table. */
    readonly conditions: readonly Condition[]
    readonly engine: Engine
  },
  built: BuiltStatement
): Template {
  const tables = tablesIn(table, cells)
  const read = tablesRead(table, cells, conditions, order)
  return {
    verb: 'select',
    table: statementTable(table),
    ...built,
    columns: cells.cells.map(({ column }) => column),
    sources: cells.cells.map((cell) => statementTable(tables[cell.table] as Table)),
    assigned: [],
    isSearch: conditions.some((condition) => matchesIn(condition).length > 0),
    readsView: haveView(read),
    confirmations: confirmationsOf(engine, read)
  }
}
