/** Runs an update or delete: by one statement, or by several that lock, count, check or return its rows. */
import { MAX_LIMIT } from '../../schemas/limits.ts'
import { type Column, mayCascade } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import type { StatementResult } from '../dialects/dialect.ts'
import {
  deadlock, outcomeUnknown, resultTooLarge, type ServiceError, unsupported, withDetails, withReason
} from '../errors.ts'
import { combine, existsIn } from '../plan/filters/scope.ts'
import { isolationOf, findUnexpected } from '../plan/write-options.ts'
import type { DeletePlan, Returned, UpdatePlan } from '../plan/plan.ts'
import { findSearchKey, keyAfter } from '../plan/row-keys.ts'
import { writesHidden } from '../plan/rule.ts'
import { factsOf } from '../plan/writes.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import type { Result } from '../response/result.ts'
import type { Value } from '../types/column-type.ts'
import { checkForeignKeys, isCheckedAfterWrite, requireRows } from './after-write.ts'
import { areTaken, hasKey, inSteps, keyChanged, mayMoveKey, readRows, type Lookup, type Runner } from './runner.ts'

// A delete may leave rows that it has selected: the response must not show them as deleted.

/**
 * Called before a delete of `count` locked rows. Returns a function that counts the remaining rows: a BEFORE DELETE
 * trigger of SQLite may keep a row, and MySQL does not delete a row that no longer matches because a foreign key of the
 * table has set a column to NULL.
 * @throws NOT_SUPPORTED if they cannot be found by a key
 */
async function watchDelete (
  runner: Runner,
  { table, condition }: DeletePlan,
  count: number
): Promise<() => Promise<number>> {
  const mayKeep = TRAITS[runner.engine].triggersSkipRows
    ? factsOf(table).keepsDeleted
    : count > 1 && mayCascade(table)
  if (!mayKeep) return async () => 0
  const key = findSearchKey(table)
  if (key === undefined) {
    return async () => {
      throw rowsRemain()
    }
  }
  const keys = await runner.keys({ table, columns: key, condition, limit: count, lock: 'update' })
  return async () => {
    let remaining = 0
    for (const condition of inSteps(key, keys)) remaining += Number(await runner.count(table, condition))
    return remaining
  }
}

const deletesOthers = (what: string): ServiceError =>
  unsupported('/returning', `${what}: leave out "returning", or delete them one by one`)
const rowsRemain = (): ServiceError => deletesOthers('a trigger or a foreign key has kept some of the rows')

/** `sink`: for `returning`. @throws EXPECTATION_FAILED, RESULT_TOO_LARGE and others, which must undo the transaction */
export function runChange (
  runner: Runner,
  plan: UpdatePlan | DeletePlan,
  { sink, readLists }: {
    readonly sink: ResponseSink | undefined
    readonly readLists?: (sink: ResponseSink) => Promise<unknown>
  }
): Promise<StatementResult> {
  if (plan.verb === 'update' && plan.key !== undefined) {
    return updateByKey(runner, plan, sink)
  }
  if (plan.verb === 'delete' && sink !== undefined) return deleteReturning(runner, plan, sink, readLists)
  return plan.expect === undefined && plan.maximum === undefined ? runner.run(plan) : runCounted(runner, plan)
}

/**
 * With LIMIT the statement stops at the first excess row, and reports how many rows it has matched. The rows are
 * counted before the statement on SQLite, which has neither, in tables without transactions, which would keep the
 * changes, and for a delete that cascades, which does not count all its rows: on MySQL and MariaDB it also takes those
 * that match its filters only once a foreign key of the table has set a column to NULL.
 */
async function runCounted (runner: Runner, plan: UpdatePlan | DeletePlan): Promise<StatementResult> {
  const most = mostRows(plan)
  const cascades = plan.verb === 'delete' && mayCascade(plan.table)
  if (!TRAITS[runner.engine].limitsChanges || !factsOf(plan.table).hasTransactions || cascades) {
    const { table, condition, expect } = plan
    requireCount(
      plan,
      Number(
        await runner.count(
          table,
          condition,
          most === Infinity ? expect?.least : most + 1,
          cascades ? 'update' : undefined
        )
      )
    )
    const outcome = await runner.run(cascades ? withLimit(runner, plan) : plan)
    if (cascades && outcome.changed > most) requireCount(plan, outcome.changed)
    if (!cascades && outcome.matched !== undefined && findRefusal(plan, outcome.matched) !== undefined) {
      throw changedMeanwhile(plan)
    }
    return outcome
  }
  const outcome = await runner.run(withLimit(runner, plan))
  const matched = outcome.matched ?? outcome.changed
  const refusal = findRefusal(plan, matched)
  // the statement refuses a missing row that it refers to before it counts rows, so a row that the grant does not see
  // must have the same response
  if (refusal !== undefined && matched > 0) await checkForeignKeys(runner, plan)
  if (refusal !== undefined) throw refusal
  return outcome
}

/** The statement stops at the first row too many. */
function withLimit<P extends UpdatePlan | DeletePlan> ({ engine }: Runner, plan: P): P {
  const most = mostRows(plan)
  return most === Infinity || !TRAITS[engine].limitsChanges ? plan : { ...plan, limit: most + 1 }
}

