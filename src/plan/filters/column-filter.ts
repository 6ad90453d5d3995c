/** What a filter says of one column: a plain value, a list, or an object of operators (operators.ts). */
import type { Column } from '../../catalog/catalog.ts'
import { invalidBody, invalidValue, type ServiceError } from '../../errors.ts'
import type { Comparison } from '../../types/column-type.ts'
import { at, type Path } from '../columns.ts'
import { combine, type FilterScope } from './scope.ts'
import { operators, refuse, type Use } from './operators.ts'
import type { Condition } from '../plan.ts'

/** From least to most: a type that has a level has those before it too. */
const LEVELS: readonly Comparison[] = ['none', 'equality', 'order', 'text']

export function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}

/** The condition for one column. @throws INVALID_VALUE, INVALID_BODY */
export function planColumnFilter (column: Column, value: unknown, scope: FilterScope, path: Path): Condition {
  if (isObject(value) && hasOperators(column, value)) {
    return combine('and', Object.entries(value).map(([name, operand]) => planOperator(name, { column, value: operand, scope, path: [...path, name] })))
  }
  const use = { column, value, scope, path }
  const isList = Array.isArray(value) && !column.type.structured
  // More likely a mistake than a wish for nothing, which has a form of its own.
  if (isList && value.length === 0) throw refuse(use, 'an empty list is no value; {"$in": []} matches nothing')
  return planOperator(isList ? '$in' : '$eq', use)
}

/** Where objects are values - JSON, geometry - one with any key that is no operator is a value; `$eq` takes one that looks otherwise. */
function hasOperators (column: Column, value: Record<string, unknown>): boolean {
  const keys = Object.keys(value)
  const isOperator = (key: string): boolean => key.startsWith('$')
  return column.type.structured ? keys.length > 0 && keys.every(isOperator) : keys.some(isOperator)
}

/** For a JSON column the object may have been meant as a value. */
function unknownOperator (name: string, { column, path }: Use): ServiceError {
  const known = `"${name}" is not an operator; use one of ${[...operators.keys()].join(', ')}`
  if (column.type.holdsJson !== true) return at(path, invalidBody(known))
  return at(path, invalidValue(column.name, `${known}; send an object whose keys all begin with $ as {"$eq": …}`))
}

/** The condition of one operator on one column. @throws INVALID_VALUE, INVALID_BODY */
export function planOperator (name: string, use: Use): Condition {
  const { column, scope, path } = use
  const operator = operators.get(name)
  if (operator === undefined) throw unknownOperator(name, use)
  if (++scope.conditions > scope.limits.conditions) throw at(path, invalidBody(`"filters" have more than ${scope.limits.conditions} conditions`))
  const asksForNull = use.value === null && operator.takesNull === true
  if (!asksForNull && LEVELS.indexOf(column.type.comparison) < LEVELS.indexOf(operator.needs)) {
    throw refuse(use, `the type ${column.declaration} cannot be compared with ${name}`)
  }
  return operator.plan(use)
}
