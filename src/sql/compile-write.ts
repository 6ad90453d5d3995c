import { type Expression, type OperationNodeSource, type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Column, Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { writesHidden } from '../plan/rule.ts'
import { matchesIn } from '../plan/filters/match.ts'
import type { Assignment, DeletePlan, UpdatePlan } from '../plan/plan.ts'
import { findSearchKey, findUniqueIndex } from '../plan/row-keys.ts'
import type { Parameter } from '../types/column-type.ts'
import { operatorSql } from '../types/update-operators.ts'
import { bind, compileCondition, compileForm, findFirst } from './conditions.ts'
import { locksOf } from './compile-select.ts'
import { foundFirst } from '../plan/second-form.ts'
import {
  build, type BuiltStatement, type Change, deleteFrom, EVERY_ROW, reference, selectFrom, selection, tableNamed,
  updateTable
} from './builder.ts'
import { bare, type StatementTables, statementTables, type TableScope, unlike } from './table-scope.ts'

/** It names the table, because an upsert also has the columns of the given row. */
export function newValue ({ column, parameter, operator }: Assignment, scope: TableScope): Expression<Parameter> {
  const texts = operator === undefined ? undefined : operatorSql(column, operator)
  return texts === undefined
    ? bind(parameter)
    : compileForm(texts, { column: scope.qualified(column), given: parameter })
}

/**
 * `update <table> set … where …`. MySQL counts the changed rows. SQLite counts the matched rows, so the statement skips
 * those that already have the values; it compares texts byte by byte, because different texts may be equal in the
 * collation of the column. If a hidden column is written, all matched rows count (src/plan/rule.ts).
 */
export function compileUpdate (plan: UpdatePlan, engine: Engine): BuiltStatement {
  const { table, assignments, condition, limit } = plan
  const tables = tablesOf(plan, engine)
  const scope = tables.at(0)
  const changesOf = (column: TableScope['column']): Change[] =>
    assignments.map((each) => ({ column: column(each.column), value: newValue(each, scope) }))
  if (mustFind(plan, engine)) return build(updateTable(joinFound(plan, tables), changesOf(scope.qualified)), engine)
  const changes = changesOf(bare)
  const update = updateTable(targetOf(table), changes).where(compileCondition(condition, scope))
  if (TRAITS[engine].limitsChanges) return build(limit === undefined ? update : update.limit(limit), engine)
  if (!skipsUnchanged(table, assignments)) return build(update, engine)
  return build(update.where(anyOf(changes.map(({ column, value }) => differs(column, value)))), engine)
}

/**
 * Overrides the ON CONFLICT clauses of the table, because with REPLACE a write would delete colliding rows without any
 * permission. Other tables do not need it, and SQLite would also override the clauses of statements in triggers, such
 * as `insert or ignore into log`. Kysely has it for inserts only.
 */
const targetOf = ({ name, hasConflictClause }: Table): OperationNodeSource =>
  hasConflictClause === true ? sql`or abort ${tableNamed(name)}` : tableNamed(name)

/** On SQLite, whose `is not` also compares NULL. */
export const differs = (stored: Expression<unknown>, value: Expression<unknown>): RawBuilder<SqlBool> =>
  sql`${stored} is not ${value} collate binary`

/** Conditions of one OR: SQLite refuses expressions deeper than 1000. */
const OR = 100

export function anyOf (conditions: ReadonlyArray<RawBuilder<SqlBool>>): RawBuilder<SqlBool> {
  if (conditions.length === 1) return conditions[0] as RawBuilder<SqlBool>
  const parts: Array<RawBuilder<SqlBool>> = []
  for (let from = 0; from < conditions.length; from += OR) {
    parts.push(sql<SqlBool>`(${sql.join(conditions.slice(from, from + OR), sql` or `)})`)
  }
  return anyOf(parts)
}

/** On SQLite. `written`: columns of an upsert that get the values of its row. */
export const skipsUnchanged = (
  table: Table,
  assignments: readonly Assignment[],
  written: readonly Column[] = []
): boolean =>
  table.granted === undefined || !writesHidden(table, [...written, ...assignments.map(({ column }) => column)])

/** The table alone. */
const tablesOf = ({ table, isSecondForm }: UpdatePlan | DeletePlan, engine: Engine): StatementTables =>
  statementTables(engine, [table], {
    isAlone: true, isSecondForm, lock: isSecondForm && locksOf(table, 'update', engine)?.inner
  })

/** Servers use no full-text index in an update or delete, which would lock every row. */
const mustFind = ({ table, condition, isSecondForm }: UpdatePlan | DeletePlan, engine: Engine): boolean =>
  (isSecondForm === true && foundFirst(table) !== undefined) ||
  (!TRAITS[engine].searchesInWrites && matchesIn(condition).length > 0)

/**
 * `(select <key> from <table> where … limit n for update) as found straight_join <table> on <same key>`: with LIMIT,
 * servers find all rows before they change one. Kysely joins in updates and deletes only as other engines do.
 */
function joinFound (
  { table, condition, limit }: UpdatePlan | DeletePlan,
  tables: StatementTables
): RawBuilder<unknown> {
  const scope = tables.at(0)
  const key = findSearchKey(table) as readonly Column[]
  const alias = unlike([table.name], 'found')
  const { first, left } = findFirst(scope, table, [condition])
  const selections = key.map(({ name }) => selection(name, scope.isSecondForm ? scope.name : undefined))
  let rows = selectFrom(tables.from(0, undefined, first), { selections })
  for (const each of left) rows = rows.where(compileCondition(each, scope))
  const found = rows.limit(limit ?? EVERY_ROW).modifyEnd(sql`for update`)
  const pairs = key.map((column) => sql`${scope.qualified(column)} = ${reference(column.name, alias)}`)
  const index = findUniqueIndex(table, key)
  const hint = index === undefined ? sql`` : sql` force index (${sql.id(index.name)})`
  return sql`${found} as ${sql.id(alias)} straight_join ${tableNamed(table.name)}${hint} on ${
    sql.join(pairs, sql` and `)}`
}

/** `delete from <table> where …` */
export function compileDelete (plan: DeletePlan, engine: Engine): BuiltStatement {
  const { table, condition, limit } = plan
  const tables = tablesOf(plan, engine)
  const target = tableNamed(table.name)
  if (mustFind(plan, engine)) return build(sql`delete ${target} from ${joinFound(plan, tables)}`, engine)
  const query = deleteFrom(target).where(compileCondition(condition, tables.at(0)))
  return build(limit === undefined ? query : query.limit(limit), engine)
}
