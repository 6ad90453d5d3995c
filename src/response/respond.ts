/** The text of a success. Values go from the driver's form to JSON text without becoming objects in between. */
import type { Result } from '../dialects/dialect.ts'
import type { InsertPlan, Plan } from '../plan/plan.ts'

/** The body of the answer to a plan that was executed. */
export function respond (plan: Plan, result: Result): string | Buffer {
  switch (plan.verb) {
    case 'select': return result.answer as Buffer | string
    case 'insert': return `{"success":true,"data":{"inserted":${result.changed},"id":${idOf(plan, result)}}}`
    case 'update': return `{"success":true,"data":{"updated":${result.changed}}}`
    case 'delete': return `{"success":true,"data":{"deleted":${result.changed}}}`
  }
}

/** The number that the database gave the row, or the value that it was given for its key, or null. */
function idOf ({ table: { identity }, assignments }: InsertPlan, { insertId }: Result): string {
  const given = assignments.find(({ column }) => column === identity)?.parameter ?? null
  if (identity === undefined) return 'null'
  if (given !== null) return identity.type.echo(given)
  return identity.autoIncrement ? insertId as string : 'null'
}
