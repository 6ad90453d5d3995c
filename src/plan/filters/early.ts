import { isVirtual } from '../guard.ts'
import type { Condition } from '../plan.ts'
import { leavesOf } from './scope.ts'

/** Those that a row can satisfy before its virtual columns are read, and the others. All of them must hold. */
export function divide (conditions: readonly Condition[]): readonly [readonly Condition[], readonly Condition[]] {
  const all = conditions.flatMap(partsOf)
  return [all.filter(isEarly), all.filter((each) => !isEarly(each))]
}

const partsOf = (condition: Condition): readonly Condition[] =>
  condition.kind === 'and' ? condition.conditions.flatMap(partsOf) : [condition]

const isEarly = (condition: Condition): boolean => leavesOf(condition).every((leaf) => {
  switch (leaf.kind) {
    case 'constant': return true
    case 'exists': return false
    case 'match': return !leaf.columns.some(isVirtual)
    case 'columns': return !isVirtual(leaf.column) && !isVirtual(leaf.other)
    default: return !isVirtual(leaf.column)
  }
})
