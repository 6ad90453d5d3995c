/** Compiles requests for each engine. */
import type { Body } from '../../schemas/body.ts'
import { type Column, alone } from '../../src/catalog/catalog.ts'
import type { Engine } from '../../src/catalog/traits.ts'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { CountPlan, Plan } from '../../src/plan/plan.ts'
import { compileStatement, type StatementCounts } from '../../src/sql/statement-cache.ts'
import { compileInsert, toBatch } from '../../src/sql/compile-insert.ts'

import type { Statement } from '../../src/sql/statement.ts'
import { mysqlColumn, sqliteColumn, tableOf } from './tables.ts'

export const LIMITS = { depth: 32, conditions: 256, values: 10_000, pattern: 1000, offset: 100_000 }

const columnsOf = (column: typeof mysqlColumn): Column[] => [
  column('id', 'bigint', { nullable: false, autoIncrement: true }),
  column('name', 'varchar(20)'),
  column('total', 'decimal(10,2)'),
  column('ratio', 'float'),
  column('tags', 'json'),
  column('odd "na`me"', 'varchar(20)')
]

/** The same table with the types of each engine. */
export const orders = {
  mysql: tableOf({ name: 'orders', columns: columnsOf(mysqlColumn), primaryKey: ['id'] }),
  sqlite: tableOf({ name: 'orders', columns: columnsOf(sqliteColumn), primaryKey: ['id'], engine: 'sqlite' })
}

/** Compiles a request; `body` can be text, for numbers that JavaScript cannot represent. */
export function compileBody (engine: Engine, body: object | string, table = orders[engine]): Statement {
  const parsed = typeof body === 'string' ? parseExactJson(body) : body
  return compilePlan(createPlan(parsed as Body, alone(table), LIMITS), engine)
}

/** The statement of a plan; the first one of an insert of several. */
export function compilePlan (plan: Plan
  | CountPlan, engine: Engine, counts: StatementCounts = { cached: 0, built: 0 }): Statement {
  return plan.verb === 'insert'
    ? compileInsert(toBatch(plan, plan.rows), engine, counts)
    : compileStatement(plan, engine, counts)
}
