import { DATABASE } from '../contenders/contenders.ts'
import type { Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import type { Effort } from '../measure/rounds.ts'
import type { GrowthResult } from '../report/results.ts'
import { byKey, TABLE_SIZE } from '../workloads.ts'
import { measureConditions } from './conditions.ts'

/** The number of concurrent clients; the pool always has ten connections. */
export function growConnections (stage: Stage, counts: readonly number[], effort: Effort): Promise<GrowthResult> {
  const entries = counts.map((connections) => ({ name: String(connections), contender: serviceContender(DATABASE), stage, workload: byKey(TABLE_SIZE), connections }))
  return measureConditions({ title: 'Clients at the same time (row by key)', what: 'clients', entries }, effort)
}
