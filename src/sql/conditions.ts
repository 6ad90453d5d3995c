import { type AliasableExpression, type Expression, type RawBuilder, sql, type SqlBool } from 'kysely'
import type { Column, Index, Table } from '../catalog/catalog.ts'
import type { Pair } from '../catalog/relations.ts'
import { ESCAPE } from '../plan/filters/operators.ts'
import { divide, foundFirst } from '../plan/second-form.ts'
import type { Hole, Given } from '../plan/holes.ts'
import {
  type At, type Condition, type Exists, type InsideOrder, isInside, isRelevance, type JsonPart, type JsonParts,
  type JsonPlace, type JsonTest, type Match, type MemberOf, type Operator, type Order
} from '../plan/plan.ts'
import {
  COLUMN, type ColumnType, FILTER, type SqlTemplate, GIVEN, type JsonInside, type Parameter, type Scalar,
  type ScalarInside, type Value, type Wrapping
} from '../types/column-type.ts'
import { eb, reference } from './builder.ts'
import { bare, type FirstFound, type TableScope } from './table-scope.ts'

/** The text comes from a column type (src/types/), never from a request. */
export function wrap<T> (wrapping: Wrapping | undefined, expression: AliasableExpression<T>): AliasableExpression<T> {
  return wrapping === undefined ? expression : sql<T>`${sql.raw(wrapping[0])}${expression}${sql.raw(wrapping[1])}`
}

export function bind (parameter: Given | Expression<Parameter>, wrapping?: Wrapping): Expression<Parameter> {
  return wrap(wrapping, sql<Parameter>`${parameter}`)
}

/** Replaces the symbols in the SQL of an update operator or a computation. */
export function compileForm (
  texts: SqlTemplate,
  { column, given = null, filter = sql`` }: {
    readonly column: Expression<unknown>
    readonly given?: Given | Expression<Parameter>
    readonly filter?: Expression<unknown> | undefined
  }
): AliasableExpression<Parameter> {
  return sql.join<Parameter>(
    texts.map((part) => {
      switch (part) {
        case COLUMN:
          return column
        case GIVEN:
          return bind(given)
        case FILTER:
          return filter
        default:
          return sql.raw(part)
      }
    }),
    sql``
  )
}

/** Binds a list with few nodes, because it may have ten thousand values. */
function bindList (
  parameters: ReadonlyArray<Value | Hole>,
  wrapping?: Wrapping
): readonly Value[] | Expression<Parameter> {
  if (wrapping === undefined) return parameters as readonly Value[]
  const [before, after] = wrapping
  const texts = Array.from(parameters, () => `${after}, ${before}`).with(0, `(${before}`)
  return sql(Object.assign([...texts, `${after})`], { raw: [] }), ...parameters)
}

export interface Operands {
  readonly left: (column: Column) => AliasableExpression<Parameter>
  /** Around the parameters that are compared with the column; it may differ for an equality. */
  readonly wrapping: (column: Column, isEquality: boolean) => Wrapping | undefined
}

export function columnsOf ({ column }: TableScope): Operands {
  return {
    left: column,
    wrapping: ({ type }, isEquality) => (isEquality ? (type.equated ?? type.compared) : type.compared)
  }
}

export const isTrue = (condition: Condition): boolean => condition.kind === 'constant' && condition.value

const isEquality = (operator: Operator): boolean => operator === '=' || operator === '<>'

/** One column is compared with values. */
type Comparison = Extract<Condition, { readonly kind: 'compare' | 'exact' | 'in' | 'between' | 'like' }>

/** Compiles a condition on the columns of a table, or on `operands`, to a Kysely expression. */
export const compileCondition = (
  condition: Condition,
  scope: TableScope,
  operands: Operands = columnsOf(scope)
): Expression<SqlBool> => compile(condition, { scope, operands, isNegated: false })

/** `isNegated`: whether the condition is in a `not`. */
interface Surroundings { readonly scope: TableScope, readonly operands: Operands, readonly isNegated: boolean }

