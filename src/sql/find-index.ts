/** Finds the index in whose order a page is read, because MariaDB does not use it for `tenant = ?` with the newest first, and reads all rows of the tenant. */
import { baseTable, type Index } from '../catalog/catalog.ts'
import { partsOf } from '../catalog/catalog.ts'
import type { Condition, Order, SelectPlan } from '../plan/plan.ts'

/** An index, and its order without columns that the filters hold equal, by which MariaDB would sort all rows again. */
export interface OrderedIndex { readonly index: Index, readonly order: readonly Order[] }

/**
 * The index that begins with the columns that the filters hold equal, followed by those of the order, all in the same or all in the opposite direction.
 * Undefined if there is none, or if the filters name other columns, so that another index may find fewer rows.
 */
export function findIndex ({ table, page, condition, order }: SelectPlan): OrderedIndex | undefined {
  if (page?.by !== 'position') return undefined
  const equal = new Set<string>()
  const others = new Set<string>()
  if (!collect(condition, equal, others)) return undefined
  const open = order.filter(({ column }) => !equal.has(column.name))
  for (const name of others) if (!equal.has(name) && name !== open[0]?.column.name) return undefined
  // rules can be on columns that the grant does not see
  const base = baseTable(table)
  const found = base.indexes.find((index) => {
    const parts = index.ordered ? partsOf(index, base) : []
    // an expression can be a list of values (MySQL), for which the index has no entry if it is empty, or several entries
    if (parts.some(({ column }) => column === null)) return false
    if (parts.slice(0, equal.size).some(({ column, prefix }) => prefix || !equal.has(column as string))) return false
    const rest = parts.slice(equal.size)
    const reversed = rest[0]?.descending !== (open[0]?.direction === 'desc')
    return parts.length >= equal.size && open.every(({ column, direction }, place) => {
      const part = rest[place]
      return part?.column === column.name && !part.prefix && (part.descending !== (direction === 'desc')) === reversed
    })
  })
  return found === undefined ? undefined : { index: found, order: open }
}

/** Collects the columns that a condition holds equal, and the others that it names. Returns false if it is more than an AND of single columns. */
function collect (condition: Condition, equal: Set<string>, others: Set<string>): boolean {
  switch (condition.kind) {
    case 'and': return condition.conditions.every((each) => collect(each, equal, others))
    case 'or':
    case 'not': return false
    case 'constant': return condition.value
    // a subquery uses no index of this table
    case 'exists': return true
    default: {
      const { name } = condition.column
      if (isEquality(condition)) equal.add(name)
      else others.add(name)
      return true
    }
  }
}

function isEquality (condition: Condition): boolean {
  return (condition.kind === 'compare' && condition.operator === '=') || condition.kind === 'default' ||
    (condition.kind === 'in' && !condition.negated && condition.parameters.length === 1) || (condition.kind === 'null' && !condition.negated)
}
