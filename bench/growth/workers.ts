import { DATABASE } from '../contenders/contenders.ts'
import type { Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import type { Effort } from '../measure/rounds.ts'
import type { GrowthResult } from '../report/results.ts'
import { byKey, TABLE_SIZE } from '../workloads.ts'
import { measureConditions } from './conditions.ts'

/**
 * The number of workers, which share the pool of ten connections. CPU and memory are those of all processes of the service. The database and the
 * load generator need the same cores: on a machine with few of them, the throughput is limited by their sum and not by the service.
 */
export function growWorkers (stage: Stage, counts: readonly number[], effort: Effort): Promise<GrowthResult> {
  const entries = counts.map((workers) => ({
    name: String(workers), contender: serviceContender(DATABASE, { LOG_LEVEL: 'warn', ROW_QUERY_WORKERS: String(workers) }), stage, workload: byKey(TABLE_SIZE)
  }))
  return measureConditions({ title: 'Workers (row by key)', what: 'workers', entries }, effort)
}
