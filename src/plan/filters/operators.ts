import { type FilterOperator, type OperatorName, OPERATORS } from '../../../schemas/filters.ts'
import type { Column } from '../../catalog/catalog.ts'
import { canCompare } from '../../catalog/relations.ts'
import { at, invalidBody, invalidValue, mayBeNew, type Path, type ServiceError, didYouMean } from '../../errors.ts'
import { hasMany, objectKeys } from '../../json/exact-json.ts'
import { type ColumnType, COMPARISONS, describeType, type Moment, type Value } from '../../types/column-type.ts'
import { isNow, readMoment } from '../../types/moment.ts'
import { readString } from '../../types/text.ts'
import { getColumn, readIfFits, readValue, withStandIn } from '../columns.ts'
import { type Hole, valueOr } from '../holes.ts'
import type { Compared, Condition, Operator } from '../plan.ts'
import { planPaths } from './json-paths.ts'
import {
  combine, countCondition, countValues, type FilterScope, isFields, requireRoom, requireShort
} from './scope.ts'

/**
 * The escape character of LIKE patterns in SQL. Clients escape `%` and `_` with a backslash, but in SQL a backslash is
 * unsafe: it is a different character in sjis and swe7, and the second byte of some characters in gbk and big5. `!` is
 * the same byte in every character set.
 */
export const ESCAPE = '!'

/** A backslash at the end matches itself. */
function toPattern (pattern: string): string {
  return pattern.replace(/\\(.?)|!/gs, (match, escaped: string | undefined) => {
    if (match === ESCAPE) return ESCAPE + ESCAPE
    if (escaped === '') return match
    return escapePattern(escaped as string)
  })
}

function escapePattern (text: string): string {
  return text.replace(/[!%_]/g, ESCAPE + '$&')
}

export interface Operand { column: Column, value: unknown, scope: FilterScope, path: Path }

const planners: Readonly<Record<OperatorName, (operand: Operand) => Condition>> = {
  $eq: (operand) => planEqual(operand, false),
  $ne: (operand) => planEqual(operand, true),
  $is: planIs,
  $in: (operand) => planIn(operand, false),
  $nin: (operand) => planIn(operand, true),
  $gt: (operand) => planCompare(operand, '>'),
  $gte: (operand) => planCompare(operand, '>='),
  $lt: (operand) => planCompare(operand, '<'),
  $lte: (operand) => planCompare(operand, '<='),
  $between: planBetween,
  $like: (operand) => planLike(operand, toPattern, false),
  $nlike: (operand) => planLike(operand, toPattern, true),
  $startsWith: planStartsWith,
  $contains: (operand) => planLike(operand, (text) => '%' + escapePattern(text) + '%', false),
  $null: planNullOperator,
  $has: planHas,
  $at: planPaths
}

export interface PlannedOperator extends FilterOperator {
  /** Whether the operator accepts null, for columns of every type. */
  readonly takesNull: boolean
  readonly plan: (operand: Operand) => Condition
}

export const operators: ReadonlyMap<string, PlannedOperator> = new Map(
  Object.entries<FilterOperator>(OPERATORS).map(([name, operator]) => [
    name,
    {
      ...operator,
      takesNull: operator.operand === 'valueOrNull' || operator.operand === 'comparedOrNull',
      plan: planners[name as OperatorName]
    }
  ])
)

export function acceptsOperator ({ needs }: FilterOperator, { comparison, readMember, inside }: ColumnType): boolean {
  if (needs === 'members') return readMember !== undefined
  if (needs === 'paths') return inside !== undefined
  return COMPARISONS.indexOf(needs) <= COMPARISONS.indexOf(comparison)
}

export const refuse = (operand: Operand, reason: string) => at(operand.path, invalidValue(operand.column.name, reason))

function planEqual (operand: Operand, negated: boolean): Condition {
  const { column, value, scope: { equalColumns } } = operand
  if (typeof value === 'object' && hasColumn(operand)) return planColumns(operand, negated ? '<>' : '=')
  if (equalColumns !== undefined && !negated && !column.type.structured) {
    equalColumns.all.add(column)
    if (value !== null) equalColumns.certain.add(column)
  }
  if (value === null) return planNull(column, negated)
  const parameter = readCompared(operand, readIfFits)
  if (parameter === undefined) return inNoRow(column, negated)
  return { kind: 'compare', column, operator: negated ? '<>' : '=', parameter }
}

