import { sql, type Expression, type RawBuilder } from 'kysely'
import type { Column, Table } from '../catalog/catalog.ts'
import { writesHidden } from '../plan/hidden.ts'
import type { Assignment, DeletePlan, UpdatePlan } from '../plan/plan.ts'
import type { BuiltStatement, Rows, TableBuilder } from './kysely-builder.ts'
import { bind, compileCondition, compileForm } from './conditions.ts'
import type { Parameter } from '../types/column-type.ts'
import { formSql } from '../types/forms.ts'
import { statementBuilder } from './several-tables.ts'
import type { Engine } from './statement.ts'

const toRow = (assignments: readonly Assignment[], builder: TableBuilder) => Object.fromEntries(assignments.map((assignment) => [builder.token(assignment.column), newValue(assignment, builder)]))

/** The value that an assignment gives to its column. It names the table, because an upsert also has the columns of the given row. */
export function newValue ({ column, parameter, form }: Assignment, builder: TableBuilder): Expression<Parameter> {
  const texts = form === undefined ? undefined : formSql(column.type, form)
  return texts === undefined ? bind(parameter) : compileForm(texts, { column: sql.ref(`t.${builder.token(column)}`), given: parameter })
}

/**
 * Overrides the ON CONFLICT clauses of the table, because with REPLACE a write would delete colliding rows without any permission. Other tables do not
 * need it, and SQLite would also override the clauses of statements in triggers, such as `insert or ignore into log`.
 */
const orAbort = ({ hasConflictClause }: Table): RawBuilder<unknown> => hasConflictClause === true ? sql`or abort ` : sql``

/**
 * `update <table> set … where …`. MySQL counts the changed rows. SQLite counts the matched rows, so the statement skips those that already have
 * the values; it compares texts byte by byte, because different texts may be equal in the collation of the column. If a hidden column is
 * written, all matched rows count (src/plan/hidden.ts).
 */
export function compileUpdate ({ table, assignments, condition, limit }: UpdatePlan, engine: Engine): BuiltStatement {
  const builder = statementBuilder(engine, table)
  const { db, build, token } = builder
  const target = table.hasConflictClause === true ? sql<Rows['t']>`${orAbort(table)}${sql.table('t')}`.as<'t'>(sql.id('t')) : 't'
  const update = db.updateTable(target).set(toRow(assignments, builder)).where(compileCondition(condition, builder))
  if (engine === 'mysql') return build(limit === undefined ? update : update.limit(limit))
  return build(!skipsUnchanged(table, assignments) ? update : update.where(({ or, ref }) => or(assignments.map((each) => sql<boolean>`${ref(token(each.column))} is not ${newValue(each, builder)} collate binary`))))
}

/** Whether SQLite's update skips rows that already have the values. `written`: columns of an upsert that get the values of its row. */
export const skipsUnchanged = (table: Table, assignments: readonly Assignment[], written: readonly Column[] = []): boolean =>
  table.granted === undefined || !writesHidden(table, [...written, ...assignments.map(({ column }) => column)])

/** `delete from <table> where …` */
export function compileDelete ({ table, condition, limit }: DeletePlan, engine: Engine): BuiltStatement {
  const builder = statementBuilder(engine, table)
  const query = builder.db.deleteFrom('t').where(compileCondition(condition, builder))
  return builder.build(limit === undefined ? query : query.limit(limit))
}
