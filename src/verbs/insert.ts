import type { InsertBody } from '../../schemas/body.ts'
import { type Column, type TableSource, traitsOf, type Table } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import { at, notNullViolation, pointer, unsupported } from '../errors.ts'
import { withCheck } from '../execute/after-write.ts'
import { bindMoments, runInsert } from '../execute/execute-insert.ts'
import { lookUpNumber } from '../execute/inserted-id.ts'
import { areTaken, givenKeys, keyChanged, readRows, type Runner } from '../execute/runner.ts'
import { findDefaulted, refuseNulls } from '../plan/assignments.ts'
import { knownKey, withInsertKey, sortByKey } from '../plan/insert-key.ts'
import { planInsert, planReadRows, type ReadRows, type Terms } from '../plan/inserted-rows.ts'
import { planReturnedMembers } from '../plan/members.ts'
import type { InsertPlan, PlannedRow, Returned, UpsertPlan } from '../plan/plan.ts'
import { restrictInsert } from '../plan/row-rules.ts'
import type { PlanLimits } from '../plan/limits.ts'
import { decisionsOf, factsOf, findDecisions, NO_DECISIONS } from '../plan/writes.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import { finishWrite, numberOf, type Result, type RowCounts } from '../response/result.ts'
import { compileNumber } from '../sql/statement-cache.ts'
import type { RowBatch } from '../sql/compile-insert.ts'
import { type Value, isMoment } from '../types/column-type.ts'
import { withReturnedMembers } from './include.ts'
import { counting } from '../plan/filters/scope.ts'
import { givenValue } from '../plan/holes.ts'

export const insert = {
  counts: 'changed' as const,

  plan (body: InsertBody, source: TableSource, limits: PlanLimits): InsertPlan {
    const planned = planInsert(body, source.table, limits.standIns)
    const members = body.include && planReturnedMembers(body.include, { source, limits: counting(limits) })
    return complete(members === undefined
      ? planned
      : { ...planned, returning: { ...planned.returning as Returned, members } })
  },

  /** Plans an insert of rows that have been read, of which it returns none. */
  planReadRows: (rows: ReadRows, terms: Terms, { table }: TableSource): InsertPlan =>
    complete(planReadRows(rows, terms, table)),

  async run (
    runner: Runner,
    planned: InsertPlan,
    { sink }: { readonly sink: ResponseSink | undefined }
  ): Promise<Result> {
    const plan = await bindMoments(planned, runner)
    const running =
      sink === undefined ? runInsert({ plan, runner }) : insertReturning(plan as ReturningPlan, runner, sink)
    const checked = plan.afterWrite === undefined ? running : withCheck(runner, plan, running)
    return await (plan.returning?.members === undefined ? checked : withReturnedMembers(runner, sink, checked))
  },

  respond: (plan: InsertPlan, result: Result, sink: ResponseSink | undefined): string | Buffer =>
    finishWrite(plan, insertedText(plan, result), sink)
}

/** Adds what the rules of the grant require, and refuses what the database would not. */
function complete (planned: InsertPlan): InsertPlan {
  const { granted } = planned.table
  const restricted = granted === undefined ? planned : restrictInsert(planned, granted)
  refuseNullsInRows(restricted)
  refuseOnlyDefaults(restricted)
  const { rows, isList, conflict, afterWrite } = restricted
  // one plain row needs no decision
  const isPlain = !isList && conflict === undefined && afterWrite === undefined
  const decisions = isPlain ? NO_DECISIONS : findDecisions(restricted)
  const isSorted = conflict !== undefined &&
    decisionsOf({ decisions }, rows).every(({ whyInOrder }) => whyInOrder === undefined)
  const plan = Object.freeze({
    ...restricted,
    decisions,
    rows: isSorted ? sortByKey(rows, conflict.key) : rows,
    ...(isIdMoment(restricted) && { inTransaction: true as const })
  })
  return plan.returning === undefined ? plan : withInsertKey(plan)
}

/** A moment is written to the id. */
function isIdMoment ({ table: { identity }, rows, conflict }: InsertPlan): boolean {
  if (identity?.type.moment === undefined) return false
  const changed = conflict?.set.kind === 'assignments' ? conflict.set.assignments : []
  return (
    changed.some(({ column, parameter }) => column === identity && isMoment(parameter)) ||
    rows.some((row) => isMoment(givenValue(row, identity)))
  )
}

