/** Runs an insert that returns its row where the values of no unique key are known: the row is found by all the values that it was given. */
import type { Column } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor, Outcome } from '../dialects/dialect.ts'
import { unsupported } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import { isExactly, isNull } from '../plan/filters/operators.ts'
import type { Condition, InsertPlan, SelectPlan } from '../plan/plan.ts'
import { settled } from '../plan/moments.ts'
import { storedKey } from '../plan/row-keys.ts'
import { planRules } from '../plan/rule.ts'
import { parseExactJson } from '../request/exact-json.ts'
import { AnswerSink } from '../response/answer-sink.ts'
import type { Value } from '../types/column-type.ts'
import { countMatches } from './count-rows.ts'
import { runStatement } from './run-statement.ts'

export interface UnkeyedInsert {
  readonly plan: InsertPlan & { readonly returning: readonly Column[] }
  readonly database: Database
  readonly sink: AnswerSink
}

/** Rows that are compared with each other at most. */
const MAX_EQUAL = 100

/**
 * The count before the insert and the one after it are of one snapshot, so the difference is the new row. Rows that were there before do no
 * harm if they look the same. @throws NOT_SUPPORTED if the row cannot be told from others
 */
export async function insertUnkeyed (tx: Executor, { plan, database, sink }: UnkeyedInsert): Promise<Outcome> {
  const { table, returning } = plan
  const condition = conditionOf(plan)
  const count = async (): Promise<number> => Number(await countMatches(tx, database, { table, condition, limit: MAX_EQUAL + 1 }))
  const select: SelectPlan = { verb: 'select', table, columns: returning, condition, order: [], limit: MAX_EQUAL }
  const before = await count()
  const outcome = await runStatement(tx, database, plan)
  if (outcome.changed === 0) return outcome
  if (before >= MAX_EQUAL || await count() !== before + 1 || (before > 0 && !await areEqual(tx, database, select))) throw refuse(plan)
  await runStatement(tx, database, { ...select, limit: 1 }, sink)
  return { ...outcome, rows: sink.count, changed: outcome.changed, insertId: outcome.insertId }
}

/** Whether a row is found may tell nothing of columns and rows that the grant does not see. */
function conditionOf ({ table: { columns, view }, assignments }: InsertPlan): Condition {
  const given = assignments.flatMap(({ column, parameter }) => {
    if (columns.get(column.name) !== column || column.type.comparison === 'none') return []
    return [parameter === null ? isNull(column, false) : isExactly(column, storedKey(column, settled(parameter) as Value))]
  })
  return combine('and', view === undefined ? given : [planRules(view.rules), ...given])
}

/** Whether the rows of a select look the same. */
async function areEqual (tx: Executor, database: Database, select: SelectPlan): Promise<boolean> {
  const found = new AnswerSink(select.columns, database.resultLimit, database.budget)
  try {
    await runStatement(tx, database, select, found)
    const { data } = parseExactJson(String(found.finish())) as { data: { rows: unknown[] } }
    return new Set(data.rows.map((row) => JSON.stringify(row))).size === 1
  } finally {
    found.drop()
  }
}

const refuse = ({ table }: InsertPlan) =>
  unsupported('/returning', `table "${table.name}" has no unique key whose values are known, and the new row cannot be told from others: send the values of a key, or leave out "returning"`)
