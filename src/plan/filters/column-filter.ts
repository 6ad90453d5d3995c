/** Plans the filter of one column: a plain value, a list, or an object of operators (operators.ts). */
import type { Column } from '../../catalog/catalog.ts'
import { at, invalidBody, invalidValue, type Path, type ServiceError } from '../../errors.ts'
import { isObject } from '../../json/exact-json.ts'
import { isNow } from '../../types/moment.ts'
import { combine } from './constants.ts'
import { acceptsOperator, operators, refuse, type Operand } from './operators.ts'
import { countCondition, type FilterScope } from './scope.ts'
import type { Condition } from '../plan.ts'
import { ResultReference } from '../result-reference.ts'

/** Whether a value is a JSON object. A result reference is not: it stands for a value. */
export function isFields (value: unknown): value is Record<string, unknown> {
  return isObject(value) && !(value instanceof ResultReference)
}

/** Plans the filter of one column. @throws INVALID_VALUE, INVALID_BODY */
export function planColumnFilter (column: Column, value: unknown, scope: FilterScope, path: Path): Condition {
  if (isFields(value) && hasOperators(column, value) && (column.type.structured || !isNow(value))) {
    return combine('and', Object.entries(value).map(([name, operand]) => planOperator(name, { column, value: operand, scope, path: [...path, name] })))
  }
  const operand = { column, value, scope, path }
  if (isFields(value) && !column.type.structured) {
    const name = Object.keys(value).find((key) => operators.has(`$${key}`))
    if (name !== undefined) throw refuse(operand, `operators begin with $: write "$${name}" instead of "${name}"`)
  }
  const isList = Array.isArray(value) && !column.type.structured
  // an empty list is probably a mistake of the client; a filter that matches no row has its own form
  if (isList && value.length === 0) throw refuse(operand, 'the list is empty; use {"$in": []} to match no row')
  return planOperator(isList ? '$in' : '$eq', operand)
}

/** Whether an object contains operators. For JSON and geometry columns, an object with any key that does not begin with `$` is a value. */
function hasOperators (column: Column, value: Record<string, unknown>): boolean {
  const keys = Object.keys(value)
  const isOperator = (key: string): boolean => key.startsWith('$')
  return column.type.structured ? keys.length > 0 && keys.every(isOperator) : keys.some(isOperator)
}

/** INVALID_BODY; for a JSON column INVALID_VALUE with a hint, because the object may be meant as a value. */
function unknownOperator (name: string, { column, path }: Operand): ServiceError {
  const known = `"${name}" is not an operator; use one of ${[...operators.keys()].join(', ')}`
  if (column.type.holdsJson !== true) return at(path, invalidBody(known))
  return at(path, invalidValue(column.name, `${known}; send an object whose keys all begin with $ as {"$eq": …}`))
}

/** Plans one operator on one column. @throws INVALID_VALUE, INVALID_BODY */
export function planOperator (name: string, operand: Operand): Condition {
  const { column, scope, path } = operand
  const operator = operators.get(name)
  if (operator === undefined) throw unknownOperator(name, operand)
  countCondition(scope, path)
  const isNull = operand.value === null && operator.takesNull
  if (!isNull && !acceptsOperator(operator, column.type)) {
    throw refuse(operand, `the type ${column.declaration} cannot be compared with ${name}`)
  }
  return operator.plan(operand)
}
