/** `filters` of the contract (section 5) as a condition: combinators here, columns in column-filter.ts. */
import type { Table } from '../../catalog/catalog.ts'
import { filtersRequired, invalidBody } from '../../errors.ts'
import { isObject, planColumnFilter, planOperator } from './column-filter.ts'
import { at, getColumn, type Path } from '../columns.ts'
import { combine, negate, type FilterLimits, type FilterScope } from './scope.ts'
import type { Condition } from '../plan.ts'

type Combine = (value: unknown, scope: FilterScope, path: Path) => Condition

const combinators = new Map<string, Combine>([
  ['$and', (value, scope, path) => combine('and', planList(value, scope, path))],
  ['$or', (value, scope, path) => combine('or', planList(value, scope, path))],
  ['$not', (value, scope, path) => negate(planGroup(value, scope, path))],
  ['$is', planRow]
])

/** @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY */
export function planFilters (filters: Readonly<Record<string, unknown>>, table: Table, limits: FilterLimits): Condition {
  return planGroup(filters, { table, limits, conditions: 0, values: 0 }, ['filters'])
}

/**
 * The same for update and delete, where filters that say nothing are no filters: constants are folded while they are planned,
 * and what is left must not be `true`. There is no reasoning beyond that. @throws FILTERS_REQUIRED as well
 */
export function planSelectiveFilters (verb: string, filters: Readonly<Record<string, unknown>>, table: Table, limits: FilterLimits): Condition {
  const condition = planFilters(filters, table, limits)
  if (condition.kind === 'constant' && condition.value) throw at(['filters'], filtersRequired(verb))
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
  // `$$or` is the column `$or`.
  const name = key.startsWith('$$') ? key.slice(1) : key
  if (name === key && key.startsWith('$') && !scope.table.columns.has(key)) throw refuse(path, `is not an operator here; use one of ${[...combinators.keys()].join(', ')}`)
  return planColumnFilter(getColumn(scope.table, name, path), value, scope, path)
}

function planList (value: unknown, scope: FilterScope, path: Path): Condition[] {
  if (!Array.isArray(value)) throw refuse(path, 'must be a list of filters')
  return value.map((filters, index) => planGroup(filters, scope, [...path, index]))
}

/** `{"$is": row}`: every column of a row as a select shows it. Keys are names and values are values, whatever they begin with. */
function planRow (row: unknown, scope: FilterScope, path: Path): Condition {
  if (!isObject(row)) throw refuse(path, 'must be an object of columns and values')
  return combine('and', Object.entries(row).map(([name, value]) => {
    const place = [...path, name]
    return planOperator('$is', { column: getColumn(scope.table, name, place), value, scope, path: place })
  }))
}

const refuse = (path: Path, reason: string) => at(path, invalidBody(`"${path.join('.')}" ${reason}`))
