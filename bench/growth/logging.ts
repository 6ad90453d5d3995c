import { DATABASE } from '../contenders/contenders.ts'
import type { Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import type { Effort } from '../measure/rounds.ts'
import type { GrowthResult } from '../report/results.ts'
import { byKey, TABLE_SIZE } from '../workloads.ts'
import { measureConditions } from './conditions.ts'

const SETTINGS: Readonly<Record<string, Record<string, string>>> = {
  'off (LOG_LEVEL=warn)': { LOG_LEVEL: 'warn' },
  'on (as it comes)': {}
}

/** The cost of log lines, which are written to a file. */
export function measureLogging (stage: Stage, effort: Effort): Promise<GrowthResult> {
  const entries = Object.entries(SETTINGS).map(([name, env]) => ({ name, contender: serviceContender(DATABASE, env), stage, workload: byKey(TABLE_SIZE) }))
  return measureConditions({ title: 'Request logging (row by key)', what: 'lines', entries }, effort)
}