/** For NULL an equality with a value that no row has is a constant too, but an inequality is unknown. */
function inNoRow (column: Column, negated: boolean): Condition {
  if (!negated || !column.nullable) return { kind: 'constant', value: negated }
  return { kind: 'null', column, negated, isCompared: true }
}

function planIs ({ column, value, path }: Operand): Condition {
  if (value === null) return planNull(column, false)
  const parameter = readIfFits(column, value, path)
  return parameter === undefined ? inNoRow(column, false) : isExactly(column, parameter)
}

/**
 * Byte by byte, and false for NULL, never unknown. The equality stays beside that comparison because it can use an
 * index.
 */
function isExactly (column: Column, parameter: Value | Hole): Condition {
  return combine('and', [
    { kind: 'compare', column, operator: '=', parameter },
    ...column.type.exact === undefined ? [] : [{ kind: 'exact', column, parameter } as const],
    isNull(column, true)
  ])
}

export function isExactlyIn (column: Column, parameters: readonly Value[]): Condition {
  const [first, ...others] = parameters
  if (first === undefined) return { kind: 'constant', value: false }
  if (others.length === 0) return isExactly(column, first)
  const among = { kind: 'in', column, negated: false, parameters } as const
  return combine('and', [
    among,
    ...column.type.exact === undefined ? [] : [{ ...among, isExact: true } as const],
    isNull(column, true)
  ])
}

/** `{"$column": …}` is an ordinary value of a JSON column. */
const hasColumn = ({ column, value }: Operand): boolean =>
  isFields(value) && '$column' in value && !column.type.structured

function planColumns (operand: Operand, operator: Operator): Condition {
  const { column, value, scope, path } = operand
  const { $column: name, ...rest } = value as Readonly<Record<string, unknown>>
  if (typeof name !== 'string' || Object.keys(rest).length > 0) {
    throw refuse(operand, '"$column" must be the name of another column, and stand alone')
  }
  if (scope.isTimeless === true) throw refuse(operand, '"$column" is not allowed in "having"')
  const compared = getColumn(scope.table, name, [...path, '$column'])
  if (compared === column) throw refuse(operand, 'a column cannot be compared with itself')
  if (!canCompare(column, compared)) {
    const described = (each: Column): string =>
      `${describeType(each)}${each.collation === undefined ? '' : ` ${each.collation}`}`
    throw refuse(operand, `${described(column)} cannot be compared with "${name}" (${described(compared)})`)
  }
  return { kind: 'columns', column, operator, other: compared }
}

function planCompare (operand: Operand, operator: Operator): Condition {
  if (typeof operand.value === 'object' && hasColumn(operand)) return planColumns(operand, operator)
  return { kind: 'compare', column: operand.column, operator, parameter: readOperand(operand) }
}

/** A null in the list matches NULL. In SQL, IN would never match NULL, and NOT IN with a NULL would match no row. */
function planIn (operand: Operand, negated: boolean): Condition {
  const { column, path } = operand
  const values = readList(operand)
  const parameters: Array<Value | Hole> = []
  let nulls = 0
  for (const [index, value] of values.entries()) {
    const parameter = value === null ? undefined : readIfFits(column, value, [...path, index])
    if (value === null) nulls++
    else if (parameter !== undefined) parameters.push(parameter)
  }
  const list: Condition =
    parameters.length > 0
      ? { kind: 'in', column, negated, parameters }
      : values.length === nulls ? { kind: 'constant', value: negated } : inNoRow(column, negated)
  return nulls === 0 ? list : combine(negated ? 'and' : 'or', [list, planNull(column, negated)])
}

function planBetween (operand: Operand): Condition {
  const values = readList(operand)
  if (values.length !== 2 || values.includes(null)) throw refuse(operand, '$between requires a list of two values')
  const [low, high] = values.map((value, index) =>
    readCompared({ ...operand, value, path: [...operand.path, index] }, readValue)
  ) as [Compared, Compared]
  return { kind: 'between', column: operand.column, low, high }
}

/** `convert`: to a pattern with ESCAPE. */
function planLike (
  { column, value, scope, path }: Operand,
  convert: (text: string) => string,
  negated: boolean
): Condition {
  const { readPattern: readText = readString } = column.type
  const pattern = readValue(column, value, path, (given) => {
    const text = readText(given)
    requireShort(text, scope.limits, path)
    return convert(text)
  })
  return { kind: 'like', column, negated, pattern }
}

/** Collations of MySQL and MariaDB that compare codes and pad with spaces, such as utf8mb4_bin. */
const PADDED_CODES = /(?<!_nopad|_0900)_bin$/

