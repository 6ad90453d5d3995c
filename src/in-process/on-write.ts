import { TRAITS } from '../catalog/traits.ts'
import { types } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import type { Body, BodyInTransaction } from '../../schemas/body.ts'
import { nameTables } from '../access/violated-keys.ts'
import { type Access, getAccess } from '../access/authorize.ts'
import { InvalidGrant, toCallGrant, requireLock } from '../access/grant.ts'
import type { Claims } from '../access/rules.ts'
import type { Database, WriteHook } from '../databases/database.ts'
import type { Transaction } from '../dialects/dialect.ts'
import { CommandQueue } from '../dialects/transaction-commands.ts'
import {
  databaseUnavailable, isBug, isServiceError, isTrouble, ServiceError, toReadable, toWritable, withDetails, withReason,
  writeRefused
} from '../errors.ts'
import { respondIn, type PlanToRespond } from '../verbs/execute.ts'
import { StaleAttempt, toStale } from '../databases/stale-catalog.ts'
import { createPlan } from '../verbs/index.ts'
import { authorizeAndPlan } from '../pipeline.ts'
import { isOneStatement, lockRows, requireUndoable } from '../plan/write-options.ts'
import type { RequestLimits } from '../plan/limits.ts'
import { createBodyCheck } from '../request/check-body.ts'
import {
  type ExecuteRequest, readBody, requireKnown, LOAD_OPTIONS, loadInProcess, type TransactionLoadRequest, readResponse,
  toNumber
} from './calls.ts'
import type { Bigints } from './field-types.ts'
import type { LoadResult } from './requests.ts'

// The host app runs requests in an open transaction.

/**
 * A request without its database, which the transaction has. The body of a select may have `lock`; none may have
 * `dryRun`.
 */
export type TransactionRequest = Omit<ExecuteRequest, 'database' | 'consistency'>

/** The requests of one function of the host app. */
export interface Calls {
  /**
   * Runs one request after the other. A refused request leaves the transaction as it was before. @throws InvalidGrant
   */
  readonly execute: (request: TransactionRequest) => Promise<any>
  /** Inserts the rows of a source, while no other request runs. @throws as `execute`; what the source throws */
  readonly load: (
    request: TransactionLoadRequest,
    source: AsyncIterable<unknown> | Iterable<unknown>
  ) => Promise<LoadResult>
  /**
   * Waits for the remaining requests. No other request can run afterwards. @throws the stale attempt, also if the
   * function has caught its error: the transaction cannot go on
   */
  end (): Promise<void>
  /** A request whose tables differ from the catalog, so that the function runs again. */
  stale (): StaleAttempt | undefined
}

export function createCalls ({ tx, database, limits, dryRun, isHooked }: {
  readonly tx: Transaction
  readonly database: Database
  readonly limits: RequestLimits
  readonly dryRun: boolean
  /** The hook for writes is called. */
  readonly isHooked: boolean
}): Calls {
  const queue = new CommandQueue()
  let stale: StaleAttempt | undefined

  const run = async ({
    access,
    body,
    isLocked,
    bigints
  }: {
    readonly access: Access
    readonly body: Body
    readonly isLocked: boolean
    readonly bigints: Bigints
  }): Promise<unknown> => {
    if (isLocked) requireLock(access.permissions)
    const made = await authorizeAndPlan(access, { body, limits }, (source) => createPlan(body, source, limits))
    const plan = isLocked ? lockRows(made) : made
    if (dryRun && plan.verb !== 'select') requireUndoable(plan.table, '')
    const pendingWrite = isHooked ? { grant: access.grant, body, dryRun } : undefined
    const request: PlanToRespond = {
      plan,
      database,
      maxBytes: database.resultLimit,
      ...(pendingWrite !== undefined && { pendingWrite })
    }
    // a server undoes a statement that it refuses, but SQLite does not always (RAISE(FAIL)); a later step may also
    // refuse the statement
    const isAtomic =
      plan.verb === 'select' ||
      (isOneStatement(plan) &&
        TRAITS[database.dialect.engine].undoesRefused &&
        (pendingWrite === undefined || database.onWrite === undefined))
    try {
      const { response } = isAtomic ? await respondIn(tx, request) : await tx.nested((part) => respondIn(part, request))
      return readResponse(response, plan, bigints)
    } catch (error) {
      throw refuseStale(toStale(nameTables(error, access.grant, database), plan))
    }
  }

  /** The error of a request for the function, which runs again if the tables differ from the catalog. */
  const refuseStale = (error: unknown): unknown => {
    if (!(error instanceof StaleAttempt)) return error
    stale = error
    return databaseUnavailable()
  }
  const databases = new Map([[database.name, database]])

  return {
    execute: async (request) => {
      requireKnown(request, OPTIONS, 'execute in a transaction')
      const { table, body: given, grant: granted, bigints = 'bigint' } = request
      const grant = toCallGrant(granted)
      const access = getAccess(databases, grant, { database: database.name, table })
      const { lock, ...body } = readBody<BodyInTransaction>(given, createBodyCheck(limits, 'inTransaction'))
      const call = { access, body: body as Body, isLocked: lock === true, bigints }
      return await queue.run(() => run(call))
    },
    load: async (request, source) => {
      requireKnown(request, LOAD_OPTIONS, 'load in a transaction')
      const whole = { ...request, database: database.name }
      return await queue.run(() => tx
        .nested((within) => loadInProcess({ databases, limits, within, isOfHook: !isHooked }, whole, source))
        .catch((error: unknown) => { throw refuseStale(error) }))
    },
    end: async () => {
      await queue.drain()
      queue.hasEnded = true
      if (stale !== undefined) throw stale
    },
    stale: () => stale
  }
}

