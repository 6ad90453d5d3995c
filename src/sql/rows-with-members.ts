/** Selects of rows with the members that are joined to them. */
import { sql, type Expression, type RawBuilder } from 'kysely'
import type { Index } from '../catalog/catalog.ts'
import { cellsOf, tablesIn, type Cells } from '../plan/cells.ts'
import type { Condition, Order, SelectPlan } from '../plan/plan.ts'
import type { BuiltStatement } from './kysely-builder.ts'
import { compileCondition, wrap } from './conditions.ts'
import { findIndex } from './find-index.ts'
import { orderTerms } from './order.ts'
import { rowsOf } from './page.ts'
import { severalTables, type SeveralTables } from './several-tables.ts'
import type { Engine } from './statement.ts'

type Sql = RawBuilder<unknown>

const isTrue = (condition: Condition): boolean => condition.kind === 'constant' && condition.value

/** `select <cells> from <table> [left join <table> on …] where … order by … limit n` */
export function compileRows (plan: SelectPlan, engine: Engine): BuiltStatement {
  const { table, condition, page, order } = plan
  const cells = cellsOf(plan)
  const tables = severalTables(engine, tablesIn(table, cells))
  const forced = engine === 'mysql' ? findIndex(plan) : undefined
  const conditions = [condition, ...page?.by === 'position' ? [page.after] : []]
  const rows = selectRows(tables, cells, { index: forced?.index, order: forced?.order ?? order, conditions })
  return tables.build(sql`select ${selectCells(tables, cells)} ${rows} limit ${rowsOf(plan)}${page?.by === 'offset' ? sql` offset ${page.offset}` : sql``}`)
}

export interface RowsToSelect {
  readonly index?: Index | undefined
  readonly order: readonly Order[]
  readonly conditions: readonly Condition[]
  /** Conditions that relate the rows to others, and decide by which index they are found. */
  readonly related?: readonly Condition[]
}

/** Selects the cells as `v0`, `v1`, …, or from a later number if other cells precede them (`from`). */
export function selectCells (tables: SeveralTables, { cells }: Cells, from = 0): Sql {
  return sql.join(cells.map(({ column, table }, place) => sql`${wrap(column.type.selected, sql.ref(tables.at(table).token(column)))} as ${sql.id(`v${from + place}`)}`))
}

/** From FROM up to ORDER BY. */
export function selectRows (tables: SeveralTables, { joined }: Pick<Cells, 'joined'>, { index, order, conditions, related = [] }: RowsToSelect): Sql {
  const own = tables.at(0)
  const joins = joined.map(({ member: { on, condition }, parent }, place): Sql => {
    const [child, outer] = [tables.at(place + 1), tables.at(parent)]
    // the column on the left decides the collation on SQLite
    const pairs: Array<Expression<unknown>> = on.map(({ column, other }) => sql`${sql.ref(child.token(other))} = ${sql.ref(outer.token(column))}`)
    if (!isTrue(condition)) pairs.push(compileCondition(condition, child))
    return sql` left join ${tables.from(place + 1)} on ${sql.join(pairs, sql` and `)}`
  })
  const compile = (condition: Condition): Expression<unknown> => compileCondition(condition, own)
  const narrowing = [...related.map((condition) => tables.relate(compile(condition))), ...conditions.filter((condition) => !isTrue(condition)).map(compile)]
  const where = narrowing.length === 0 ? sql`` : sql` where ${sql.join(narrowing, sql` and `)}`
  const tokenOf = ({ of, column }: Order): string => (of === undefined ? own : tables.at(joined.findIndex(({ member }) => member === of) + 1)).token(column)
  const terms = orderTerms(order, (term) => sql.ref(tokenOf(term)))
  return sql`from ${tables.from(0, index)}${sql.join(joins, sql``)}${where}${terms.length === 0 ? sql`` : sql` order by ${sql.join(terms)}`}`
}