/**
 * In an index of such a collation, the servers look for the texts that begin with X from X on, and texts in which a
 * character less than the space follows, such as a line feed, are before X. All texts from X and U+0000 to X are such.
 */
function planStartsWith (operand: Operand): Condition {
  const like = planLike(operand, (text) => escapePattern(text) + '%', false)
  const { column, value, path } = operand
  if (!PADDED_CODES.test(column.collation ?? '')) return like
  const bound = (end: string) => readValue(column, value, path, (given) => readString(given) + end)
  return combine('or', [like, combine('and', [
    { kind: 'compare', column, operator: '>=', parameter: bound('\0') },
    { kind: 'compare', column, operator: '<', parameter: bound('') }
  ])])
}

function planHas (operand: Operand): Condition {
  const { column, value, path } = operand
  const read = column.type.readMember as NonNullable<ColumnType['readMember']>
  const list = Array.isArray(value) ? readList(operand) : [value]
  if (list.length === 0) throw refuse(operand, '$has requires a member, or a list of members that is not empty')
  const bits = list.map((member, index) =>
    readValue(column, member, Array.isArray(value) ? [...path, index] : path, read))
  const [only] = bits
  // those of several members are one value
  if (only !== undefined && bits.length === 1) return { kind: 'has', column, bits: only }
  return { kind: 'has', column, bits: bits.reduce<bigint>((all, bit) => all | valueOr(bit, 0n), 0n) }
}

function planNullOperator (operand: Operand): Condition {
  if (typeof operand.value !== 'boolean') throw refuse(operand, '$null requires true or false')
  return isNull(operand.column, !operand.value)
}

/** `null` matches NULL and, in a JSON column, the JSON value null: select returns both as null. */
function planNull (column: Column, negated: boolean): Condition {
  const { ownNull } = column.type
  if (ownNull === undefined) return isNull(column, negated)
  return combine(negated ? 'and' : 'or', [
    isNull(column, negated),
    { kind: 'compare', column, operator: negated ? '<>' : '=', parameter: ownNull }
  ])
}

/**
 * Never compares a NOT NULL column with IS NULL: MySQL would match the date 0000-00-00 and, with some settings, the
 * last inserted AUTO_INCREMENT value (manual, "Comparison Functions and Operators").
 */
export function isNull (column: Column, negated: boolean): Condition {
  return column.nullable ? { kind: 'null', column, negated } : { kind: 'constant', value: negated }
}

function readOperand (operand: Operand): Compared {
  if (operand.value === null) throw refuse(operand, `null cannot be compared with ${operand.path.at(-1)}; use $null`)
  return readCompared(operand, readValue)
}

/** Reads a value, by `read`, or the present time for a column of time. */
function readCompared<R> (
  operand: Operand,
  read: (column: Column, value: unknown, path: Path) => R
): Moment | Hole | R {
  const { column, value, scope, path } = operand
  if (typeof value !== 'object' || column.type.structured || !isNow(value)) return read(column, value, path)
  const { moment } = column.type
  if (scope.isTimeless === true) throw refuse(operand, '"$now" is not allowed in "having"')
  if (moment?.isComparable !== true) {
    throw refuse(operand, `${describeType(column)} cannot be compared with "$now"`)
  }
  return readValue(column, value.$now, [...path, '$now'], (given) => readMoment(given, moment, 'filters'))
}

function readList (operand: Operand): unknown[] {
  if (!Array.isArray(operand.value)) throw refuse(operand, 'expected a list of values')
  countValues(operand.scope, operand.value.length, operand.path)
  const { column, scope: { standIns }, path } = operand
  return operand.value.map((value, index) => withStandIn(value, column, standIns, [...path, index]))
}

/** A plain value, a list, or an object of operators. @throws INVALID_VALUE, INVALID_BODY */
export function planColumnFilter (column: Column, given: unknown, scope: FilterScope, path: Path): Condition {
  const value = withStandIn(given, column, scope.standIns, path)
  const operand = { column, value, scope, path }
  if (typeof value === 'object' && isFields(value)) {
    const names = objectKeys(value)
    const isMoment = names.length === 1 && names[0] === '$now' && !column.type.structured
    if (!isMoment && hasOperators(column, names)) {
      requireRoom(scope, names, path)
      if (value['$case'] !== undefined) return planCase(operand)
      return combine(
        'and',
        names.map((name) => planOperator(name, { column, value: value[name], scope, path: [...path, name] }))
      )
    }
    const name = column.type.structured || hasMany(value)
      ? undefined
      : names.find((key) => operators.has(`$${key}`))
    if (name !== undefined) throw refuse(operand, `operators begin with $: write "$${name}" instead of "${name}"`)
  }
  const isList = Array.isArray(value) && !column.type.structured
  // an empty list is probably a mistake of the client; a filter that matches no row has its own form
  if (isList && value.length === 0) throw refuse(operand, 'the list is empty; use {"$in": []} to match no row')
  return planOperator(isList ? '$in' : '$eq', operand)
}

