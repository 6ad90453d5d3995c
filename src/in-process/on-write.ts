/** The hook of a host app for writes. */
import type { Claims } from '../access/rules.ts'
import type { WriteHook } from '../databases/database.ts'
import { SchemaMoved } from '../dialects/dialect.ts'
import { isServiceError, withReason, writeRefused } from '../errors.ts'
import type { PlanLimits } from '../plan/filters/scope.ts'
import { ResultReference } from '../plan/result-reference.ts'
import { createTransactionExecute, type TransactionExecute } from './execute-in.ts'
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
  /** As the client sent them; integers beyond 2^53 are bigints. */
  readonly data: unknown
  readonly filters: unknown
  /** `data` of the response. */
  readonly result: Counts[V] & { readonly rows?: ReadonlyArray<Readonly<Record<string, unknown>>>, readonly dryRun?: true }
  /** 1, or more where the transaction runs again after a deadlock. */
  readonly attempt: number
  readonly dryRun: boolean
  /** Runs requests in the same transaction. They do not call the hook. */
  readonly tx: { readonly execute: TransactionExecute }
}

/** A write that has run and is not committed. Its verb says which counts the result has. */
export type WriteEvent = { [V in keyof Counts]: WriteOf<V> }[keyof Counts]

/** Whatever it throws refuses the write: a ServiceError as it is, anything else as WRITE_REFUSED. */
export type OnWrite = (write: WriteEvent) => unknown

/** Converts the function of a host app. */
export function createWriteHook (onWrite: OnWrite, limits: PlanLimits): WriteHook {
  return async ({ tx, grant, database, plan, body, answer, dryRun }) => {
    let moved: SchemaMoved | undefined
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
        tx: { execute: createTransactionExecute({ tx, database, limits, dryRun, isHooked: false, onMoved: () => { moved = new SchemaMoved('hook', true) } }) }
      } as WriteEvent)
    } catch (error) {
      if (moved !== undefined || isServiceError(error)) throw moved ?? error
      throw withReason(writeRefused(), error instanceof Error ? error.name : typeof error)
    }
  }
}

/** A copy without numbers as text and references. */
function plainValue (value: unknown): unknown {
  if (value instanceof ResultReference) return plainValue(value.value)
  if (typeof value !== 'object' || value === null) return value
  if (JSON.isRawJSON(value)) return /^-?\d+$/.test(value.rawJSON) && !Number.isSafeInteger(Number(value.rawJSON)) ? BigInt(value.rawJSON) : Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(plainValue)
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainValue(each)]))
}
