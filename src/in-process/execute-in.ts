/** Requests of the host app in a transaction that is open. */
import type { Body } from '../../schemas/body.ts'
import { authorize, getAccess } from '../access/authorize.ts'
import { orUnavailable } from '../access/lost.ts'
import type { Database } from '../databases/database.ts'
import { SchemaMoved, type Transaction } from '../dialects/dialect.ts'
import { databaseUnavailable } from '../errors.ts'
import { answerIn } from '../execute/answer.ts'
import type { PlanLimits } from '../plan/filters/scope.ts'
import { createPlan } from '../plan/create-plan.ts'
import { readBody, readGrant, type ExecuteRequest } from './execute.ts'
import { readAnswer } from './to-values.ts'

/** A request without its database, which is that of the transaction. */
export type TransactionRequest = Omit<ExecuteRequest, 'database' | 'consistency'>

/** Returns `data` of the response. */
export type TransactionExecute = (request: TransactionRequest) => Promise<any>

export interface ExecuteInOptions {
  readonly tx: Transaction
  readonly database: Database
  readonly limits: PlanLimits
  readonly dryRun: boolean
  /** Whether the hook for writes is called. */
  readonly isHooked: boolean
  /** Called where the table is not as the catalog has it. */
  readonly onMoved?: () => void
}

/** @returns a function that throws ServiceError. Its statements run in the transaction. */
export function createTransactionExecute ({ tx, database, limits, dryRun, isHooked, onMoved }: ExecuteInOptions): TransactionExecute {
  return async ({ table, body: given, grant: granted, bigints = 'bigint' }) => {
    const grant = readGrant(granted)
    const access = getAccess(new Map([[database.name, database]]), grant, { database: database.name, table })
    const body: Body = readBody(given)
    const plan = orUnavailable(access, await authorize(access, body), (table) => createPlan(body, table, limits))
    try {
      const { answer } = await answerIn(tx, { plan, database, limit: database.resultLimit, ...isHooked && { written: { grant, body, dryRun } } })
      return readAnswer(answer, plan, bigints)
    } catch (error) {
      if (!(error instanceof SchemaMoved)) throw error
      onMoved?.()
      throw databaseUnavailable()
    }
  }
}