/**
 * Plans operators with `"$case": "ignore"` beside them. A collation that ignores letter case is enough, and keeps its
 * index.
 * @throws INVALID_VALUE, INVALID_BODY
 */
function planCase ({ column, value, scope, path }: Operand): Condition {
  const { $case: given, ...rest } = value as Readonly<Record<string, unknown>>
  const casePath = [...path, '$case']
  const names = Object.keys(rest)
  if (column.type.structured) throw refuseCase(column, casePath)
  if (given !== 'ignore') throw at(casePath, invalidBody('"$case" must be "ignore"'))
  if (names.length === 0 || names.some((name) => operators.get(name)?.hasCase !== true)) {
    const all = Array.from(operators).flatMap(([name, { hasCase }]) => hasCase === true ? [name] : [])
    throw at(casePath, invalidBody(`"$case" must stand beside ${all.join(', ')}, and beside no other operator`))
  }
  if (Object.values(rest).some((operand) => isFields(operand) && '$column' in operand)) {
    throw at(casePath, invalidBody('"$case" is not allowed beside "$column"'))
  }
  if (column.type.comparison !== 'text') throw refuseCase(column, casePath)
  // texts that differ in letter case are not one value, by which rows are found
  const inner = ignoresCase(column) ? scope : { ...scope, equalColumns: undefined }
  return combine('and', Object.entries(rest).map(([name, operand]) =>
    inLowerCase(planOperator(name, { column, value: operand, scope: inner, path: [...path, name] }))
  ))
}

const refuseCase = (column: Column, path: Path): ServiceError =>
  at(path, invalidValue(column.name, `${describeType(column)} has no letter case for "$case"`))

/** Columns of MySQL and MariaDB alone have a character set. */
const ignoresCase = ({ collation = '', charset }: Column): boolean =>
  charset === undefined ? collation === 'NOCASE' : collation.endsWith('_ci')

function inLowerCase (condition: Condition): Condition {
  switch (condition.kind) {
    case 'and':
    case 'or': return { ...condition, conditions: condition.conditions.map(inLowerCase) }
    case 'compare':
    case 'in':
    case 'like': {
      const { column } = condition
      // patterns of SQLite follow no collation
      const isIgnored = ignoresCase(column) && (condition.kind !== 'like' || column.charset !== undefined)
      return isIgnored ? condition : { kind: 'lower', column, comparison: condition }
    }
    default: return condition
  }
}

/** For JSON and geometry columns, an object with any key that does not begin with `$` is a value. */
function hasOperators (column: Column, keys: readonly string[]): boolean {
  const isOperator = (key: string): boolean => key.startsWith('$')
  return column.type.structured ? keys.length > 0 && keys.every(isOperator) : keys.some(isOperator)
}

/** INVALID_BODY; for a JSON column INVALID_VALUE with a hint, because the object may be meant as a value. */
function unknownOperator (name: string, { column, path }: Operand): ServiceError {
  const all = [...operators.keys()]
  const hint = `"${name}" is not an operator${didYouMean(name, all, `; use one of ${all.join(', ')}`)}`
  if (column.type.holdsJson !== true) return at(path, mayBeNew(invalidBody(hint)))
  return at(path, invalidValue(column.name, `${hint}; send an object whose keys all begin with $ as {"$eq": …}`))
}

/** @throws INVALID_VALUE, INVALID_BODY */
export function planOperator (name: string, given: Operand): Condition {
  const { column, scope, path } = given
  const operator = operators.get(name)
  const holdsPaths = operator?.operand === 'paths'
  const value = holdsPaths || operator?.operand === 'boolean'
    ? given.value
    : withStandIn(given.value, column, scope.standIns, path)
  const operand = value === given.value ? given : { ...given, value }
  if (operator === undefined) throw unknownOperator(name, operand)
  // each operator at a path is a condition
  if (!holdsPaths) countCondition(scope, path)
  const isNull = operand.value === null && operator.takesNull
  if (!isNull && !acceptsOperator(operator, column.type)) {
    throw refuse(operand, `${describeType(column)} cannot be compared with ${name}`)
  }
  return operator.plan(operand)
}