function compile (condition: Condition, around: Surroundings): Expression<SqlBool> {
  const { scope, operands, operands: { left }, isNegated } = around
  const build = (each: Condition): Expression<SqlBool> => compile(each, around)
  switch (condition.kind) {
    case 'compare':
    case 'exact':
    case 'in':
    case 'between':
    case 'like': return amongOwn(condition, compileComparison(condition, around.operands), around)
    case 'columns': return compareColumns(condition, around)
    case 'lower': return amongOwn(condition, compileComparison(condition.comparison, inLowerCase(operands)), around)
    case 'default': return eb(left(condition.column), '=', sql<Parameter>`default(${left(condition.column)})`)
    case 'null': {
      const test = eb(left(condition.column), condition.negated ? 'is not' : 'is', null)
      return condition.isCompared === true && isNegated ? sql<SqlBool>`case when ${test} then 1 end` : test
    }
    case 'has': return sql<SqlBool>`${left(condition.column)} & ${bind(condition.bits)} = ${bind(condition.bits)}`
    case 'not': return eb.not(eb.parens(compile(condition.condition, { ...around, isNegated: true })))
    case 'match': return compileMatch(condition, around)
    case 'at': return compileAt(condition, around)
    case 'exists': return compileExists(condition, scope)
    case 'constant': return condition.value ? sql`1 = 1` : sql`1 = 0`
    case 'and': return eb.parens(eb.and(condition.conditions.map(build)))
    case 'or': return eb.parens(eb.or(condition.conditions.map(build)))
  }
}

/** What a second form (src/plan/second-form.ts) finds first, and the conditions that are left. */
export function findFirst (
  scope: TableScope,
  table: Table,
  conditions: readonly Condition[]
): { readonly first?: FirstFound, readonly left: readonly Condition[] } {
  const found = scope.isSecondForm ? foundFirst(table) : undefined
  if (found === undefined) return { left: conditions }
  const [early, left] = divide(conditions)
  const where = compileCondition({ kind: 'and', conditions: early }, { ...scope, column: bare })
  return { first: { ...found, where }, left }
}

function compareColumns (
  { column, operator, other }: Extract<Condition, { readonly kind: 'columns' }>,
  { operands: { left } }: Surroundings
): Expression<SqlBool> {
  const compared = eb(left(column), operator, left(other))
  const own = [column, other].flatMap((each) =>
    each.type.ownClassSql === undefined ? [] : [compileForm(each.type.ownClassSql, { column: left(each) })])
  return own.length === 0 ? compared : sql<SqlBool>`case when ${sql.join(own, sql` and `)} then ${compared} end`
}

const LOWER: Wrapping = ['lower(', ')']

/** Only a function of SQLite does not keep the collation of its column. */
const inLowerCase = ({ left }: Operands): Operands => ({
  left: (column) => {
    const { collation = BINARY, charset } = column
    const lower = wrap(LOWER, left(column))
    return charset !== undefined || collation === BINARY ? lower : sql<Parameter>`${lower} collate ${sql.id(collation)}`
  },
  wrapping: () => LOWER
})

/** Compares bytes, on SQLite. */
const BINARY = 'BINARY'

/** The full-text table of SQLite, which a statement names in a subquery, and what it knows the rows by. */
function wordsOf ({ index: { name, fullText }, rowid }: Match, scope: TableScope) {
  if (fullText === undefined || fullText.rowid === null) return undefined
  return {
    words: sql.id(name),
    rowid: rowid === undefined ? reference(fullText.rowid, scope.name) : scope.qualified(rowid)
  }
}

/** In boolean mode, because MyISAM's other mode leaves out words that half of the rows have. */
function compileMatch (match: Match, { scope, operands: { left } }: Surroundings): Expression<SqlBool> {
  const found = wordsOf(match, scope)
  if (found === undefined) return against(match, left)
  const { words, rowid } = found
  return sql<SqlBool>`${rowid} in (select rowid from ${words} where ${words} match ${match.parameter})`
}

function against<T> ({ columns, parameter }: Match, left: Operands['left']): AliasableExpression<T> {
  return sql<T>`match(${sql.join(columns.map(left))}) against(${parameter} in boolean mode)`
}

/** Higher for a better match. FTS5 ranks the best match lowest. */
function compileRelevance (match: Match, scope: TableScope): Expression<number> {
  const found = wordsOf(match, scope)
  if (found === undefined) return against(match, scope.qualified)
  const { words, rowid } = found
  const ranks = sql`select rowid as r, rank as k from ${words} where ${words} match ${match.parameter} limit -1`
  return sql`(select -k from (${ranks}) where r = ${rowid})`
}

