import { expressionBuilder, sql, type AliasableExpression, type Expression, type ExpressionBuilder, type SqlBool } from 'kysely'
import type { Column } from '../catalog/catalog.ts'
import { ESCAPE } from '../plan/filters/pattern.ts'
import type { Condition, Operator } from '../plan/plan.ts'
import type { ColumnType, Parameter, Value, Wrapping } from '../types/column-type.ts'
import type { Rows, TableBuilder } from './aliases.ts'

const eb: ExpressionBuilder<Rows, 't'> = expressionBuilder<Rows, 't'>()

/** Puts SQL around an expression. The text comes from a column type (src/types/), never from a request. */
export function wrap<T> (wrapping: Wrapping | undefined, expression: AliasableExpression<T>): AliasableExpression<T> {
  return wrapping === undefined ? expression : sql<T>`${sql.raw(wrapping[0])}${expression}${sql.raw(wrapping[1])}`
}

/** Binds a parameter: a placeholder in the statement. */
export function bind (parameter: Parameter, wrapping?: Wrapping): Expression<Parameter> {
  return wrap(wrapping, sql<Parameter>`${parameter}`)
}

/** Binds a list, with few nodes: it may have ten thousand values. */
function bindList (parameters: readonly Value[], wrapping?: Wrapping): readonly Value[] | Expression<Parameter> {
  if (wrapping === undefined) return parameters
  const [before, after] = wrapping
  const texts = Array.from(parameters, () => `${after}, ${before}`).with(0, `(${before}`)
  return sql(Object.assign([...texts, `${after})`], { raw: [] }), ...parameters)
}

const isEquality = (operator: Operator): boolean => operator === '=' || operator === '<>'
const equated = ({ type }: Column): Wrapping | undefined => type.equated ?? type.compared

/** Compiles a condition to a Kysely expression. */
export function compileCondition (condition: Condition, { token }: TableBuilder): Expression<SqlBool> {
  const build = (each: Condition): Expression<SqlBool> => compileCondition(each, { token } as TableBuilder)
  const left = (column: Column): Expression<Parameter> => wrap(column.type.comparedColumn, eb.ref(token(column)))
  const right = (column: Column) => (parameter: Parameter) => bind(parameter, column.type.compared)
  switch (condition.kind) {
    case 'compare': return eb(left(condition.column), condition.operator, bind(condition.parameter, isEquality(condition.operator) ? equated(condition.column) : condition.column.type.compared))
    case 'exact': {
      const { column, parameter } = condition.column.type.exact as NonNullable<ColumnType['exact']>
      return eb(wrap(column, eb.ref(token(condition.column))), '=', bind(condition.parameter, parameter))
    }
    case 'in': return eb(left(condition.column), condition.negated ? 'not in' : 'in', bindList(condition.parameters, equated(condition.column)))
    case 'between': return eb.between(left(condition.column), right(condition.column)(condition.low), right(condition.column)(condition.high))
    case 'like': return sql`${eb(eb.ref(token(condition.column)), condition.negated ? 'not like' : 'like', bind(condition.pattern))} escape ${sql.lit(ESCAPE)}`
    case 'null': return eb(eb.ref(token(condition.column)), condition.negated ? 'is not' : 'is', null)
    case 'not': return eb.not(eb.parens(build(condition.condition)))
    case 'constant': return condition.value ? sql`1 = 1` : sql`1 = 0`
    case 'and': return eb.parens(eb.and(condition.conditions.map(build)))
    case 'or': return eb.parens(eb.or(condition.conditions.map(build)))
  }
}
