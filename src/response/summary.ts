/** The text of a success. Values go from the driver's form to JSON text without becoming objects in between. */
import { mayFillColumns, type Column } from '../catalog/catalog.ts'
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

/** The number that the database gave the row, or the value that its key was given; null where neither is certain. */
function idOf ({ table, assignments }: InsertPlan, { insertId, changed, keyChanged }: Result): string {
  const { identity } = table
  // a trigger of SQLite's may leave the row out, or change its key once it is there
  if (identity === undefined || changed === 0 || keyChanged === true) return 'null'
  const given = assignments.find(({ column }) => column === identity)?.parameter ?? null
  // a BEFORE INSERT trigger may set the key: of a numbered column the database says to what
  if (given === null || mayFillColumns(table)) return identity.autoIncrement ? numberOf(identity, insertId as string) : 'null'
  return identity.type.echo(given)
}

/** The number as the column has it: the database's answer does not say whether it is signed. */
function numberOf ({ type }: Column, insertId: string): string {
  try {
    return type.echo(type.read(insertId))
  } catch {
    return type.echo(BigInt.asIntN(64, BigInt(insertId)))
  }
}
