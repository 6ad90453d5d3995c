import type { Table } from '../../catalog/catalog.ts'
import type { Condition } from '../plan.ts'

/** How large the filters of one body may be. */
export interface FilterLimits {
  /** Levels of `$and`, `$or` and `$not`. */
  readonly depth: number
  /** Conditions on columns. */
  readonly conditions: number
  /** Values in all lists together. */
  readonly values: number
  /** Characters (code points) of one pattern. */
  readonly pattern: number
}

/** What planning one body's filters has used up of its limits. */
export interface FilterScope {
  readonly table: Table
  readonly limits: FilterLimits
  conditions: number
  values: number
}

/** One condition of several, constants folded away; none are true for "all of" and false for "one of". */
export function combine (kind: 'and' | 'or', conditions: Condition[]): Condition {
  const neutral = kind === 'and'
  const open = conditions.filter((condition) => condition.kind !== 'constant' || condition.value !== neutral)
  const decided = open.find((condition) => condition.kind === 'constant')
  if (decided !== undefined) return decided
  if (open.length === 0) return { kind: 'constant', value: neutral }
  return open.length === 1 ? open[0] as Condition : { kind, conditions: open }
}

export function negate (condition: Condition): Condition {
  return condition.kind === 'constant' ? { kind: 'constant', value: !condition.value } : { kind: 'not', condition }
}
