/** `filters` of the contract (section 5) as a condition: combinators here, operators in operators.ts. */
import type { Table } from '../catalog/catalog.ts'
import { filtersRequired, invalidBody } from '../errors.ts'
import { at, getColumn, type Path } from './columns.ts'
import { matchesEveryRow } from './every-row.ts'
import { isObject, planColumnFilter } from './operators.ts'
import type { Condition } from './plan.ts'

/** How large the filters of one body may be. */
export interface FilterLimits {
  /** Levels of `$and`, `$or` and `$not`. */
  readonly depth: number
  /** Conditions on columns. */
  readonly conditions: number
  /** Values in all lists together. */
  readonly values: number
}

/** What planning one body's filters has used up of its limits. */
export interface FilterScope {
  readonly table: Table
  readonly limits: FilterLimits
  conditions: number
  values: number
}

type Combine = (value: unknown, scope: FilterScope, path: Path) => Condition

const combinators = new Map<string, Combine>([
  ['$and', (value, scope, path) => combine('and', planList(value, scope, path))],
  ['$or', (value, scope, path) => combine('or', planList(value, scope, path))],
  ['$not', (value, scope, path) => negate(planGroup(value, scope, path))]
])

/** @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY */
export function planFilters (filters: Readonly<Record<string, unknown>>, table: Table, limits: FilterLimits): Condition {
  return planGroup(filters, { table, limits, conditions: 0, values: 0 }, ['filters'])
}

/** The same for update and delete, where filters that match every row are no filters. @throws FILTERS_REQUIRED as well */
export function planSelectiveFilters (verb: string, filters: Readonly<Record<string, unknown>>, table: Table, limits: FilterLimits): Condition {
  const condition = planFilters(filters, table, limits)
  if (matchesEveryRow(condition)) throw at(['filters'], filtersRequired(verb))
  return condition
}

/** An object of filters: all of its entries are required. */
function planGroup (filters: unknown, scope: FilterScope, path: Path): Condition {
  if (!isObject(filters)) throw refuse(path, 'must be an object of filters')
  return combine('and', Object.entries(filters).map(([key, value]) => planEntry(key, value, scope, [...path, key])))
}

function planEntry (key: string, value: unknown, scope: FilterScope, path: Path): Condition {
  const combinator = combinators.get(key)
  if (combinator !== undefined) {
    if (path.filter((step) => combinators.has(String(step))).length > scope.limits.depth) throw refuse(path, `nests deeper than ${scope.limits.depth} levels`)
    return combinator(value, scope, path)
  }
  if (key.startsWith('$') && !scope.table.columns.has(key)) throw refuse(path, `is no operator here; there are ${[...combinators.keys()].join(', ')}`)
  return planColumnFilter(getColumn(scope.table, key, path), value, scope, path)
}

function planList (value: unknown, scope: FilterScope, path: Path): Condition[] {
  if (!Array.isArray(value)) throw refuse(path, 'must be a list of filters')
  return value.map((filters, index) => planGroup(filters, scope, [...path, index]))
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

function negate (condition: Condition): Condition {
  return condition.kind === 'constant' ? { kind: 'constant', value: !condition.value } : { kind: 'not', condition }
}

const refuse = (path: Path, reason: string) => at(path, invalidBody(`"${path.join('.')}" ${reason}`))