function compileComparison (condition: Comparison, { left, wrapping: wrappingOf }: Operands): Expression<SqlBool> {
  const { column, column: { type } } = condition
  const comparable = wrap(type.comparedColumn, left(column))
  const wrapping = (isEquality: boolean): Wrapping | undefined => wrappingOf(column, isEquality)
  const right = (parameter: Given): Expression<Parameter> => bind(parameter, wrapping(false))
  switch (condition.kind) {
    case 'compare': {
      if (condition.isPosition === true) {
        const stored = wrap(condition.isText === true ? type.positions?.asText : undefined, left(column))
        return eb(stored, condition.operator, bind(condition.parameter))
      }
      return eb(comparable, condition.operator, bind(condition.parameter, wrapping(isEquality(condition.operator))))
    }
    case 'exact': {
      const exact = type.exact as NonNullable<ColumnType['exact']>
      return eb(wrap(exact.column, left(column)), '=', bind(condition.parameter, exact.parameter))
    }
    case 'in':
      if (condition.isExact === true) {
        // of IN, the left side decides the collation on SQLite
        const { column: around, parameter } = type.exact as NonNullable<ColumnType['exact']>
        return eb(wrap(around ?? parameter, left(column)), 'in', bindList(condition.parameters, parameter))
      }
      return eb(comparable, condition.negated ? 'not in' : 'in', bindList(condition.parameters, wrapping(true)))
    case 'between':
      return eb.between(comparable, right(condition.low), right(condition.high))
    case 'like': {
      const like = eb(left(column), condition.negated ? 'not like' : 'like', right(condition.pattern))
      return sql`${like} escape ${sql.lit(ESCAPE)}`
    }
  }
}

/** A value inside JSON: the name of its type, NULL if there is none, and what it is in a template. */
interface Inner {
  readonly type: Expression<unknown>
  readonly fill: (template: SqlTemplate) => AliasableExpression<Parameter>
}

function compilePlace (
  { jsonParts, lists }: JsonPlace,
  { isJson, typeAt, listName, step, perRow }: JsonInside,
  stored: AliasableExpression<Parameter>
): Inner {
  const pathOf = ({ jsonPath, isFromEnd }: JsonPart): Given | Expression<Parameter> =>
    isFromEnd === true && perRow !== undefined ? compileForm(perRow, { column: stored, given: jsonPath }) : jsonPath
  const fillAt = (template: SqlTemplate, parts: JsonParts): AliasableExpression<Parameter> => {
    const parent = parts.slice(0, -1).reduce((outer, part) =>
      compileForm(step as SqlTemplate, { column: outer, given: pathOf(part) }), stored)
    return compileForm(template, { column: parent, given: pathOf(parts.at(-1) as JsonPart) })
  }
  const guards = [
    ...isJson === undefined ? [] : [compileForm(isJson, { column: stored })],
    ...lists.map((parts) => sql`${fillAt(typeAt, parts)} = ${sql.lit(listName)}`)
  ]
  const bare = fillAt(typeAt, jsonParts)
  return {
    type: guards.length === 0 ? bare : sql`case when ${sql.join(guards, sql` and `)} then ${bare} end`,
    fill: (template) => fillAt(template, jsonParts)
  }
}

/** A value of another type is different; without a value at the path, and for JSON's null, a comparison is NULL. */
function compileAt ({ column, test, ...place }: At, { operands }: Surroundings): Expression<SqlBool> {
  const inside = column.type.inside as JsonInside
  const { type, fill } = compilePlace(place, inside, operands.left(column))
  const nullName = sql.lit(inside.nullName)
  if (!('scalar' in test)) {
    return test.kind === 'exists'
      ? sql<SqlBool>`${type} is ${sql.raw(test.negated ? 'null' : 'not null')}`
      : sql<SqlBool>`coalesce(${type}, ${nullName}) ${sql.raw(test.negated ? '<>' : '=')} ${nullName}`
  }
  const scalar = inside.scalars[test.scalar]
  const others = test.kind === 'compare' ? test.operator === '<>' : test.kind === 'in' && test.negated
  const passes = compileJsonTest(test, scalar, fill)
  return sql<SqlBool>`case when ${type} in (${listTypes(scalar)}) then ${passes} when ${type} <> ${nullName} then ${
    sql.raw(others ? '1' : '0')} end`
}

