/** The text of a success. Values go from the driver's form to JSON text without becoming objects in between. */
import type { Column } from './catalog/catalog.ts'
import type { Result } from './dialects/dialect.ts'
import type { InsertPlan, Plan, SelectPlan } from './plan/plan.ts'

/** The body of the answer to a plan that was executed. */
export function respond (plan: Plan, result: Result): string {
  return `{"success":true,"data":${dataOf(plan, result)}}`
}

function dataOf (plan: Plan, result: Result): string {
  switch (plan.verb) {
    case 'select': return `{"rows":${rowsOf(plan, result)},"count":${result.rows.length}}`
    case 'insert': return `{"inserted":${result.changed},"id":${idOf(plan, result)}}`
    case 'update': return `{"updated":${result.changed}}`
    case 'delete': return `{"deleted":${result.changed}}`
  }
}

function rowsOf ({ columns }: SelectPlan, { rows }: Result): string {
  const keys = columns.map((column, index) => `${index === 0 ? '{' : ','}${JSON.stringify(column.name)}:`)
  const texts = rows.map((row) => {
    let text = ''
    for (let index = 0; index < row.length; index++) {
      const value = row[index]
      text += (keys[index] as string) + (value === null || value === undefined ? 'null' : (columns[index] as Column).type.write(value))
    }
    return text + '}'
  })
  return `[${texts.join(',')}]`
}

/** The number that the database gave the row, or the value that it was given for its key, or null. */
function idOf ({ table: { identity }, assignments }: InsertPlan, { insertId }: Result): string {
  const given = assignments.find(({ column }) => column === identity)?.parameter ?? null
  if (identity === undefined) return 'null'
  if (given !== null) return identity.type.echo(given)
  return identity.autoIncrement && insertId !== undefined ? insertId : 'null'
}
