import type { Condition } from './plan.ts'

/** Stands in until below. */
export function matchesEveryRow (condition: Condition): boolean {
  return condition.kind === 'constant' && condition.value
}