/** Locks the rows and keeps their keys, by which it finds them again to check and to return them. */
async function updateByKey (
  runner: Runner,
  plan: UpdatePlan,
  sink: ResponseSink | undefined
): Promise<StatementResult> {
  const { table, assignments, returning } = plan
  const key = plan.key as readonly Column[]
  const found = await runner.keys(lockingLookup(plan, key))
  requireCount(plan, found.length)
  if (found.length === 0) return { rows: 0, changed: 0 }
  const keys = found.map((values) => keyAfter(key, values, assignments))
  const mustFind = sink !== undefined || isCheckedAfterWrite(plan)
  const areNew = mustFind && mayMoveKey(plan, key)
  const wasTaken = areNew && await areTaken(runner, { table, key, keys, ownKeys: found })
  // once a row is changed, what its children become by cascades may no longer satisfy filters by related rows
  const isLocked = factsOf(table).hasTransactions && existsIn(plan.condition).length > 0
  const write = (runner: Runner): Promise<StatementResult> => isLocked
    ? runFound(runner, { ...plan, condition: combine('and', []) }, found)
    : isolationOf(plan) === 'readCommitted' ? runFound(runner, plan, found) : runner.run(plan)
  const outcome = await runner.writeAndCheck(write, async ({ matched }) => {
    if (matched !== undefined && matched !== found.length) throw changedMeanwhile(plan)
    if (wasTaken) throw keyChanged(sink === undefined ? '' : '/returning')
    if (isCheckedAfterWrite(plan)) {
      await requireRows(runner, plan, keys.map((values) => hasKey(key, values)), { areNew })
    }
  })
  if (sink !== undefined) await readRows(runner, sink, { table, ...returning as Returned, key, keys })
  return { ...outcome, rows: sink?.count ?? 0, matched: found.length }
}

/** The rows with these keys are locked: at READ COMMITTED, others may match the filters by now. */
async function runFound (
  runner: Runner,
  plan: UpdatePlan,
  keys: ReadonlyArray<readonly Value[]>
): Promise<StatementResult> {
  let total: StatementResult = { rows: 0, changed: 0 }
  for (const ofKeys of inSteps(plan.key as readonly Column[], keys)) {
    const condition = combine('and', [ofKeys, plan.condition])
    const { changed, matched } = await runner.run({ ...plan, condition })
    total = {
      rows: 0,
      changed: total.changed + changed,
      ...matched !== undefined && { matched: (total.matched ?? 0) + matched }
    }
  }
  return total
}

/**
 * Reads, locks and deletes the rows. The delete may count fewer, because foreign keys of the table to itself also
 * delete rows.
 */
async function deleteReturning (
  runner: Runner,
  plan: DeletePlan,
  sink: ResponseSink,
  readLists: ((sink: ResponseSink) => Promise<unknown>) | undefined
): Promise<StatementResult> {
  const { columns: returning, members } = plan.returning as Returned
  const lookup = lockingLookup(plan, returning)
  // rows of other tables are locked shared, and by another statement
  if (members !== undefined) await runner.count(plan.table, plan.condition, lookup.limit, 'update')
  await runner.select(members === undefined ? lookup : { ...lookup, members, lock: 'share' }, sink)
  requireCount(plan, sink.count)
  if (sink.count === 0) return { rows: 0, changed: 0 }
  if (members !== undefined) await readLists?.(sink)
  const countRemaining = await watchDelete(runner, plan, sink.count)
  const { changed } = await runner.run(plan)
  if (changed > sink.count && mayCascade(plan.table)) {
    throw deletesOthers('a foreign key of the table has changed rows so that the filters match them')
  }
  if (changed > sink.count) throw changedMeanwhile(plan)
  const remaining = changed === sink.count ? 0 : await countRemaining()
  if (remaining === sink.count) sink.begin(returning)
  else if (remaining > 0) throw rowsRemain()
  return { rows: sink.count, changed }
}

function lockingLookup (plan: UpdatePlan | DeletePlan, columns: readonly Column[]): Lookup {
  const { table, condition } = plan
  return { table, columns, condition, limit: Math.min(mostRows(plan) + 1, Number.MAX_SAFE_INTEGER), lock: 'update' }
}

function mostRows (plan: UpdatePlan | DeletePlan): number {
  return Math.max(-1, Math.min(plan.expect?.most ?? Infinity, ceilingOf(plan)))
}

const ceilingOf = ({ maximum = Infinity, returning, afterWrite }: UpdatePlan | DeletePlan): number =>
  Math.min(maximum, returning === undefined && afterWrite === undefined ? Infinity : MAX_LIMIT)

/** `matched`: at most one more than `mostRows`. */
function findRefusal (plan: UpdatePlan | DeletePlan, matched: number): ServiceError | undefined {
  const { expect } = plan
  const ceiling = ceilingOf(plan)
  if (matched > ceiling && (expect === undefined || expect.most > ceiling)) {
    const most =
      ceiling === plan.maximum
        ? 'an update or delete may change'
        : plan.returning === undefined ? 'can be checked after the write' : '"returning" allows'
    return resultTooLarge(`the filters match more than ${ceiling} rows, which is the most that ${most}`)
  }
  return expect === undefined ? undefined : findUnexpected(expect, matched, plan.table.name)
}

export function requireCount (plan: UpdatePlan | DeletePlan, matched: number): void {
  const refusal = findRefusal(plan, matched)
  if (refusal !== undefined) throw refusal
}

/**
 * Another client has changed rows between two statements, which is possible only in tables without transactions or gap
 * locks.
 */
function changedMeanwhile ({ table }: UpdatePlan | DeletePlan): ServiceError {
  if (factsOf(table).hasTransactions) return withReason(deadlock(), 'ROWS_CHANGED')
  return withDetails(outcomeUnknown(), {
    path: '',
    message: `the engine of table "${table.name}" has no transactions, and rows were changed by others meanwhile`
  })
}

/**
 * All matched rows if the number of changed ones would reveal a column that the grant does not see. SQLite already
 * counts them so.
 */
export function countUpdated ({ table, assignments }: UpdatePlan, result: Result): number {
  const hides = table.granted !== undefined && writesHidden(table, assignments.map(({ column }) => column))
  return hides ? result.matched ?? result.changed : result.changed
}
