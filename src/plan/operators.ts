/** What a filter says of one column: a plain value, a list, or an object of operators. */
import type { Column } from '../catalog/catalog.ts'
import { invalidBody, invalidValue } from '../errors.ts'
import { ValueRefused, type Comparison, type Parameter } from '../types/column-type.ts'
import { readString } from '../types/text.ts'
import { at, readValue, type Path } from './columns.ts'
import { combine, type FilterScope } from './filters.ts'
import type { Condition, Operator } from './plan.ts'

/** One use of an operator: on which column, with what, and where in the body. */
interface Use { column: Column, value: unknown, scope: FilterScope, path: Path }

interface FilterOperator {
  /** The least that a column type must be able to do. */
  readonly needs: Comparison
  readonly plan: (use: Use) => Condition
}

const LEVELS: readonly Comparison[] = ['none', 'equality', 'order', 'text']

const operators = new Map<string, FilterOperator>([
  ['$eq', { needs: 'equality', plan: (use) => planEqual(use, false) }],
  ['$ne', { needs: 'equality', plan: (use) => planEqual(use, true) }],
  ['$in', { needs: 'equality', plan: (use) => planIn(use, false) }],
  ['$nin', { needs: 'equality', plan: (use) => planIn(use, true) }],
  ['$gt', { needs: 'order', plan: (use) => planCompare(use, '>') }],
  ['$gte', { needs: 'order', plan: (use) => planCompare(use, '>=') }],
  ['$lt', { needs: 'order', plan: (use) => planCompare(use, '<') }],
  ['$lte', { needs: 'order', plan: (use) => planCompare(use, '<=') }],
  ['$between', { needs: 'order', plan: planBetween }],
  ['$like', { needs: 'text', plan: (use) => planLike(use, readPattern(use), false) }],
  ['$nlike', { needs: 'text', plan: (use) => planLike(use, readPattern(use), true) }],
  ['$startsWith', { needs: 'text', plan: (use) => planLike(use, literally(readPattern(use)) + '%', false) }],
  ['$contains', { needs: 'text', plan: (use) => planLike(use, '%' + literally(readPattern(use)) + '%', false) }],
  ['$null', { needs: 'none', plan: planNullOperator }]
])

export function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}

/** The condition for one column. @throws INVALID_VALUE, INVALID_BODY */
export function planColumnFilter (column: Column, value: unknown, scope: FilterScope, path: Path): Condition {
  if (isObject(value) && hasOperators(column, value)) {
    return combine('and', Object.entries(value).map(([name, operand]) => planOperator(name, { column, value: operand, scope, path: [...path, name] })))
  }
  const name = Array.isArray(value) && !column.type.structured ? '$in' : '$eq'
  return planOperator(name, { column, value, scope, path })
}

/** A JSON column may be compared with an object as it stands; an empty one elsewhere is no value and no operators. */
function hasOperators (column: Column, value: Record<string, unknown>): boolean {
  const keys = Object.keys(value)
  return keys.some((key) => key.startsWith('$')) && (!column.type.structured || keys.every((key) => key.startsWith('$')))
}

function planOperator (name: string, use: Use): Condition {
  const { column, scope, path } = use
  const operator = operators.get(name)
  if (operator === undefined) throw at(path, invalidBody(`"${name}" is no operator; there are ${[...operators.keys()].join(', ')}`))
  if (++scope.conditions > scope.limits.conditions) throw at(path, invalidBody(`"filters" have more than ${scope.limits.conditions} conditions`))
  const plain = name === '$eq' && use.value === null
  if (!plain && LEVELS.indexOf(column.type.comparison) < LEVELS.indexOf(operator.needs)) throw refuse(use, `the type ${column.declaration} cannot be compared with ${name}`)
  return operator.plan(use)
}

function planEqual (use: Use, negated: boolean): Condition {
  if (use.value === null) return planNull(use.column, negated)
  return { kind: 'compare', column: use.column, operator: negated ? '<>' : '=', parameter: readOperand(use) }
}

function planCompare (use: Use, operator: Operator): Condition {
  return { kind: 'compare', column: use.column, operator, parameter: readOperand(use) }
}

/** A list with null in it means "or no value": SQL's own IN would never match one, and its NOT IN would match nothing. */
function planIn (use: Use, negated: boolean): Condition {
  const values = readList(use)
  const parameters = values.flatMap((value, index) => value === null ? [] : [readValue(use.column, value, [...use.path, index])])
  const list: Condition = parameters.length === 0 ? { kind: 'constant', value: negated } : { kind: 'in', column: use.column, negated, parameters }
  if (parameters.length === values.length) return list
  return combine(negated ? 'and' : 'or', [list, planNull(use.column, negated)])
}

function planBetween (use: Use): Condition {
  const values = readList(use)
  if (values.length !== 2 || values.includes(null)) throw refuse(use, '$between takes a list of two values')
  const [low, high] = values.map((value, index) => readValue(use.column, value, [...use.path, index])) as [NonNullable<Parameter>, NonNullable<Parameter>]
  return { kind: 'between', column: use.column, low, high }
}

function planLike ({ column }: Use, pattern: string, negated: boolean): Condition {
  return { kind: 'like', column, negated, pattern }
}

function planNullOperator (use: Use): Condition {
  if (typeof use.value !== 'boolean') throw refuse(use, '$null takes true or false')
  return isNull(use.column, !use.value)
}

/** `null` in a filter: no value at all, or the null that a JSON column has of its own; a select shows both as null. */
function planNull (column: Column, negated: boolean): Condition {
  const own = column.type.ownNull
  if (own === undefined || own === null) return isNull(column, negated)
  return combine(negated ? 'and' : 'or', [isNull(column, negated), { kind: 'compare', column, operator: negated ? '<>' : '=', parameter: own }])
}

/**
 * IS NULL is never asked of a column that is NOT NULL: MySQL would find the date 0000-00-00, and in some settings the last
 * inserted AUTO_INCREMENT value (manual, "Comparison Functions and Operators").
 */
function isNull (column: Column, negated: boolean): Condition {
  return column.nullable ? { kind: 'null', column, negated } : { kind: 'constant', value: negated }
}

function readOperand (use: Use): NonNullable<Parameter> {
  if (use.value === null) throw refuse(use, 'null has no order; use null alone, $ne or $null')
  return readValue(use.column, use.value, use.path)
}

function readList (use: Use): unknown[] {
  if (!Array.isArray(use.value)) throw refuse(use, 'expected a list of values')
  use.scope.values += use.value.length
  if (use.scope.values > use.scope.limits.values) throw at(use.path, invalidBody(`"filters" have more than ${use.scope.limits.values} values in lists`))
  return use.value
}

function readPattern (use: Use): string {
  try {
    return readString(use.value)
  } catch (error) {
    throw refuse(use, (error as ValueRefused).message)
  }
}

/** A text as a pattern for LIKE that matches only itself. */
function literally (text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

const refuse = (use: Use, reason: string) => at(use.path, invalidValue(use.column.name, reason))
