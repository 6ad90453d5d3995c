/** Tables of 50 columns, and selects from them, for tests of what is kept of many. */
import { alone, type Table } from '../../src/catalog/catalog.ts'
import type { StatementCounts } from '../../src/sql/statement-cache.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { compilePlan, LIMITS } from './sql.ts'
import { mysqlColumn, tableOf } from './tables.ts'

export const times = <T> (count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

export const createTable = (): Table => tableOf({
  columns: times(50, (index) => mysqlColumn(index === 0 ? 'id' : `column_${index}`, 'int'))
})

/** Compiles a select with so many values: each number of values has a statement of its own. */
export function ask (table: Table, values: number, use?: StatementCounts): void {
  const body = { verb: 'select', filters: { id: times(values, (id) => id) } } as const
  compilePlan(createPlan(body, alone(table), LIMITS), 'mysql', use)
}