const OPTIONS: ReadonlySet<string> = new Set<keyof TransactionRequest>(['table', 'body', 'grant', 'bigints'])

/**
 * The counts of each verb. The id of an insert is a bigint beyond 2^53; `updated` and `unchanged` are those of
 * `onConflict`.
 */
interface Counts {
  readonly insert: {
    readonly inserted: number
    readonly updated?: number
    readonly unchanged?: number
    readonly id: number | bigint | string | null
  }
  readonly update: { readonly updated: number }
  readonly delete: { readonly deleted: number }
}

/** A write that has run but is not committed. Its verb determines the counts of the result. */
export type WriteEvent = {
  [V in keyof Counts]: {
    readonly grant: { readonly name: string; readonly claims: Claims }
    readonly database: string
    readonly table: string
    readonly verb: V
    /** The name of the named request; undefined for any other. */
    readonly request: string | undefined
    /** The values as the client sent them; integers beyond 2^53 are bigints. */
    readonly data: unknown
    readonly filters: unknown
    /** `data` of the response. */
    readonly result: Counts[V] & {
      readonly rows?: ReadonlyArray<Readonly<Record<string, unknown>>>
      readonly dryRun?: true
    }
    /** The number of the attempt, which is more than 1 if the transaction runs again after a deadlock. */
    readonly attempt: number
    readonly dryRun: boolean
    /** Runs requests in the same transaction. They do not call the hook. */
    readonly tx: Pick<Calls, 'execute' | 'load'>
  }
}[keyof Counts]

/**
 * Any error that it throws refuses the write: a fault or a limit (5xx, 429) with its code, any other error with
 * WRITE_REFUSED.
 */
export type OnWrite = (write: WriteEvent) => unknown

/** `log`: gets programming errors of the function. */
export function createWriteHook (
  onWrite: OnWrite,
  limits: RequestLimits,
  log: Pick<FastifyBaseLogger, 'error'>
): WriteHook {
  return async ({ tx, grant, database, plan, body, references, response, dryRun, named }) => {
    const tables = new WeakMap<object, string>()
    const calls = createCalls({ tx, database, limits, dryRun, isHooked: false })
    const noteTable = <T>({ table }: { readonly table: string }, running: Promise<T>): Promise<T> =>
      running.catch((error: unknown) => {
        if (error instanceof ServiceError) tables.set(error, table)
        throw error
      })
    const execute: Calls['execute'] = (request) => noteTable(request, calls.execute(request))
    const load: Calls['load'] = (request, source) => noteTable(request, calls.load(request, source))
    const result = readResponse(response, plan, 'bigint')
    const { data, filters } = plainValue(body, references) as { data?: unknown; filters?: unknown }
    try {
      await onWrite({
        grant: { name: grant.name, claims: grant.claims },
        database: database.name,
        table: plan.table.name,
        verb: plan.verb,
        request: named,
        data,
        filters,
        result,
        attempt: tx.attempt,
        dryRun,
        tx: { execute, load }
      } as WriteEvent)
    } catch (thrown) {
      const stale = calls.stale()
      if (stale !== undefined) throw stale
      // any access to a proxy may throw
      if (types.isProxy(thrown)) throw refusalOf(thrown, 'Proxy')
      const error = thrown instanceof Error ? toReadable(thrown) : thrown
      if (error instanceof InvalidGrant) throw error
      if (isServiceError(error)) throw toOutside(error, tables.get(error))
      if (isMistake(error)) {
        log.error(
          { err: error, database: database.name, table: plan.table.name, verb: plan.verb },
          'error in the hook onWrite'
        )
      }
      throw refusalOf(error, error instanceof Error ? error.name : typeof error)
    } finally {
      await calls.end()
    }
  }
}

/** The classes of the errors that JavaScript and Node throw for mistakes in a program. */
const MISTAKES = [TypeError, ReferenceError, RangeError, SyntaxError, EvalError, URIError]

/** The hook has failed, and has not refused the write with an error of its own. */
const isMistake = (error: unknown): boolean => MISTAKES.some((mistake) => error instanceof mistake)

function refusalOf (cause: unknown, reason: string): ServiceError {
  return Object.assign(withReason(writeRefused(), reason), { cause })
}

/** Maximum length of a reason in the log, in characters. */
const MAX_REASON = 500

/**
 * Converts an error of the hook for the client. The names and paths in a refusal are those of a request of the hook,
 * which has its own grant, so they are only logged. A fault or a limit has nothing to do with that request and keeps
 * its code. `table`: the table of the refused request.
 */
function toOutside (error: ServiceError, table: string | undefined): ServiceError {
  if (isBug(error)) return error
  const { code, message, details } = error
  const causes = details.map((detail) => `${detail.path} ${detail.message}`.trimStart())
  const reason =
    `${code}${table === undefined ? '' : ` in "${table}"`}: ${causes.length === 0 ? message : causes.join('; ')}`.slice(
      0,
      MAX_REASON
    )
  if (isTrouble(error) || code === 'RATE_LIMITED') {
    return withDetails(withReason(toWritable(error), error.reason ?? reason))
  }
  return refusalOf(error, reason)
}

/** Returns a copy with plain values in place of numbers as text and references. */
function plainValue (value: unknown, references?: ReadonlyMap<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (references?.has(value) === true) return plainValue(references.get(value))
  if (JSON.isRawJSON(value)) return toNumber(value, 'bigint')
  if (Array.isArray(value)) return value.map((each) => plainValue(each, references))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainValue(each, references)]))
}
