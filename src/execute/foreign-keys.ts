/** Checks that the rows to which a write refers satisfy the rules of their table. */
import { refusesRow } from '../dialects/dialect.ts'
import { noReferencedRow } from '../dialects/violations.ts'
import { foreignKeyViolation, type ServiceError } from '../errors.ts'
import type { ForeignKeyCheck, Plan } from '../plan/plan.ts'
import { atRow } from './insert.ts'
import type { Runner } from './runner.ts'

/**
 * Runs after the write, so that its rows may refer to each other, and before COMMIT. Refuses a row that does not satisfy the rules like one
 * that does not exist.
 * @throws FOREIGN_KEY_VIOLATION
 */
export async function checkForeignKeys (runner: Runner, plan: Plan): Promise<void> {
  for (const check of plan.foreignKeyChecks ?? []) await checkForeignKey(runner, plan, check)
}

const AFTER_WRITE = new Set(['PERMISSION_DENIED', 'NOT_SUPPORTED', 'RESULT_TOO_LARGE', 'UNREADABLE_VALUE', 'OVERLOADED'])

/** Whether the service itself has refused a write, whose rows still exist. */
export const isAfterWrite = (error: unknown): boolean => AFTER_WRITE.has((error as ServiceError).code)

/**
 * Checks the foreign keys of a write that was refused for another reason. The database may report a missing row before that reason, and always does before
 * the service checks the written rows, so a row that the grant does not see must have the same answer.
 * @throws FOREIGN_KEY_VIOLATION; `error`, the reason why the write was refused
 */
export async function refuse (runner: Runner, plan: Plan, { error, checks = [] }: { readonly error: unknown, readonly checks: readonly ForeignKeyCheck[] | undefined }): Promise<never> {
  const isUndone = refusesRow(error)
  if (!isUndone && !isAfterWrite(error)) throw error
  try {
    for (const check of checks) await checkForeignKey(runner, plan, check, isUndone)
  } catch (refusal) {
    throw isUndone || (refusal as ServiceError).code === 'FOREIGN_KEY_VIOLATION' ? refusal : error
  }
  throw error
}

/**
 * Removes the key from a violation that only the written values show. SQLite does not report the key, so the service names none if triggers may write
 * others, and a row that the grant does not see must have the same answer. The position in `data` stays.
 */
export function withoutKey (error: unknown): unknown {
  const { code, details } = error as ServiceError
  if (code !== 'FOREIGN_KEY_VIOLATION') return error
  const [, index] = /^\/data\/(\d+)(?:\/|$)/.exec(details[0]?.path ?? '') ?? []
  return atRow(foreignKeyViolation(), index === undefined ? undefined : Number(index))
}

/** `isUndone`: whether the write has failed, so that its own rows do not exist. @throws FOREIGN_KEY_VIOLATION */
export async function checkForeignKey (runner: Runner, plan: Plan, check: ForeignKeyCheck, isUndone = false): Promise<void> {
  const { all, lookups, table, columns } = check
  const lock = 'share'
  if (all !== undefined && await runner.countRead({ table, columns, condition: all, limit: lookups.length, lock }) === lookups.length) return
  for (const { condition, index, isOwn } of lookups) {
    if (isUndone && isOwn) continue
    if (!await runner.exists({ table, columns, condition, lock })) throw atRow(refusalOf(plan, check), index)
  }
}

/** Names the key only if the grant sees its columns. */
const refusalOf = ({ table }: Plan, { key }: ForeignKeyCheck) => noReferencedRow(table.foreignKeys.filter((each) => each === key))
