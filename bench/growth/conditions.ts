/** Measures this service alone under several conditions, in turns. */
import { measureInTurns, type Effort, type Entry } from '../measure/rounds.ts'
import { toRow } from '../measure/summary.ts'
import { figures, FIGURES } from '../report/figures.ts'
import type { GrowthResult } from '../report/results.ts'

interface Conditions {
  readonly title: string
  /** What distinguishes the conditions. */
  readonly what: string
  readonly entries: readonly Entry[]
}

export async function measureConditions ({ title, what, entries }: Conditions, effort: Effort): Promise<GrowthResult> {
  const measured = await measureInTurns(entries, effort)
  return {
    title,
    columns: [what, ...FIGURES],
    rows: measured.map((each) => [each.name, ...figures(toRow(each, undefined))])
  }
}
