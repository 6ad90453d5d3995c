/** Runs requests of the host app in an open transaction. */
import type { Body } from '../../schemas/body.ts'
import type { BodyInTransaction } from '../../schemas/operations.ts'
import { authorize, getAccess, type Access } from '../access/authorize.ts'
import { toCallGrant } from '../access/host-grant.ts'
import { orUnavailable } from '../access/granted-table.ts'
import { requireLock } from '../access/authorize.ts'
import type { Table } from '../catalog/catalog.ts'
import { toUnresolved } from '../databases/broken-definitions.ts'
import type { Database } from '../databases/database.ts'
import { createCommandQueue } from '../dialects/transaction-commands.ts'
import { SchemaMoved, type Transaction } from '../dialects/dialect.ts'
import { brokenDefinition, databaseUnavailable, withReason } from '../errors.ts'
import { answerIn, type PlanToAnswer } from '../execute/execute.ts'
import type { PlanLimits } from '../plan/terms.ts'
import { createPlan } from '../plan/create-plan.ts'
import { tablesOf } from '../plan/filters/scope.ts'
import { isOneStatement } from '../plan/plan.ts'
import { lockRows } from '../plan/terms.ts'
import { requireUndoable } from '../plan/terms.ts'
import type { FindBodyError } from '../request/check-body.ts'
import { findErrorInTransaction } from '../request/check-body.ts'
import { isObject } from '../json/exact-json.ts'
import { findBodyError, readBody, type ExecuteRequest } from './execute.ts'
import type { Bigints } from './fields.ts'
import { requireKnown } from './options.ts'
import { readAnswer } from './to-values.ts'

/** A request without its database, which is that of the transaction. The body of a select may have `lock`; none may have `dryRun`. */
export type TransactionRequest = Omit<ExecuteRequest, 'database' | 'consistency'>

export interface ExecuteInOptions {
  readonly tx: Transaction
  readonly database: Database
  readonly limits: PlanLimits
  readonly dryRun: boolean
  /** Whether the hook for writes is called. */
  readonly isHooked: boolean
  /** Called if the table differs from the catalog. */
  readonly onMoved?: (moved: MovedCall) => void
  /** The request that has made the transaction run again. If the same one fails again, a definition may be broken. */
  readonly before?: MovedCall | undefined
}

/** A request whose tables differ from the catalog. */
export interface MovedCall { readonly error: SchemaMoved, readonly tables: readonly Table[] }

/** The requests of one function of the host app. */
export interface Calls {
  /** Runs one request after the other. A refused request leaves the transaction as it was before. @throws ServiceError, InvalidGrant */
  readonly execute: (request: TransactionRequest) => Promise<any>
  /** Waits for the remaining requests. No other request can run afterwards. */
  end (): Promise<void>
}

interface Call {
  readonly access: Access
  readonly body: Body
  readonly isLocked: boolean
  readonly bigints: Bigints
}

export function createCalls ({ tx, database, limits, dryRun, isHooked, onMoved, before }: ExecuteInOptions): Calls {
  const queue = createCommandQueue()
  let hasEnded = false

  const run = async ({ access, body, isLocked, bigints }: Call): Promise<unknown> => {
    if (isLocked) requireLock(access.permissions)
    const made = orUnavailable(access, await authorize(access, body), (source) => createPlan(body, source, limits))
    const plan = isLocked ? lockRows(made) : made
    if (dryRun && plan.verb !== 'select') requireUndoable(plan.table, '')
    const pendingWrite = isHooked ? { grant: access.grant, body, dryRun } : undefined
    const request: PlanToAnswer = { plan, database, maxBytes: database.resultLimit, ...pendingWrite !== undefined && { pendingWrite } }
    // a server undoes a statement that it refuses, but SQLite does not always (RAISE(FAIL)); a later step may also refuse the statement
    const isAtomic = plan.verb === 'select' || (isOneStatement(plan) && database.dialect.engine !== 'sqlite' && (pendingWrite === undefined || database.onWrite === undefined))
    try {
      const { answer } = isAtomic ? await answerIn(tx, request) : await tx.nested((part) => answerIn(part, request))
      return readAnswer(answer, plan, bigints)
    } catch (error) {
      if (!(error instanceof SchemaMoved)) throw error
      const tables = tablesOf(plan)
      if (database.broken.has(tables, error.reason)) throw withReason(brokenDefinition(), error.reason)
      onMoved?.({ error, tables })
      throw before === undefined ? databaseUnavailable() : toUnresolved(database, { moved: error, before: before.tables, tables })
    }
  }

  return {
    execute: async (request) => {
      requireKnown(request, OPTIONS, 'execute in a transaction')
      const { table, body: given, grant: granted, bigints = 'bigint' } = request
      if (hasEnded) throw new Error('The transaction has ended')
      const grant = toCallGrant(granted)
      const access = getAccess(new Map([[database.name, database]]), grant, { database: database.name, table })
      const { lock, ...body } = readBody<BodyInTransaction>(given, findError)
      const call = { access, body: body as Body, isLocked: lock === true, bigints }
      return await queue.run(() => run(call))
    },
    end: async () => {
      await queue.drain()
      hasEnded = true
    }
  }
}

const OPTIONS: ReadonlySet<string> = new Set<keyof TransactionRequest>(['table', 'body', 'grant', 'bigints'])

/** Finds the first error of a body. */
const findError: FindBodyError = (body) => isObject(body) ? findErrorInTransaction(body, { findBodyError, ofWhole: 'in a transaction; it is an option of the whole' }) : findBodyError(body)
