/** The body of a success. */
import type { Outcome } from '../dialects/dialect.ts'
import type { InsertPlan, Plan, PlannedRow, UpdatePlan, WriteTerms } from '../plan/plan.ts'
import { writesHidden } from '../plan/rule.ts'
import type { AnswerSink } from './answer-sink.ts'
import { findParameter, idOfInserted, idOfUpserted, type Result, type RowCounts, type RowsResult } from './result.ts'
import { ENVELOPE } from './output.ts'
import { pageMembers } from './page-sink.ts'

/** The body of the answer to an executed plan. `sink`: the sink of a select, or of a write that returns rows. */
export function respond (plan: Plan, outcome: Result, sink?: AnswerSink): string | Buffer {
  switch (plan.verb) {
    case 'select': return (sink as AnswerSink).finish(pageMembers(plan, outcome, sink as AnswerSink))
    case 'insert': return finishWrite(plan, insertedText(outcome.settled ?? plan, outcome), sink)
    case 'update': return finishWrite(plan, `"updated":${updatedRows(plan, outcome)}`, sink)
    case 'delete': return finishWrite(plan, `"deleted":${outcome.changed}`, sink)
  }
}

/** The number of rows in the answer to a select, or of those that a write changed, as its answer says it. */
export function rowsOf (plan: Plan, outcome: Result): number {
  switch (plan.verb) {
    case 'select': return outcome.rows
    case 'update': return updatedRows(plan, outcome)
    default: return outcome.changed
  }
}

/**
 * The number of updated rows: all matched rows if the number of changed ones would reveal a column that the grant does
 * not see. SQLite already counts them so.
 */
function updatedRows ({ table, assignments }: UpdatePlan, { matched, changed }: Result): number {
  return table.granted !== undefined &&
    matched !== undefined &&
    writesHidden(
      table,
      assignments.map(({ column }) => column)
    )
    ? matched
    : changed
}

function insertedText (plan: InsertPlan, outcome: Outcome & RowsResult): string {
  const { table, rows, isList, conflict } = plan
  if (conflict === undefined) {
    return `"inserted":${outcome.changed},"id":${idOfInserted(table, findParameter(rows[0] as PlannedRow, table.identity), outcome)}`
  }
  const { inserted, updated, unchanged } = outcome.counts as RowCounts
  return `"inserted":${inserted},"updated":${updated},"unchanged":${unchanged},"id":${isList ? 'null' : idOfUpserted(plan, outcome)}`
}

/** `sink`: contains the rows that the write returns. */
function finishWrite ({ dryRun }: WriteTerms, members: string, sink: AnswerSink | undefined): string | Buffer {
  const all = dryRun === true ? `${members},"dryRun":true` : members
  return sink === undefined ? `{"success":true,"data":{${all}}}` : sink.finishWrite(all)
}

// The answer to several operations, made from the answers to each of them.

const END = '}'

/** The data of an answer, without its envelope. */
export function dataOf (answer: string | Buffer): string | Buffer {
  return answer.slice(ENVELOPE.length, -END.length)
}

/** `answers`: the answers in the order of the operations. Returns a string if all of them are short. */
export function respondToOperations (answers: ReadonlyArray<string | Buffer>, dryRun: boolean): string | Buffer {
  const parts: Array<string | Buffer> = [`${ENVELOPE}{"results":[`]
  for (const [index, answer] of answers.entries()) {
    if (index > 0) parts.push(',')
    parts.push(dataOf(answer))
  }
  parts.push(`]${dryRun ? ',"dryRun":true' : ''}}}`)
  if (parts.every((part) => typeof part === 'string')) return parts.join('')
  return Buffer.concat(parts.map((part) => typeof part === 'string' ? Buffer.from(part) : part))
}
