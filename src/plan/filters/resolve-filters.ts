/** Plans `filters`: combinators in this file, the filter of one column in operators.ts. */
import type { Related } from '../../../schemas/body.ts'
import { type CombinatorName, COMBINATORS } from '../../../schemas/filters.ts'
import type { TableSource } from '../../catalog/catalog.ts'
import { at, filtersRequired, invalidBody, type Path } from '../../errors.ts'
import { getColumn } from '../columns.ts'
import type { Condition } from '../plan.ts'
import { findMemberIndex, planRelation } from '../relation.ts'
import { withinRules } from '../rule.ts'
import type { PlanLimits } from '../terms.ts'
import { isFields, planColumnFilter, planOperator } from './operators.ts'
import {
  combine, negate, countCondition, countTable, createRowScope, type FilterScope, type Relating
} from './scope.ts'

// Plans `$some` and `$none`: whether a row of another table is related to the row and passes filters of its own.

interface MembersToPlan {
  /** The members by name, whose form has been checked (src/request/check-related.ts). */
  readonly members: unknown
  readonly negated: boolean
  readonly scope: FilterScope
  readonly path: Path
  /** Plans the filters of a member. */
  readonly planFilters: (filters: unknown, scope: FilterScope, path: Path) => Condition
}

/** A row must satisfy all members. @throws INVALID_BODY, COLUMN_NOT_FOUND, INVALID_VALUE; TABLE_NOT_FOUND */
function planRelated ({ members, scope, path, ...how }: MembersToPlan): Condition {
  const { relating } = scope
  if (relating === undefined) {
    throw at(path, invalidBody(`"${path.join('.')}" is not allowed here: "$some" and "$none" select rows`))
  }
  const { level, levels } = relating
  if (level > levels) {
    throw at(
      path,
      invalidBody(
        levels === 0
          ? `"${path.at(-1)}" is not allowed: the setting limits.include.levels is 0`
          : `"$some", "$none" and "include" can have at most ${levels} levels together`
      )
    )
  }
  return combine(
    'and',
    Object.entries(members as Readonly<Record<string, Related>>).map(([name, member]) =>
      planMember(name, member, { ...how, scope, relating, path: [...path, name] })
    )
  )
}

function planMember (
  name: string,
  member: Related,
  { negated, scope, relating, path, planFilters }: Omit<MembersToPlan, 'members'> & { readonly relating: Relating }
): Condition {
  countCondition(scope, path)
  const { filters = {} } = member
  const { other, on, held } = planRelation(name, member, { ...relating, path })
  const place = member.table === undefined ? path : [...path, 'table']
  if (countTable(scope, other.name, { path: place, by: negated ? '$none' : '$some' })) {
    throw at(path, invalidBody('"$some" and "$none" of a request can name at most 10 different tables'))
  }
  const inner = planFilters(
    filters,
    { ...scope, table: other, relating: { ...relating, table: other, level: relating.level + 1 } },
    [...path, 'filters']
  )
  if (inner.kind === 'constant' && !inner.value) return { kind: 'constant', value: negated }
  // rules of a grant are not filters, so they are not folded
  return {
    kind: 'exists',
    negated,
    table: other,
    on,
    condition: withinRules(other, inner),
    index: findMemberIndex(other, on, held.all, [])?.index
  }
}

type Combinator = (value: unknown, scope: FilterScope, path: Path) => Condition

const planners: Readonly<Record<CombinatorName, Combinator>> = {
  $and: (value, scope, path) => combine('and', planList(value, scope, path)),
  $or: (value, scope, path) => combine('or', planList(value, scope, path)),
  $not: (value, scope, path) => negate(planGroup(value, scope, path)),
  $is: planRow,
  $some: (members, scope, path) => planRelated({ members, negated: false, scope, path, planFilters: planGroup }),
  $none: (members, scope, path) => planRelated({ members, negated: true, scope, path, planFilters: planGroup })
}

const combinators = new Map<string, Combinator>(
  Object.keys(COMBINATORS).map((name) => [name, planners[name as CombinatorName]])
)

/** Plans the filters of a select. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY; TABLE_NOT_FOUND */
export function planFilters (
  filters: Readonly<Record<string, unknown>>,
  source: TableSource,
  limits: PlanLimits
): Condition {
  return planGroup(filters, createRowScope({ source, limits, level: 1 }), ['filters'])
}

/**
 * Plans the filters of an update or delete. Constants are folded; if the result is the constant `true`, the filters
 * select every row and are rejected. No further analysis is done. @throws FILTERS_REQUIRED, COLUMN_NOT_FOUND,
 * INVALID_VALUE, INVALID_BODY
 */
export function planRequiredFilters (
  verb: string,
  filters: Readonly<Record<string, unknown>>,
  source: TableSource,
  limits: PlanLimits
): Condition {
  const condition = planFilters(filters, source, limits)
  if (condition.kind === 'constant' && condition.value) throw at(['filters'], filtersRequired(verb))
  return condition
}

/**
 * Plans an object of filters; a row must match all of its entries. @throws COLUMN_NOT_FOUND, INVALID_VALUE,
 * INVALID_BODY
 */
export function planGroup (filters: unknown, scope: FilterScope, path: Path): Condition {
  if (!isFields(filters)) throw refuse(path, 'must be an object of filters')
  return combine('and', Object.entries(filters).map(([key, value]) => planEntry(key, value, scope, [...path, key])))
}

function planEntry (key: string, value: unknown, scope: FilterScope, path: Path): Condition {
  const combinator = combinators.get(key)
  if (combinator !== undefined) {
    if (path.filter((step) => combinators.has(String(step))).length > scope.limits.depth) {
      throw refuse(path, `is nested deeper than ${scope.limits.depth} levels`)
    }
    return combinator(value, scope, path)
  }
  // `$$or` means the column `$or`
  const name = key.startsWith('$$') ? key.slice(1) : key
  if (name === key && key.startsWith('$') && !scope.table.columns.has(key)) {
    throw refuse(path, `is not an operator at this place; use one of ${[...combinators.keys()].join(', ')}`)
  }
  return planColumnFilter(getColumn(scope.table, name, path), value, scope, path)
}

function planList (value: unknown, scope: FilterScope, path: Path): Condition[] {
  if (!Array.isArray(value)) throw refuse(path, 'must be a list of filters')
  return value.map((filters, index) => planGroup(filters, scope, [...path, index]))
}

/**
 * Plans `{"$is": row}`, which compares each column with its value in a row as select returns it. Keys are never
 * operators.
 */
function planRow (row: unknown, scope: FilterScope, path: Path): Condition {
  if (!isFields(row)) throw refuse(path, 'must be an object of column names and values')
  return combine('and', Object.entries(row).map(([name, value]) => {
    const columnPath = [...path, name]
    return planOperator('$is', { column: getColumn(scope.table, name, columnPath), value, scope, path: columnPath })
  }))
}

const refuse = (path: Path, reason: string) => at(path, invalidBody(`"${path.join('.')}" ${reason}`))
