/** The body of a success. */
import { mayFillColumns, type Column } from '../catalog/catalog.ts'
import type { Outcome } from '../dialects/dialect.ts'
import type { InsertPlan, Plan } from '../plan/plan.ts'
import type { AnswerSink } from './sink.ts'

/** The body of the answer to a plan that was executed. `sink`: of a select. */
export function respond (plan: Plan, outcome: Outcome, sink?: AnswerSink): string | Buffer {
  switch (plan.verb) {
    case 'select': return (sink as AnswerSink).finish()
    case 'insert': return `{"success":true,"data":{"inserted":${outcome.changed},"id":${idOf(plan, outcome)}}}`
    case 'update': return `{"success":true,"data":{"updated":${outcome.changed}}}`
    case 'delete': return `{"success":true,"data":{"deleted":${outcome.changed}}}`
  }
}

/** The number that the database gave the row, or the value that the request gave its key; null where neither is certain. */
function idOf ({ table, assignments }: InsertPlan, { insertId, changed }: Outcome): string {
  const { identity } = table
  // a trigger of SQLite may leave the row out, or change its key afterwards
  if (identity === undefined || changed === 0 || insertId === undefined) return 'null'
  const given = assignments.find(({ column }) => column === identity)?.parameter ?? null
  // a BEFORE INSERT trigger may set the key: the database reports the value of an AUTO_INCREMENT column only
  if (given === null || mayFillColumns(table)) return identity.autoIncrement ? numberOf(identity, insertId) : 'null'
  return identity.type.echo(given)
}

/** The number as the column has it: the database does not report whether it is signed. */
function numberOf ({ type }: Column, insertId: string): string {
  try {
    return type.echo(type.read(insertId))
  } catch {
    return type.echo(BigInt.asIntN(64, BigInt(insertId)))
  }
}