const listTypes = ({ types }: Pick<ScalarInside, 'types'>): Expression<unknown> => sql.join(types.map(sql.lit))

function compileJsonTest (
  test: Extract<JsonTest, { readonly scalar: Scalar }>,
  { value, exact, operand }: ScalarInside,
  fill: (template: SqlTemplate) => AliasableExpression<Parameter>
): Expression<unknown> {
  const left = fill(value)
  if (test.kind === 'find') return sql`instr(${left}, ${bind(test.parameter)}) ${sql.raw(test.isStart ? '= 1' : '> 0')}`
  if (test.kind === 'in') {
    const values = exact === undefined ? [value] : [value, exact]
    const found = eb.and(values.map((each) => eb(fill(each), 'in', bindList(test.parameters, operand))))
    return test.negated ? eb.not(eb.parens(found)) : found
  }
  const right = bind(test.parameter, operand)
  const operator = sql.raw(test.operator)
  if (exact === undefined) return sql`${left} ${operator} ${right}`
  const compare = (value: Expression<unknown>): Expression<unknown> => sql`${value} ${operator} ${right}`
  return sql`case when ${left} = ${right} then ${compare(fill(exact))} else ${compare(left)} end`
}

/**
 * Makes a comparison false for values that the service does not write for the type (`ColumnType.ownClassSql`), which a
 * rowid never has. AND lets an index serve. In a NOT, where false is not the same as NULL, the comparison becomes NULL.
 */
function amongOwn (
  condition: Comparison | Extract<Condition, { readonly kind: 'lower' }>,
  comparison: Expression<SqlBool>,
  { operands, isNegated }: Surroundings
): Expression<SqlBool> {
  const {
    column,
    column: { type, autoIncrement: isRowid }
  } = condition
  if (type.ownClassSql === undefined || isRowid || (condition.kind === 'compare' && condition.isPosition === true)) {
    return comparison
  }
  // SQLite may compute the terms of an AND in any order, and json() of another value fails
  const isNull = isNegated || type.comparedColumn !== undefined
  if (!isNull && isOwnIfTrue(condition)) return comparison
  const own = compileForm(type.ownClassSql, { column: operands.left(column) })
  return isNull ? sql<SqlBool>`case when ${own} then ${comparison} end` : sql<SqlBool>`(${own} and ${comparison})`
}

/** Only values that the service itself writes can pass, because they are equal to one. */
const isOwnIfTrue = (condition: Parameters<typeof amongOwn>[0]): boolean =>
  (condition.kind === 'compare' && condition.operator === '=') ||
  condition.kind === 'exact' ||
  (condition.kind === 'in' && !condition.negated)

/**
 * `(select 1 from <table> where <on> and … limit 1) is not null`: with `exists`, both servers would read all rows that
 * it can find first. The index of `on` is named because an optimizer may prefer the index of another condition, and
 * read rows that are related to others.
 */
function compileExists (exists: Exists, scope: TableScope): Expression<SqlBool> {
  const { negated, offset, table, on, condition, index } = exists
  if (table.kind === 'view' || scope.usesLists === true) return compileInList(exists, scope)
  const { rows, other } = relatedRows({ table, on, condition }, index, scope)
  const skipped = offset === undefined ? sql`` : sql` offset ${offset}`
  return sql`(select 1 ${rows} limit 1${skipped}${other.lock}) is ${sql.raw(negated ? 'null' : 'not null')}`
}

/** `from <table> where <on> and …` of a subquery. */
export function relatedRows (
  { table, on, condition }: Omit<MemberOf, 'name'>,
  index: Index | undefined,
  scope: TableScope
) {
  const other = scope.add(table, index)
  // the column on the left decides the collation on SQLite
  const conditions: Array<Expression<unknown>> = on.map((pair) =>
    other.relate(sql`${other.column(pair.other)} = ${scope.qualified(pair.column)}`)
  )
  const { first, left } = findFirst(other, table, [condition])
  for (const each of left) if (!isTrue(each)) conditions.push(compileCondition(each, other))
  const rows = sql`from ${other.from(first)} where ${sql.join(conditions, sql` and `)}`
  return { rows, other }
}

