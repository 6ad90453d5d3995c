/**
 * Whether a condition is true for every row, whatever is in the table: such filters on an update or delete are no filters.
 *
 * Found by reasoning and not by looking at the text: what a row may hold falls into a few kinds of value that the condition
 * can tell apart - no value, each value that it names, and those between them - and the condition is tried on every
 * combination. One that it does not match (SQL's NULL counts as that) settles the question, mostly the first.
 */
import type { Column } from '../catalog/catalog.ts'
import type { Condition } from './plan.ts'
import { kindsOf, valuesOf, type Kind, type Leaf } from './kinds.ts'

/** Comparisons made at most. Filters that need more to be told apart are taken for real ones. */
const MAX_WORK = 100_000

type Truth = boolean | null

export function matchesEveryRow (condition: Condition): boolean {
  if (namesOneValue(condition)) return false
  const leaves = leavesOf(condition)
  const columns = Array.from(Map.groupBy(leaves, (leaf) => leaf.column), ([column, leaves]) => ({ column, kinds: kindsOf(column, leaves) }))
  const row = new Map<Column, Kind>()
  const cost = 1 + leaves.reduce((sum, leaf) => sum + 1 + valuesOf(leaf).length, 0)
  let work = 0

  /** Tries every kind of value in the column at `index` and those after it; false as soon as a row is not matched. */
  const holdsFrom = (index: number): boolean => {
    const entry = columns[index]
    if (entry === undefined) return (work += cost) <= MAX_WORK && evaluate(condition, row) === true
    return entry.kinds.every((kind) => {
      row.set(entry.column, kind)
      return holdsFrom(index + 1)
    })
  }
  return holdsFrom(0)
}

/** The usual filter, by one value of a column, needs no further thought: no type has but one value. */
function namesOneValue (condition: Condition): boolean {
  return condition.kind === 'and' ? condition.conditions.some(namesOneValue) : condition.kind === 'compare' && condition.operator === '='
}

function leavesOf (condition: Condition): Leaf[] {
  switch (condition.kind) {
    case 'constant': return []
    case 'not': return leavesOf(condition.condition)
    case 'and':
    case 'or': return condition.conditions.flatMap(leavesOf)
    default: return [condition]
  }
}

/** SQL's logic of three values. */
function evaluate (condition: Condition, row: ReadonlyMap<Column, Kind>): Truth {
  switch (condition.kind) {
    case 'constant': return condition.value
    case 'not': return negate(evaluate(condition.condition, row))
    case 'and': return decide(condition.conditions, row, false)
    case 'or': return decide(condition.conditions, row, true)
    default: return (row.get(condition.column) as Kind)(condition)
  }
}

function negate (truth: Truth): Truth {
  return truth === null ? null : !truth
}

/** One part that is `deciding` decides (true for OR, false for AND); else one that is unknown leaves it unknown. */
function decide (conditions: readonly Condition[], row: ReadonlyMap<Column, Kind>, deciding: boolean): Truth {
  let unknown = false
  for (const condition of conditions) {
    const truth = evaluate(condition, row)
    if (truth === deciding) return deciding
    if (truth === null) unknown = true
  }
  return unknown ? null : !deciding
}
