import type { Column, Table, TableSource } from '../../catalog/catalog.ts'
import { at, invalidBody, type Path, tooManyConditions } from '../../errors.ts'
import type { ColumnScope } from '../columns.ts'
import { type Condition, type Exists, type Groups, type Member, type Plan } from '../plan.ts'
import { StandIn, type StandIns } from '../holes.ts'
import type { Counted, FilterLimits, NamedBy, PlanLimits } from '../limits.ts'
import { isObject } from '../../json/exact-json.ts'
import { isLonger } from '../../types/text.ts'

/**
 * The state while the filters of one body are planned: the table of their columns, their limits and the counts so far.
 */
export interface FilterScope {
  readonly table: ColumnScope
  readonly limits: FilterLimits
  /** Set in `having`, where no value can be a moment. */
  readonly isTimeless?: true
  /** `$match` is allowed for the rows of the request, not of members and aggregates. */
  readonly isSearchable?: true | undefined
  /** `$some` and `$none` are allowed. */
  readonly relating?: Relating | undefined
  /** Set at the top of the filters of a member and in `$and` there; collects the columns that these hold equal. */
  readonly equalColumns?: EqualColumns | undefined
  /** Omitted where a value can only come from the body. */
  readonly standIns?: StandIns | undefined
  readonly counted: Counted
}

/** The rows to which the members of `$some` and `$none` are related. */
export interface Relating {
  readonly source: TableSource
  readonly table: Table
  /** Counted together with the levels of `include`. */
  readonly level: number
  readonly levels: number
  /** The most related rows that a filter may name. */
  readonly counted: number
}

/**
 * Columns of the other table, besides those of `on`, that have the same value in all related rows: filters hold them
 * equal by a plain value or `$eq`, at the top or in `$and`. The planner adds them as it reads the filters.
 */
export interface EqualColumns {
  /** Columns that equal a value other than null, so that the request can rely on them. */
  readonly certain: Set<Column>
  /** Also those that are NULL, or equal a value by the rules of the grant. */
  readonly all: Set<Column>
}

export const startCount = (): Counted => ({ conditions: 0, values: 0 })

/** Returns limits that apply to all filters of a body together. */
export const counting = <L extends FilterLimits>(limits: L): L & { readonly counted: Counted } =>
  ({ ...limits, counted: limits.counted ?? startCount() })

/** @throws INVALID_BODY if there are too many */
export function countCondition ({ counted, limits }: FilterScope, path: Path): void {
  if (++counted.conditions > limits.conditions) throw at(path, tooManyConditions(limits.conditions))
}

/** Each key is a condition at least: refused before a name among them is looked up. @throws INVALID_BODY */
export function requireRoom ({ counted, limits }: FilterScope, keys: readonly string[], path: Path): void {
  const beyond = keys[limits.conditions - counted.conditions]
  if (beyond !== undefined) throw at([...path, beyond], tooManyConditions(limits.conditions))
}

/** @throws INVALID_BODY if there are too many */
export function countValues ({ counted, limits }: FilterScope, count: number, path: Path): void {
  if ((counted.values += count) > limits.values) {
    throw at(path, invalidBody(`The filters contain more than ${limits.values} values in lists`))
  }
}

/** @throws INVALID_BODY for a pattern or path that is longer than the setting `limits.pattern` */
export function requireShort (text: string, { pattern: limit }: FilterLimits, path: Path): void {
  if (isLonger(text, limit)) {
    throw at(path, invalidBody(`"${path.join('.')}" is longer than ${limit} characters`))
  }
}

/** Counts a table of `$some` or `$none` where it occurs first. Returns whether there are too many. */
export function countTable ({ counted }: FilterScope, name: string, named: NamedBy): boolean {
  const tables = (counted.tables ??= new Map())
  if (!tables.has(name)) tables.set(name, named)
  return tables.size > MAX_TABLES
}

/** Servers join at most 61 tables, also those of `include`. */
const MAX_TABLES = 10

/** For filters that select rows of a table, which can have `$some` and `$none`. */
export interface RowScope extends FilterScope { readonly relating: Relating }

/** `table`: of the filters. `level`: of members. */
export const createRowScope = (
  { table, limits, source, level }: Omit<Relating, 'levels' | 'counted'> & { readonly limits: PlanLimits }
): RowScope => ({
  table,
  limits,
  counted: limits.counted ?? startCount(),
  standIns: limits.standIns,
  isSearchable: true,
  relating: { source, table, level, levels: limits.include?.levels ?? 0, counted: limits.offset }
})

/** Folds constants. An empty list is true for `and` and false for `or`. */
export function combine (kind: 'and' | 'or', conditions: readonly Condition[]): Condition {
  const neutral = kind === 'and'
  let constants = 0
  for (let index = 0; index < conditions.length; index++) {
    const condition = conditions[index] as Condition
    if (condition.kind !== 'constant') continue
    if (condition.value !== neutral) return condition
    constants++
  }
  const open = constants === 0 ? conditions : conditions.filter(({ kind }) => kind !== 'constant')
  if (open.length === 0) return { kind: 'constant', value: neutral }
  return open.length === 1 ? open[0] as Condition : { kind, conditions: open }
}

/** Folds constants. */
export function negate (condition: Condition): Condition {
  return condition.kind === 'constant' ? { kind: 'constant', value: !condition.value } : { kind: 'not', condition }
}

/** Conditions that contain no other condition on the same row. */
export function leavesOf (
  condition: Condition
): Array<Exclude<Condition, { readonly kind: 'and' | 'or' } | { readonly kind: 'not' }>> {
  switch (condition.kind) {
    case 'and':
    case 'or': return condition.conditions.flatMap(leavesOf)
    case 'not': return leavesOf(condition.condition)
    default: return [condition]
  }
}

/** Whether it may be an object of filters. */
export const isFields = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && !(value instanceof StandIn)

/** Outer ones first. */
export function existsIn (condition: Condition): Exists[] {
  return leavesOf(condition).flatMap((leaf) => leaf.kind === 'exists' ? [leaf, ...existsIn(leaf.condition)] : [])
}

export const membersOf = (plan: Plan): readonly Member[] =>
  (plan.verb === 'select' ? plan.members : plan.returning?.members) ?? []

/** All tables that a plan uses, its own first. */
export function tablesOf (plan: Plan): readonly Table[] {
  const related = plan.verb === 'insert' ? [] : existsIn(plan.condition).map(({ table }) => table)
  const grouped = plan.verb === 'select' && plan.groups !== undefined ? groupTables(plan.groups) : []
  return [plan.table, ...related, ...grouped, ...membersOf(plan).flatMap(memberTables)]
}

export const groupTables = ({ aggregates, members = [] }: Groups): readonly Table[] => [
  ...aggregates.flatMap(({ condition }) => condition === undefined ? [] : existsIn(condition))
    .map(({ table }) => table),
  ...members.flatMap(memberTables)
]

const memberTables = (member: Member): Table[] => [
  member.table,
  ...existsIn(member.condition).map(({ table }) => table),
  ...(member.kind === 'computed' ? [] : member.members.flatMap(memberTables))
]
