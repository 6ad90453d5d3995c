/**
 * The terms of ORDER BY. None of them says where NULL comes: for MySQL, MariaDB and SQLite it is the lowest value by default, first in ascending and
 * last in descending order. The rows after a position depend on it (src/plan/position.ts).
 */
import { sql, type Expression, type RawBuilder } from 'kysely'
import type { Order } from '../plan/plan.ts'

/** `expressionOf`: the SQL of the column of a term. */
export function orderTerms (order: readonly Order[], expressionOf: (term: Order) => Expression<unknown>): Array<RawBuilder<unknown>> {
  return order.map((term) => sql`${expressionOf(term)} ${sql.raw(term.direction)}`)
}
