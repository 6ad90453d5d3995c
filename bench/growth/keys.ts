import { DATABASE } from '../contenders/contenders.ts'
import type { Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import type { BenchDatabase } from '../database/start.ts'
import { NUMBER } from '../load/http-client.ts'
import type { Effort } from '../measure/rounds.ts'
import type { GrowthResult } from '../report/results.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { WORKLOADS, type Workload } from '../workloads.ts'
import { measureConditions } from './conditions.ts'

const NAME = 'transaction of 7 rows'
const QUIET = { LOG_LEVEL: 'warn' }

/** The cost of an `Idempotency-Key`: two more statements in the transaction. Every request has a key of its own. */
export async function measureKeys ({ connection }: BenchDatabase, stage: Stage, effort: Effort): Promise<GrowthResult> {
  await connection.query(CREATE.mysql)
  const workload = WORKLOADS.find(({ name }) => name === NAME) as Workload
  const headers = { 'no key': {}, 'an Idempotency-Key': { 'idempotency-key': NUMBER } }
  const entries = Object.entries(headers).map(([name, given]) => ({ name, contender: serviceContender(DATABASE, QUIET, undefined, given), stage, workload }))
  return await measureConditions({ title: `Idempotency-Key (${NAME})`, what: 'with', entries }, effort)
}
