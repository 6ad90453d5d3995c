import { expressionBuilder, sql, type AliasableExpression, type Expression, type ExpressionBuilder, type SqlBool } from 'kysely'
import type { Column } from '../catalog/catalog.ts'
import { ESCAPE } from '../plan/filters/pattern.ts'
import type { Condition, Exists, Operator } from '../plan/plan.ts'
import { COLUMN, FILTER, GIVEN, type ColumnType, type FormSql, type Moment, type Parameter, type Value, type Wrapping } from '../types/column-type.ts'
import type { ColumnToken, Rows } from './kysely-builder.ts'
import { findOutlying } from './outlying.ts'
import type { TableTokens } from './placed-tables.ts'

const eb: ExpressionBuilder<Rows, 't'> = expressionBuilder<Rows, 't'>()

/** Puts SQL around an expression. The text comes from a column type (src/types/), never from a request. */
export function wrap<T> (wrapping: Wrapping | undefined, expression: AliasableExpression<T>): AliasableExpression<T> {
  return wrapping === undefined ? expression : sql<T>`${sql.raw(wrapping[0])}${expression}${sql.raw(wrapping[1])}`
}

/** Binds a parameter: a placeholder in the statement. */
export function bind (parameter: Parameter | Moment, wrapping?: Wrapping): Expression<Parameter> {
  return wrap(wrapping, sql<Parameter>`${parameter}`)
}

/** The expressions in the places of a form or a computation. */
interface Places { readonly column: Expression<unknown>, readonly given?: Parameter | Moment, readonly filter?: Expression<unknown> | undefined }

/** Fills the places in the SQL of a form or a computation. */
export function compileForm (texts: FormSql, { column, given = null, filter = sql`` }: Places): AliasableExpression<Parameter> {
  return sql.join<Parameter>(texts.map((part) => {
    switch (part) {
      case COLUMN: return column
      case GIVEN: return bind(given)
      case FILTER: return filter
      default: return sql.raw(part)
    }
  }), sql``)
}

/** Binds a list with few nodes, because it may have ten thousand values. */
function bindList (parameters: readonly Value[], wrapping?: Wrapping): readonly Value[] | Expression<Parameter> {
  if (wrapping === undefined) return parameters
  const [before, after] = wrapping
  const texts = Array.from(parameters, () => `${after}, ${before}`).with(0, `(${before}`)
  return sql(Object.assign([...texts, `${after})`], { raw: [] }), ...parameters)
}

/** The operands that a condition compares. */
export interface Operands {
  /** The SQL of a column. */
  readonly left: (column: Column) => AliasableExpression<Parameter>
  /** SQL around the parameters that are compared with the column, which may differ for an equality. */
  readonly wrapping: (column: Column, isEquality: boolean) => Wrapping | undefined
}

/** The table of a condition. Without `outer` and `add`, the condition has no subqueries. */
export type ConditionScope = Pick<TableTokens, 'token'> & Partial<TableTokens>

/** The columns of a table as operands. */
function columnsOf ({ token }: ConditionScope): Operands {
  return { left: (column) => eb.ref(token(column) as ColumnToken), wrapping: ({ type }, isEquality) => isEquality ? type.equated ?? type.compared : type.compared }
}

const isEquality = (operator: Operator): boolean => operator === '=' || operator === '<>'

/** Compiles a condition on the columns of a table, or on `operands`, to a Kysely expression. */
export function compileCondition (condition: Condition, builder: ConditionScope, operands: Operands = columnsOf(builder)): Expression<SqlBool> {
  const { left } = operands
  const outlying = findOutlying(condition)
  const wrapping: Operands['wrapping'] = outlying === undefined ? operands.wrapping : () => outlying
  const build = (each: Condition): Expression<SqlBool> => compileCondition(each, builder, operands)
  const comparable = (column: Column): Expression<Parameter> => wrap(outlying ?? column.type.comparedColumn, left(column))
  const right = (column: Column) => (parameter: Parameter | Moment) => bind(parameter, wrapping(column, false))
  switch (condition.kind) {
    case 'compare': return eb(comparable(condition.column), condition.operator, bind(condition.parameter, wrapping(condition.column, isEquality(condition.operator))))
    case 'exact': {
      const { column, parameter } = condition.column.type.exact as NonNullable<ColumnType['exact']>
      return eb(wrap(column, left(condition.column)), '=', bind(condition.parameter, parameter))
    }
    case 'default': return eb(left(condition.column), '=', sql<Parameter>`default(${left(condition.column)})`)
    case 'in': return eb(comparable(condition.column), condition.negated ? 'not in' : 'in', bindList(condition.parameters, wrapping(condition.column, true)))
    case 'between': return eb.between(comparable(condition.column), right(condition.column)(condition.low), right(condition.column)(condition.high))
    case 'like': return sql`${eb(left(condition.column), condition.negated ? 'not like' : 'like', bind(condition.pattern))} escape ${sql.lit(ESCAPE)}`
    case 'null': return eb(left(condition.column), condition.negated ? 'is not' : 'is', null)
    case 'has': return sql<SqlBool>`${left(condition.column)} & ${bind(condition.bits)} = ${bind(condition.bits)}`
    case 'not': return eb.not(eb.parens(build(condition.condition)))
    case 'exists': return compileExists(condition, builder)
    case 'constant': return condition.value ? sql`1 = 1` : sql`1 = 0`
    case 'and': return eb.parens(eb.and(condition.conditions.map(build)))
    case 'or': return eb.parens(eb.or(condition.conditions.map(build)))
  }
}

/**
 * `(select 1 from <table> where <on> and … limit 1) is not null`: with `exists`, both servers would read all rows that it can find first. The index of
 * `on` is named because an optimizer may prefer that of another condition, and read rows that are related to others.
 */
function compileExists ({ negated, table, on, condition, index }: Exists, { outer, add }: ConditionScope): Expression<SqlBool> {
  const other = (add as TableTokens['add'])(table, index)
  // the column on the left decides the collation on SQLite
  const conditions: Array<Expression<unknown>> = on.map((pair) => other.relate(sql`${sql.ref(other.token(pair.other))} = ${sql.ref((outer as TableTokens['outer'])(pair.column))}`))
  if (condition.kind !== 'constant' || !condition.value) conditions.push(compileCondition(condition, other))
  return sql`(select 1 from ${other.from} where ${sql.join(conditions, sql` and `)} limit 1${other.lock}) is ${sql.raw(negated ? 'null' : 'not null')}`
}
