import type { Condition } from '../plan.ts'

/** Joins conditions and folds constants. An empty list is true for `and` and false for `or`. */
export function combine (kind: 'and' | 'or', conditions: Condition[]): Condition {
  const neutral = kind === 'and'
  const open = conditions.filter((condition) => condition.kind !== 'constant' || condition.value !== neutral)
  const decided = open.find((condition) => condition.kind === 'constant')
  if (decided !== undefined) return decided
  if (open.length === 0) return { kind: 'constant', value: neutral }
  return open.length === 1 ? open[0] as Condition : { kind, conditions: open }
}

/** Negates a condition and folds constants. */
export function negate (condition: Condition): Condition {
  return condition.kind === 'constant' ? { kind: 'constant', value: !condition.value } : { kind: 'not', condition }
}
