/** The minimal cost of the database access: mysql2 alone, with callbacks, without HTTP and JSON. It generates its own load. */
import mysql, { type QueryError } from 'mysql2'
import { answer } from '../../ask.ts'
import { runLoop, type Client, type Turn } from '../../load/loop.ts'
import { WORKLOADS } from '../../workloads.ts'
import { parametersOf, poolOptions, statements, type PlainOperation } from './statements.ts'

export type BareQuestion =
  | { readonly kind: 'run', readonly operation: PlainOperation }
  | { readonly kind: 'turn', readonly workload: string, readonly connections: number, readonly turn: Turn }

const pool = mysql.createPool(poolOptions())

function run (operation: PlainOperation, done: (error: QueryError | null, result: unknown) => void): void {
  const sql = statements[operation.kind]
  const parameters = parametersOf(operation)
  if (process.env['METHOD'] === 'execute') pool.execute(sql, parameters, done)
  else pool.query(sql, parameters, done)
}

answer(async (question: BareQuestion) => {
  if (question.kind === 'run') {
    return new Promise((resolve, reject) => run(question.operation, (error, result) => error === null ? resolve(result) : reject(error)))
  }
  const { operations } = WORKLOADS.find(({ name }) => name === question.workload) as typeof WORKLOADS[number]
  const client: Client = (index, done) => run(operations[index] as PlainOperation, (error) => done(error === null))
  return runLoop(Array(question.connections).fill(client), operations.length, question.turn)
})
