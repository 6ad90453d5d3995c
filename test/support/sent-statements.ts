/** The statements that a body sends, in their order. A dialect without a database answers. */
import { createGrant, type TableGrantOptions } from '../../src/access/grant.ts'
import { findGrantedTable } from '../../src/access/granted-table.ts'
import type { Catalog, Table } from '../../src/catalog/catalog.ts'
import type { Engine } from '../../src/catalog/traits.ts'
import type { Database } from '../../src/databases/database.ts'
import {
  type Dialect, type RowSink, type StatementResult, type Transaction, type TransactionOptions, uniqueViolationOf
} from '../../src/dialects/dialect.ts'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { UNLIMITED } from '../../src/response/budget.ts'
import type { Statement } from '../../src/sql/statement.ts'
import type { DriverValue } from '../../src/types/column-type.ts'
import { createSink, executePlan } from '../../src/verbs/execute.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { LIMITS } from './sql.ts'

export interface Sending {
  readonly engine: Engine
  readonly catalog: Catalog
  /** Of the request. */
  readonly table: string
  readonly body: object
  /** What the grant may do with tables, for tenant 7; everything if omitted. */
  readonly grant?: Readonly<Record<string, TableGrantOptions>> | undefined
  /** How many rows each select finds; 1 if omitted. */
  readonly finds?: number | undefined
  /** Whether statements that have a second form (src/plan/second-form.ts) are sent in it. */
  readonly isSecondForm?: boolean | undefined
  /** How many writes a unique key refuses, beginning with the first. */
  readonly refused?: number | undefined
}

/** A statement, or the beginning or the end of a transaction. */
export type Sent = Statement | 'commit' | `begin, ${TransactionOptions['isolation']}`

const BYTES = 1_000_000

export async function sentBy ({
  engine, catalog, table, body, grant, finds = 1, isSecondForm = false, refused = 0
}: Sending): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  let left = refused
  const run = async (compiled: Statement, sink?: RowSink): Promise<StatementResult> => {
    const statement = isSecondForm ? compiled.secondForm?.() ?? compiled : compiled
    sent.push(statement)
    const { verb, table: { uniqueKeys } } = statement
    if (verb !== 'select' && left-- > 0) throw uniqueViolationOf(uniqueKeys.at(-1))
    if (sink === undefined) return { rows: 0, changed: 1, matched: 1, insertId: '1', untouched: [] }
    sink.begin(statement.columns)
    const isCount = statement.columns[0]?.name === 'count'
    for (let row = 0; row < (isCount ? 1 : finds); row++) {
      await sink.row(isCount ? [BigInt(finds)] : rowOf(statement, row, engine))
    }
    return { rows: sink.count, changed: 0 }
  }
  const transaction: Transaction = { run, attempt: 1, nested: async (use) => await use(transaction) }
  const dialect: Partial<Dialect> = {
    engine,
    read: run,
    write: (statement) => run(statement),
    async transaction (use, { isolation }) {
      sent.push(`begin, ${isolation}`)
      const result = await use(transaction)
      sent.push('commit')
      return result
    }
  }
  const database = { dialect, statementCounts: { cached: 0, built: 0 }, resultLimit: BYTES, budget: UNLIMITED }
  const see = (name: string): Table => seenBy(grant, catalog, name)
  const limits = { ...LIMITS, include: { levels: 4, members: 16 } }
  const plan = createPlan(parseExactJson(JSON.stringify(body)) as never, { table: see(table), see }, limits)
  const sink = createSink(plan, UNLIMITED, BYTES)
  try {
    await executePlan({ plan, database: database as unknown as Database, sink }, {})
  } finally {
    sink?.drop()
  }
  return sent
}

function seenBy (grant: Sending['grant'], catalog: Catalog, name: string): Table {
  const table = catalog.tables.get(name) as Table
  if (grant === undefined) return table
  const permissions = ['select', 'insert', 'update', 'delete'] as const
  const granted = createGrant('golden', { permissions, databases: { shop: grant }, claims: { tenant: 7 } } as never)
  return findGrantedTable({ grant: granted, database: 'shop', catalog }, table) as Table
}

/**
 * Values as the driver returns them. Of the numbers for which a statement looks, each row has another one. The id of a
 * list is the index of its row (src/sql/related-rows.ts).
 */
function rowOf ({ columns, parameters }: Statement, row: number, engine: Engine): DriverValue[] {
  const numbers = new Set(parameters.filter((each) => typeof each === 'bigint'))
  const number = [...numbers][row] ?? BigInt(row + 1)
  return columns.map(({ name, declaration }) => {
    if (name === 'value id') return 0n
    if (/char|text/.test(declaration)) return 'a'
    if (declaration === 'json') return '{}'
    if (declaration === 'datetime') return '2026-01-01 00:00:00'
    return engine === 'mysql' ? String(number) : number
  })
}