/** @throws NOT_SUPPORTED if a row gives no values, and only the database knows the defaults of all columns */
function refuseOnlyDefaults ({ table, rows, conflict, isList }: InsertPlan): void {
  if (conflict === undefined || traitsOf(table).hasDefault) return
  const row = rows.find(({ columns }) => columns.length === 0)
  if (row === undefined || findDefaulted(table) !== undefined) return
  throw unsupported(
    isList ? pointer('data', row.index) : '/data',
    `the database computes the defaults of all columns of table "${table.name}": send a value`
  )
}

function refuseNullsInRows ({ isList, rows, conflict }: InsertPlan): void {
  for (const { index, columns, parameters } of rows) {
    for (let place = 0; place < parameters.length; place++) {
      const { nullable, name } = columns[place] as Column
      if (parameters[place] !== null || nullable) continue
      throw at([...(isList ? ['data', index] : ['data']), name], notNullViolation())
    }
  }
  if (conflict?.set.kind === 'assignments') refuseNulls(conflict.set.assignments, ['onConflict', 'set'])
}

function insertedText ({ conflict }: InsertPlan, { changed, counts, id, outcomes }: Result): string {
  if (conflict === undefined) return `"inserted":${changed},"id":${id}`
  const { inserted, updated, unchanged } = counts as RowCounts
  const text = `"inserted":${inserted},"updated":${updated},"unchanged":${unchanged},"id":${id}`
  return outcomes === undefined ? text : `${text},"outcomes":${JSON.stringify(outcomes)}`
}

type ReturningPlan = InsertPlan & { readonly returning: Returned, readonly key: readonly Column[] }

/** @throws NOT_SUPPORTED if a trigger has changed the key of a row */
async function insertReturning (plan: ReturningPlan, runner: Runner, sink: ResponseSink): Promise<Result> {
  const { table, rows, conflict, returning, key, isFoundByNumber = false } = plan
  const numberColumn = key.find(({ autoIncrement }) => autoIncrement)
  const wasTaken =
    conflict === undefined &&
    factsOf(table).fillsNew &&
    (await areTaken(runner, { table, key, keys: givenKeys(key, rows) }))
  /** The database gave them. */
  const numbers = new Map<PlannedRow, Value>()
  const untouched = new Set<PlannedRow>()
  const onBatch = async (batch: RowBatch, counts: RowCounts): Promise<void> => {
    const { rows } = batch
    const { inserted, updated, insertId, untouched: indexes = [] } = counts
    for (const index of batch.conflict === undefined && inserted === 0 ? rows.keys() : indexes) {
      untouched.add(rows[index] as PlannedRow)
    }
    const [row] = rows as [PlannedRow]
    if (numberColumn === undefined || knownKey(plan, row, numberColumn) !== null) return
    const read = isFoundByNumber ? await lookUpNumber({ ...plan as UpsertPlan, rows }, counts, runner) : undefined
    if (read === 'null' && updated > 0) throw keyChanged('/returning')
    const first = read ?? insertId
    if (first === undefined || first === 'null') return
    const step = rows.length > 1 ? await readStep(runner, table) : 1n
    for (const [offset, row] of rows.entries()) {
      numbers.set(row, numberOf(numberColumn, offset === 0 ? first : String(BigInt(first) + BigInt(offset) * step)))
    }
  }
  const result = await runInsert({ plan, runner, onBatch })
  if (wasTaken && result.changed > 0) throw keyChanged('/returning')
  const inOrder: PlannedRow[] = []
  for (const row of rows) inOrder[row.index] = row
  const written = inOrder
    .filter((row) => !untouched.has(row) || (conflict !== undefined && (!isFoundByNumber || numbers.has(row))))
  const keys = written.map((row) => key.map((column) => {
    const value = knownKey(plan, row, column) ?? numbers.get(row)
    if (value === undefined) throw keyChanged('/returning')
    return value
  }))
  await readRows(runner, sink, {
    table,
    ...returning,
    key,
    keys,
    optional: untouched.size === 0
      ? undefined
      : new Set(written.flatMap((row, index) => (untouched.has(row) ? [index] : [])))
  })
  return { ...result, rows: sink.count }
}

/** Between numbers of rows in a session: not 1 in clusters with several writable servers. */
async function readStep (runner: Runner, table: Table): Promise<bigint> {
  return TRAITS[runner.engine].numbersInSteps ? BigInt(await runner.number(compileNumber('step', table))) : 1n
}