/**
 * `((<columns> in (select <columns of the other table> from <it> where …)) is true) = 1`: a correlated subquery would
 * read a view without an index once for each row. So would this one inside another subquery, unless a derived table has
 * its rows, and on MySQL `is not true` for several columns that may be NULL, which `not (… is true)` becomes.
 */
function compileInList ({ negated, offset, table, on, condition }: Exists, scope: TableScope): Expression<SqlBool> {
  const other = scope.add(table, undefined)
  const own = on.map(({ column }) => scope.qualified(column))
  const theirs = on.map((pair) => other.column(pair.other))
  const { first, left } = findFirst(other, table, [condition])
  const where = left.every(isTrue)
    ? sql``
    : sql` where ${sql.join(left.map((each) => compileCondition(each, other)), sql` and `)}`
  const counted = offset === undefined
    ? sql``
    : sql` group by ${sql.join(on.map((pair, index) => sql`${theirs[index]}${collationOf(pair)}`))} having count(*) > ${
      offset}`
  const from = sql`from ${other.from(first)}${where}${counted}${other.lock}`
  const names = on.map((_, index) => sql.id(`v${index}`))
  const derived = sql`select distinct ${sql.join(theirs.map((each, index) => sql`${each} as ${names[index]}`))} ${from}`
  const rows = scope.isInner === true && table.kind === 'view'
    ? sql`select ${sql.join(names)} from (${derived}) as ${sql.id('d')}`
    : sql`select ${sql.join(theirs)} ${from}`
  return sql`(((${sql.join(own)}) in (${rows})) is true) = ${sql.raw(negated ? '0' : '1')}`
}

/**
 * SQLite: the collation by which the column of a view is compared with the column of a table, which the database knows
 * by the latter.
 */
export const collationOf = ({ column, other }: Pair): RawBuilder<unknown> =>
  other.collation === undefined && column.collation !== undefined ? sql` collate ${sql.id(column.collation)}` : sql``

// MySQL, MariaDB and SQLite sort NULL as the lowest value, first in ascending and last in descending order. The rows
// after a position depend on this (src/plan/order.ts). No index has another order.

/** The ranks of the types inside JSON. Without a value, and for JSON's null, it is the lowest, or the greatest. */
const RANKS = ['boolean', 'number', 'text'] as const
const [LOWEST, OTHERS, GREATEST] = [0, RANKS.length + 1, RANKS.length + 2]

/** Sorts by the rank of the type, then by the values of each type. */
function insideTerms (
  { column, inside: place, isNullGreatest, direction }: InsideOrder,
  stored: AliasableExpression<Parameter>
): Array<RawBuilder<unknown>> {
  const inside = column.type.inside as JsonInside
  const { type, fill } = compilePlace(place, inside, stored)
  const nullName = sql.lit(inside.nullName)
  const ranks = RANKS.flatMap((scalar, index) =>
    inside.scalars[scalar].types.map((name) => sql`when ${sql.lit(name)} then ${sql.lit(index + 1)}`))
  const rank = sql`case coalesce(${type}, ${nullName}) when ${nullName} then ${
    sql.lit(isNullGreatest === true ? GREATEST : LOWEST)} ${sql.join(ranks, sql` `)} else ${sql.lit(OTHERS)} end`
  const values = inside.sorted.map((sorted) =>
    sql`case when ${type} in (${listTypes(sorted)}) then ${fill(sorted.value)} end`)
  return [rank, ...values].map((term) => sql`${term} ${sql.raw(direction)}`)
}

/** `expressionOf`: of the column of a term. `rows`: of a search. */
export function orderTerms (
  order: readonly Order[],
  expressionOf: (term: Order) => Expression<unknown>,
  rows?: TableScope
): Array<RawBuilder<unknown>> {
  const compiled = (term: Order): Expression<unknown> =>
    isRelevance(term.column) ? compileRelevance(term.column.match, rows as TableScope) : expressionOf(term)
  return order.flatMap((term) => {
    if (isInside(term)) return insideTerms(term, expressionOf(term) as AliasableExpression<Parameter>)
    const [value, direction] = [compiled(term), sql.raw(term.direction)]
    return term.isNullGreatest === true
      ? sql`${value} is null ${direction}, ${value} ${direction}`
      : sql`${value} ${direction}`
  })
}
