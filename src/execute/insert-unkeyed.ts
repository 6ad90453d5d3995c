/** Runs an insert that returns its row if the values of no unique key are known: the row is found by all its given values. */
import type { Column } from '../catalog/catalog.ts'
import type { Outcome } from '../dialects/dialect.ts'
import { unsupported } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import { isExactly, isNull } from '../plan/filters/operators.ts'
import type { Condition, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { settled } from '../plan/moments.ts'
import { storedKey } from '../plan/row-keys.ts'
import { planRules } from '../plan/rule.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import { EqualSink } from '../response/count-sink.ts'
import type { RowsResult } from '../response/result.ts'
import { runInsert } from './insert.ts'
import type { Lookup, Runner } from './runner.ts'

/** Maximum number of rows that are compared with each other. */
const MAX_EQUAL = 100

/**
 * Counts before and after the insert in one snapshot, so that the difference is the new row. Earlier rows do no harm if they look the same.
 * @throws NOT_SUPPORTED if the row cannot be distinguished from others
 */
export async function insertUnkeyed (plan: InsertPlan & { readonly returning: readonly Column[] }, runner: Runner, sink: AnswerSink): Promise<Outcome & RowsResult> {
  const { table, returning } = plan
  const condition = conditionOf(plan)
  const count = async (): Promise<number> => Number(await runner.count(table, condition, MAX_EQUAL + 1))
  const lookup: Lookup = { table, columns: returning, condition, limit: MAX_EQUAL }
  const before = await count()
  const outcome = await runInsert({ plan, runner })
  if (outcome.changed === 0) return outcome
  if (before >= MAX_EQUAL || await count() !== before + 1 || (before > 0 && !await areEqual(runner, lookup))) throw refuse(plan)
  await runner.select({ ...lookup, limit: 1 }, sink)
  return { ...outcome, rows: sink.count, changed: outcome.changed, insertId: outcome.insertId }
}

/** Uses only columns and rows that the grant sees, so that finding a row reveals nothing about the others. */
function conditionOf ({ table: { columns, granted }, rows }: InsertPlan): Condition {
  const row = rows[0] as PlannedRow
  const given = row.columns.flatMap((column, place) => {
    const parameter = settled(row.parameters[place])
    if (columns.get(column.name) !== column || column.type.comparison === 'none') return []
    return [parameter === null ? isNull(column, false) : isExactly(column, storedKey(column, parameter))]
  })
  return combine('and', granted === undefined ? given : [planRules(granted.rules), ...given])
}

/** Whether the rows of a select look the same. */
async function areEqual (runner: Runner, lookup: Lookup): Promise<boolean> {
  const sink = new EqualSink(lookup.columns, runner.database.resultLimit)
  await runner.select(lookup, sink)
  return sink.areEqual
}

const refuse = ({ table }: InsertPlan) =>
  unsupported('/returning', `table "${table.name}" has no unique key whose values are known, and the new row cannot be told from others: send the values of a key, or leave out "returning"`)
