import type { Plan } from '../plan/plan.ts'
import type { Engine, Query } from './builder.ts'
import { compileDelete } from './delete.ts'
import { compileInsert } from './insert.ts'
import { compileSelect } from './select.ts'
import { compileUpdate } from './update.ts'

/** The statement of a plan. Cannot fail: what could be refused was refused before there was a plan. */
export function compileQuery (plan: Plan, engine: Engine): Query {
  switch (plan.verb) {
    case 'select': return compileSelect(plan, engine)
    case 'insert': return compileInsert(plan, engine)
    case 'update': return compileUpdate(plan, engine)
    case 'delete': return compileDelete(plan, engine)
  }
}
