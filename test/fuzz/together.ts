/** Sends bodies concurrently: the history of a row is then unknown, but the totals must be correct. */
import type { Service } from '../support/service.ts'
import { Counterexample } from './campaign.ts'
import { contractFaults } from './contract.ts'
import { Mismatch, rowsOf, type Rows } from './effects.ts'
import { read } from './json.ts'
import { predict, type Row } from './model.ts'
import type { Sent } from './mutations.ts'
import { describe, parsed, type Step } from './scenario.ts'
import type { FuzzTable } from './tables.ts'

/** Errors of conflicting statements, which change nothing. */
const IN_EACH_OTHERS_WAY = ['DEADLOCK', 'LOCK_TIMEOUT']

/** Sends each batch concurrently and waits for its responses. @throws Counterexample */
export async function runTogether (
  { post }: Service, table: FuzzTable, batches: ReadonlyArray<readonly Sent[]>
): Promise<void> {
  await table.reset()
  const dump = async (): Promise<Rows> => rowsOf((await post(table.name, '{"verb":"select","limit":1000}')).text)
  const done: Step[] = []
  let before = await dump()
  try {
    for (const batch of batches) {
      const steps = await Promise.all(batch.map(async (sent): Promise<Step> => ({
        sent, answer: await post(table.name, sent.payload, { headers: sent.headers })
      })))
      done.push(...steps)
      const after = await dump()
      checkSums(steps.map((step) => checkAnswer(step, table)), before, after)
      before = after
    }
  } catch (error) {
    throw error instanceof Mismatch ? new Counterexample(describe(table, error, done)) : error
  }
}

/** Rows that a response reports as inserted, updated and deleted. */
interface Sums { readonly inserted: number, readonly updated: number, readonly deleted: number }

/** @throws Mismatch */
function checkAnswer ({ sent, answer }: Step, table: FuzzTable): Sums {
  const body = parsed(sent)
  const [fault] = contractFaults(answer, body?.verb, IN_EACH_OTHERS_WAY)
  if (fault !== undefined) throw new Mismatch(fault)
  const { rows = [], inserted = 0, updated = 0, deleted = 0, dryRun } = answer.json.data
  if (dryRun === true) return { inserted: 0, updated: 0, deleted: 0 }
  // rows that a write returns may not match the filters any more
  if (body?.verb === 'select' && rows.length > 0 && body.columns === undefined && body.groupBy === undefined &&
    body.aggregates === undefined) {
    const matches = predict(body.filters ?? {}, table)
    const stray = (read(answer.text).data.rows as Row[]).find((row) => matches?.(row) === false)
    if (stray !== undefined) {
      throw new Mismatch(
        `${JSON.stringify(stray)} does not match the filters that it was selected by`
      )
    }
  }
  return { inserted, updated, deleted }
}

/** @throws Mismatch */
function checkSums (sums: readonly Sums[], before: Rows, after: Rows): void {
  const sum = (of: keyof Sums): number => sums.reduce((total, each) => total + each[of], 0)
  const more = after.size - before.size
  if (more !== sum('inserted') - sum('deleted')) {
    throw new Mismatch(
      `${sum('inserted')} rows were inserted, ${sum('deleted')} deleted, and there are ${more} more`
    )
  }
  const changed = [...before].filter(
    ([id, row]) => after.has(id) && JSON.stringify(after.get(id)) !== JSON.stringify(row)
  ).length
  // a row that was deleted may have been inserted again under the same id
  if (changed > sum('updated') +
    sum('inserted')) throw new Mismatch(`${changed} rows changed, ${sum('updated')} were updated`)
}
