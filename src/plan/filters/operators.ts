/** The operators of the contract, one a line, and what each makes of its operand. */
import type { Column } from '../../catalog/catalog.ts'
import { invalidBody, invalidValue } from '../../errors.ts'
import type { Comparison, Value } from '../../types/column-type.ts'
import { countCharacters, readString } from '../../types/text.ts'
import { at, readWith, readValue, type Path } from '../columns.ts'
import { combine, type FilterScope } from './scope.ts'
import { literally, toPattern } from './pattern.ts'
import type { Condition, Operator } from '../plan.ts'

/** One use of an operator: on which column, with what, and where in the body. */
export interface Use { column: Column, value: unknown, scope: FilterScope, path: Path }

interface FilterOperator {
  /** The least that a column type must be able to do. */
  readonly needs: Comparison
  /** Whether null is an operand like others, for every type. */
  readonly takesNull?: true
  readonly plan: (use: Use) => Condition
}

export const operators: ReadonlyMap<string, FilterOperator> = new Map<string, FilterOperator>([
  ['$eq', { needs: 'equality', takesNull: true, plan: (use) => planEqual(use, false) }],
  ['$ne', { needs: 'equality', takesNull: true, plan: (use) => planEqual(use, true) }],
  ['$is', { needs: 'equality', takesNull: true, plan: planIs }],
  ['$in', { needs: 'equality', plan: (use) => planIn(use, false) }],
  ['$nin', { needs: 'equality', plan: (use) => planIn(use, true) }],
  ['$gt', { needs: 'order', plan: (use) => planCompare(use, '>') }],
  ['$gte', { needs: 'order', plan: (use) => planCompare(use, '>=') }],
  ['$lt', { needs: 'order', plan: (use) => planCompare(use, '<') }],
  ['$lte', { needs: 'order', plan: (use) => planCompare(use, '<=') }],
  ['$between', { needs: 'order', plan: planBetween }],
  ['$like', { needs: 'text', plan: (use) => planLike(use, toPattern(readPattern(use)), false) }],
  ['$nlike', { needs: 'text', plan: (use) => planLike(use, toPattern(readPattern(use)), true) }],
  ['$startsWith', { needs: 'text', plan: (use) => planLike(use, literally(readPattern(use)) + '%', false) }],
  ['$contains', { needs: 'text', plan: (use) => planLike(use, '%' + literally(readPattern(use)) + '%', false) }],
  ['$null', { needs: 'none', plan: planNullOperator }]
])

export const refuse = (use: Use, reason: string) => at(use.path, invalidValue(use.column.name, reason))

function planEqual (use: Use, negated: boolean): Condition {
  if (use.value === null) return planNull(use.column, negated)
  return { kind: 'compare', column: use.column, operator: negated ? '<>' : '=', parameter: readOperand(use) }
}

/**
 * The same value to the letter, with two answers only: a row without a value is not one of this value. The equality stays
 * beside the comparison of bytes, since an index can serve it.
 */
function planIs (use: Use): Condition {
  const { column } = use
  if (use.value === null) return planNull(column, false)
  const parameter = readOperand(use)
  return combine('and', [
    { kind: 'compare', column, operator: '=', parameter },
    ...column.type.exact === undefined ? [] : [{ kind: 'exact', column, parameter } as const],
    isNull(column, true)
  ])
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
  const [low, high] = values.map((value, index) => readValue(use.column, value, [...use.path, index])) as [Value, Value]
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
  const { ownNull } = column.type
  if (ownNull === undefined) return isNull(column, negated)
  return combine(negated ? 'and' : 'or', [isNull(column, negated), { kind: 'compare', column, operator: negated ? '<>' : '=', parameter: ownNull }])
}

/**
 * IS NULL is never asked of a column that is NOT NULL: MySQL would find the date 0000-00-00, and in some settings the last
 * inserted AUTO_INCREMENT value (manual, "Comparison Functions and Operators").
 */
function isNull (column: Column, negated: boolean): Condition {
  return column.nullable ? { kind: 'null', column, negated } : { kind: 'constant', value: negated }
}

function readOperand (use: Use): Value {
  if (use.value === null) throw refuse(use, 'null has no order; use null alone, $ne or $null')
  return readValue(use.column, use.value, use.path)
}

function readList (use: Use): unknown[] {
  if (!Array.isArray(use.value)) throw refuse(use, 'expected a list of values')
  use.scope.values += use.value.length
  if (use.scope.values > use.scope.limits.values) throw at(use.path, invalidBody(`"filters" have more than ${use.scope.limits.values} values in lists`))
  return use.value
}

function readPattern ({ column, value, scope, path }: Use): string {
  const pattern = readWith(column.type.readPattern ?? readString, column, value, path)
  const limit = scope.limits.pattern
  if (pattern.length > limit && countCharacters(pattern) > limit) throw at(path, invalidBody(`"${path.join('.')}" is a pattern of more than ${limit} characters`))
  return pattern
}
