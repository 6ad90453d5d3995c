/** Combinators are here, the filter of one column in operators.ts. */
import type { Related } from '../../../schemas/body.ts'
import { type CombinatorName, findTooDeep } from '../../../schemas/filters.ts'
import type { TableSource } from '../../catalog/catalog.ts'
import { at, filtersRequired, invalidBody, type Path, didYouMean, tooManyConditions } from '../../errors.ts'
import { objectKeys } from '../../json/exact-json.ts'
import { getColumn } from '../columns.ts'
import { Placeholder } from '../holes.ts'
import type { Condition, Exists, MemberOf, RowRange } from '../plan.ts'
import { findMemberIndex, planOn, startEqualColumns } from '../relation.ts'
import { within } from '../rule.ts'
import type { PlanLimits } from '../limits.ts'
import { planRange } from '../write-options.ts'
import { planMatch } from './match.ts'
import { planColumnFilter, planOperator } from './operators.ts'
import {
  combine, negate, countCondition, countTable, createRowScope, type FilterScope, type EqualColumns, isFields,
  requireRoom, type RowScope
} from './scope.ts'

// `$some` and `$none`: whether a row of another table is related to the row and passes filters of its own.

/**
 * A row must satisfy all members, whose form has been checked (src/request/check-members.ts). @throws INVALID_BODY,
 * COLUMN_NOT_FOUND, INVALID_VALUE; TABLE_NOT_FOUND
 */
function planRelated (members: unknown, scope: FilterScope, path: Path): Condition {
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
      planMember(name, member, { ...scope, relating }, [...path, name])
    )
  )
}

const tablePathOf = ({ table }: Related, path: Path): Path => table === undefined ? path : [...path, 'table']

function planMember (name: string, member: Related, scope: RowScope, path: Path): Condition {
  const by = path.at(-2) as CombinatorName
  const negated = by === '$none'
  countCondition(scope, path)
  if (countTable(scope, member.table ?? name, { path: tablePathOf(member, path), by })) {
    throw at(path, invalidBody('"$some" and "$none" of a request can name at most 10 different tables'))
  }
  const range = member.count === undefined ? undefined : planCount(member.count, negated, scope, [...path, 'count'])
  const { table, on, condition, equalColumns, isNever } = planRelation(name, member, scope, path)
  // rules of a grant are not filters, so they are not folded
  if (isNever) return { kind: 'constant', value: range === undefined ? negated : range.least <= 0 && range.most >= 0 }
  const index = findMemberIndex(table, on, equalColumns.all, [])?.index
  const exists: Exists = { kind: 'exists', negated, table, on, condition, index }
  return range === undefined ? exists : countRows(exists, range)
}

/** @throws INVALID_BODY */
function planCount (
  count: NonNullable<Related['count']>,
  negated: boolean,
  { relating: { counted: most } }: RowScope,
  path: Path
): RowRange {
  if (negated) throw at(path, invalidBody('"count" is not allowed in "$none": use "$some"'))
  const { $between, ...bounds } = typeof count === 'number' ? { $eq: count, $between: undefined } : count
  const numbers = [...Object.values(bounds), ...($between ?? [])]
  if (numbers.some((each) => each > most)) throw at(path, invalidBody(`"count" takes numbers from 0 to ${most}`))
  const { least, most: greatest } = planRange(bounds)
  return { least: Math.max(least, $between?.[0] ?? 0), most: Math.min(greatest, $between?.[1] ?? Infinity) }
}

/** There is a row after `least - 1` others, and none after `most`. */
function countRows (exists: Exists, { least, most }: RowRange): Condition {
  if (most < least || most < 0) return { kind: 'constant', value: false }
  return combine('and', [
    ...least > 0 ? [{ ...exists, offset: least - 1 }] : [],
    ...most < Infinity ? [{ ...exists, negated: true, offset: most }] : []
  ])
}

/** `scope`: of the rows that have the member. @throws INVALID_BODY, COLUMN_NOT_FOUND, INVALID_VALUE; TABLE_NOT_FOUND */
export function planRelation (
  name: string,
  member: Related,
  { relating, ...scope }: RowScope,
  path: Path
): Pick<MemberOf, 'table' | 'on' | 'condition'> & {
  readonly equalColumns: EqualColumns
  /** No row passes the filters. */
  readonly isNever: boolean
} {
  const { table: named = name, on, filters = {} } = member
  const table = relating.source.see(named, tablePathOf(member, path))
  const equalColumns = startEqualColumns(table)
  const inner = {
    ...scope,
    isSearchable: undefined,
    table,
    relating: { ...relating, table, level: relating.level + 1 },
    equalColumns
  }
  const filtered = planGroup(filters, inner, [...path, 'filters'])
  return {
    table,
    on: planOn(on, { table: relating.table, other: table, equalColumns, path }),
    condition: table.granted === undefined ? filtered : within(table.granted.rules, filtered),
    equalColumns,
    isNever: filtered.kind === 'constant' && !filtered.value
  }
}

