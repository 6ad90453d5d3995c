import { sql, type Expression } from 'kysely'
import type { Column, Index, Table } from '../catalog/catalog.ts'
import type { Condition, CountPlan, SelectPlan } from '../plan/plan.ts'
import { builderFor, type BuiltStatement, type Rows, type TableBuilder } from './kysely-builder.ts'
import { compileCondition, wrap } from './conditions.ts'
import { findIndex } from './find-index.ts'
import { rowsOf, selectedColumns } from './page.ts'
import { compileGroups } from './groups.ts'
import { orderTerms } from './order.ts'
import { statementBuilder } from './several-tables.ts'
import type { Engine } from './statement.ts'

/**
 * `select <columns> from <table> where … order by … limit n`. Columns are in the order of the plan and read by position. They have
 * aliases because mysql2 cannot read rows with a column called `__proto__`. The order names the table because aliases take precedence
 * over columns there. A page is read with one additional row, which shows whether another page follows.
 */
export function compileSelect (plan: SelectPlan, engine: Engine): BuiltStatement {
  if (plan.groups !== undefined) return compileGroups(plan, plan.groups, engine)
  const lock = plan.lock === undefined || engine === 'sqlite' ? undefined : LOCKS[plan.lock]
  const builder = statementBuilder(engine, plan.table, lock && LOCKED)
  const forced = engine === 'mysql' ? findIndex(plan) : undefined
  let query = from(builder, forced?.index)
  for (const [index, column] of selectedColumns(plan).entries()) {
    query = query.select(({ ref }) => wrap(column.type.selected, ref(builder.token(column))).as(`v${index}`))
  }
  for (const condition of [plan.condition, ...plan.page?.by === 'position' ? [plan.page.after] : []]) {
    if (!isTrue(condition)) query = query.where(compileCondition(condition, builder))
  }
  for (const term of orderTerms(forced?.order ?? plan.order, ({ column }) => sql.ref(`t.${builder.token(column)}`))) query = query.orderBy(term)
  if (plan.sequence !== undefined) query = query.orderBy(positionIn(plan.sequence, builder))
  query = query.limit(rowsOf(plan))
  if (plan.page?.by === 'offset') query = query.offset(plan.page.offset)
  return builder.build(lock === undefined ? query : query.modifyEnd(lock))
}

/** `case when … then 0 when … then 1 end` */
function positionIn (conditions: readonly Condition[], builder: TableBuilder): Expression<number> {
  return sql`case ${sql.join(conditions.map((condition, index) => sql`when ${compileCondition(condition, builder)} then ${sql.lit(index)}`), sql` `)} end`
}

const isTrue = (condition: Condition): boolean => condition.kind === 'constant' && condition.value

/** `from <table>`, or `from <table> as <table> force index (<index>)`: Kysely has no hints, but accepts any expression as an alias. */
function from ({ db, indexToken }: TableBuilder, index: Index | undefined) {
  if (index === undefined) return db.selectFrom('t')
  return db.selectFrom(sql<Rows['t']>`${sql.table('t')}`.as<'t'>(sql`${sql.id('t')} force index (${sql.id(indexToken(index))})`))
}

/** `select count(*) from <table> where …`. With a limit or a lock it counts the rows of a subquery, which stops at the limit. */
export function compileCount ({ table, condition, limit, lock }: CountPlan, engine: Engine): BuiltStatement {
  const locks = lock !== undefined && engine === 'mysql'
  const builder = statementBuilder(engine, table, locks ? LOCKED : undefined)
  const rows = isTrue(condition) ? builder.db.selectFrom('t') : builder.db.selectFrom('t').where(compileCondition(condition, builder))
  if (limit === undefined && !locks) return builder.build(rows.select(({ fn }) => fn.countAll().as('v0')))
  const ones = rows.select(sql<number>`1`.as('v0'))
  const limited = limit === undefined ? ones : ones.limit(limit)
  return builder.build(builder.db.selectFrom((locks ? limited.modifyEnd(LOCKS[lock]) : limited).as('matching')).select(({ fn }) => fn.countAll().as('v0')))
}

/** The locks; MariaDB has no FOR SHARE. */
const LOCKS = { share: sql`lock in share mode`, update: sql`for update` }
/** The lock of subqueries in a select that locks its rows; without it they would read older rows than the select. */
const LOCKED = sql` ${LOCKS.share}`

/** Selects no rows, so that the result only shows the present definitions of the columns. */
export function compileDefinitions (table: Table, columns: readonly Column[]): BuiltStatement {
  const builder = builderFor('mysql', table)
  let query = builder.db.selectFrom('t')
  for (const [index, column] of columns.entries()) query = query.select(({ ref }) => ref(builder.token(column)).as(`v${index}`))
  return builder.build(query.limit(0))
}
