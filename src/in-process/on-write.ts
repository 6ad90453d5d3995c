/** The hook of a host app for writes. */
import { types } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { InvalidGrant } from '../access/host-grant.ts'
import type { Claims } from '../access/rules.ts'
import type { WriteHook } from '../databases/database.ts'
import { SchemaMoved } from '../dialects/dialect.ts'
import { isBug, isServiceError, isTrouble, ServiceError, withDetails, withReason, writeRefused } from '../errors.ts'
import type { PlanLimits } from '../plan/terms.ts'
import { ResultReference } from '../plan/result-reference.ts'
import { createCalls, type Calls, type MovedCall } from './execute-in.ts'
import { readAnswer } from './to-values.ts'

/** The counts of each verb. The id of an insert is a bigint beyond 2^53; `updated` and `unchanged` are those of `onConflict`. */
interface Counts {
  readonly insert: { readonly inserted: number, readonly updated?: number, readonly unchanged?: number, readonly id: number | bigint | string | null }
  readonly update: { readonly updated: number }
  readonly delete: { readonly deleted: number }
}

interface WriteOf<V extends keyof Counts> {
  readonly grant: { readonly name: string, readonly claims: Claims }
  readonly database: string
  readonly table: string
  readonly verb: V
  /** The values as the client sent them; integers beyond 2^53 are bigints. */
  readonly data: unknown
  readonly filters: unknown
  /** `data` of the response. */
  readonly result: Counts[V] & { readonly rows?: ReadonlyArray<Readonly<Record<string, unknown>>>, readonly dryRun?: true }
  /** The number of the attempt, which is more than 1 if the transaction runs again after a deadlock. */
  readonly attempt: number
  readonly dryRun: boolean
  /** Runs requests in the same transaction. They do not call the hook. */
  readonly tx: Pick<Calls, 'execute'>
}

/** A write that has run but is not committed. Its verb determines the counts of the result. */
export type WriteEvent = { [V in keyof Counts]: WriteOf<V> }[keyof Counts]

/** Any error that it throws refuses the write: a fault or a limit (5xx, 429) with its code, any other error with WRITE_REFUSED. */
export type OnWrite = (write: WriteEvent) => unknown

type Log = Pick<FastifyBaseLogger, 'error'>

/** Converts the function of a host app. `log`: gets its programming errors. */
export function createWriteHook (onWrite: OnWrite, limits: PlanLimits, log: Log): WriteHook {
  return async ({ tx, grant, database, plan, body, answer, dryRun }) => {
    let moved: SchemaMoved | undefined
    const tables = new WeakMap<object, string>()
    const onMoved = ({ error: { reason, missing } }: MovedCall): void => { moved = new SchemaMoved(reason, { isElsewhere: true, missing }) }
    const calls = createCalls({ tx, database, limits, dryRun, isHooked: false, onMoved })
    const execute: Calls['execute'] = async (request) => await calls.execute(request).catch((error: unknown) => {
      if (error instanceof ServiceError) tables.set(error, request.table)
      throw error
    })
    const result = readAnswer(answer, plan, 'bigint')
    const { data, filters } = plainValue(body) as { data?: unknown, filters?: unknown }
    try {
      await onWrite({
        grant: { name: grant.name, claims: grant.claims },
        database: database.name,
        table: plan.table.name,
        verb: plan.verb,
        data,
        filters,
        result,
        attempt: tx.attempt,
        dryRun,
        tx: { execute }
      } as WriteEvent)
    } catch (error) {
      if (moved !== undefined) throw moved
      // any access to a proxy may throw
      if (types.isProxy(error)) throw refusalOf(error, 'Proxy')
      if (error instanceof InvalidGrant) throw error
      if (isServiceError(error)) throw toOutside(error, tables.get(error))
      if (isMistake(error)) {
        log.error({ err: error, database: database.name, table: plan.table.name, verb: plan.verb }, 'error in the hook onWrite')
      }
      throw refusalOf(error, error instanceof Error ? error.name : typeof error)
    } finally {
      await calls.end()
    }
    // the hook may have caught the error, but the transaction cannot go on
    if (moved !== undefined) throw moved
  }
}

/** The classes of the errors that JavaScript and Node throw for mistakes in a program. */
const MISTAKES = [TypeError, ReferenceError, RangeError, SyntaxError, EvalError, URIError]

/** Whether the hook has failed, and has not refused the write with an error of its own. */
const isMistake = (error: unknown): boolean => MISTAKES.some((mistake) => error instanceof mistake)

function refusalOf (cause: unknown, reason: string): ServiceError {
  return Object.assign(withReason(writeRefused(), reason), { cause })
}

/** Maximum length of a reason in the log, in characters. */
const MAX_REASON = 500

/**
 * Converts an error of the hook for the client. The names and paths in a refusal are those of a request of the hook, which has its own grant, so they are only
 * logged. A fault or a limit has nothing to do with that request and keeps its code. `table`: the table of the refused request.
 */
function toOutside (error: ServiceError, table: string | undefined): ServiceError {
  if (isBug(error)) return error
  const { code, message, details } = error
  const causes = details.map((detail) => `${detail.path} ${detail.message}`.trimStart())
  const reason = `${code}${table === undefined ? '' : ` in "${table}"`}: ${causes.length === 0 ? message : causes.join('; ')}`.slice(0, MAX_REASON)
  if (isTrouble(error) || code === 'RATE_LIMITED') return withDetails(withReason(error, error.reason ?? reason))
  return refusalOf(error, reason)
}

/** Returns a copy with plain values in place of numbers as text and references. */
function plainValue (value: unknown): unknown {
  if (value instanceof ResultReference) return plainValue(value.value)
  if (typeof value !== 'object' || value === null) return value
  if (JSON.isRawJSON(value)) return /^-?\d+$/.test(value.rawJSON) && !Number.isSafeInteger(Number(value.rawJSON)) ? BigInt(value.rawJSON) : Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(plainValue)
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainValue(each)]))
}