type Combinator = (value: unknown, scope: FilterScope, path: Path) => Condition

const planners: Readonly<Record<CombinatorName, Combinator>> = {
  $and: (value, scope, path) => combine('and', planList(value, scope, path)),
  $or: (value, scope, path) => combine('or', planList(value, { ...scope, equalColumns: undefined }, path)),
  $not: (value, scope, path) => negate(planGroup(value, { ...scope, equalColumns: undefined }, path)),
  $is: planRow,
  $some: planRelated,
  $none: planRelated,
  $match: planMatch
}

const combinators = new Map<string, Combinator>(Object.entries(planners))

/** @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY; TABLE_NOT_FOUND */
export function planFilters (
  filters: Readonly<Record<string, unknown>>,
  source: TableSource,
  limits: PlanLimits
): Condition {
  return planGroup(filters, createRowScope({ source, table: source.table, limits, level: 1 }), ['filters'])
}

/**
 * Constants are folded: if they become `true`, the filters select every row and are refused. No further analysis is
 * done. @throws FILTERS_REQUIRED, COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY
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

/** A row must match all entries. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY */
export function planGroup (filters: unknown, scope: FilterScope, path: Path): Condition {
  if (!isFields(filters)) throw refuse(path, 'must be an object of filters')
  const keys = objectKeys(filters)
  requireRoom(scope, keys, path)
  const conditions = keys.map((key) => planEntry(key, filters[key], scope, [...path, key]))
  return conditions.length === 1 ? conditions[0] as Condition : combine('and', conditions)
}

function planEntry (key: string, value: unknown, scope: FilterScope, path: Path): Condition {
  const combinator = combinators.get(key)
  if (combinator !== undefined) {
    const tooDeep = findTooDeep(path, scope.limits.depth)
    if (tooDeep !== undefined) throw refuse(path, tooDeep)
    return countAtLeastOne(scope, path, () => combinator(value, scope, path))
  }
  // `$$or` means the column `$or`
  const name = key.startsWith('$$') ? key.slice(1) : key
  if (name === key && key.startsWith('$') && !scope.table.columns.has(key)) {
    const all = [...combinators.keys()]
    throw refuse(path, `is not an operator here${didYouMean(key, all, `; use one of ${all.join(', ')}`)}`)
  }
  return planColumnFilter(getColumn(scope.table, name, path), value, scope, path)
}

function planList (value: unknown, scope: FilterScope, path: Path): Condition[] {
  if (!Array.isArray(value)) throw refuse(path, 'must be a list of filters')
  const remaining = scope.limits.conditions - scope.counted.conditions
  if (value.length > remaining) throw at([...path, remaining], tooManyConditions(scope.limits.conditions))
  return value.map((filters, index) => {
    const memberPath = [...path, index]
    return countAtLeastOne(scope, memberPath, () => planGroup(filters, scope, memberPath))
  })
}

/** Counts a combinator or a member of a list that has no condition as one: a body could have any number of them. */
function countAtLeastOne (scope: FilterScope, path: Path, plan: () => Condition): Condition {
  const { conditions } = scope.counted
  const condition = plan()
  if (scope.counted.conditions === conditions) countCondition(scope, path)
  return condition
}

/** `{"$is": row}` compares each column with its value in a row as select returns it. Keys are never operators. */
function planRow (row: unknown, scope: FilterScope, path: Path): Condition {
  if (!isFields(row)) throw refuse(path, 'must be an object of column names and values')
  const names = objectKeys(row)
  requireRoom(scope, names, path)
  return combine('and', names.map((name) => {
    const columnPath = [...path, name]
    const column = getColumn(scope.table, name, columnPath)
    // a JSON column may have stored an object that looks like a reference
    const value = row[name]
    const isStored = column.type.holdsJson === true && !(value instanceof Placeholder)
    const inRow = isStored ? { ...scope, standIns: undefined } : scope
    return planOperator('$is', { column, value, scope: inRow, path: columnPath })
  }))
}

const refuse = (path: Path, reason: string) => at(path, invalidBody(`"${path.join('.')}" ${reason}`))
