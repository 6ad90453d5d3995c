/**
 * Each value of `on` has a part of a UNION ALL that stops at the limit, because only the database knows which texts are
 * equal.
 */
import { type AliasedExpression, type RawBuilder, sql } from 'kysely'
import { OF_RESULT, type Column, type Table } from '../catalog/catalog.ts'
import type { Pair } from '../catalog/relations.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { cellsOf, tablesIn, haveView, tablesRead } from '../plan/members.ts'
import type { ComputedMember, Condition, ListMember, ManyMember, RowLock } from '../plan/plan.ts'
import { type Cell, type Parameter, type Value, RELATED_TEXT, type Wrapping } from '../types/column-type.ts'
import { integerType } from '../types/exact-numbers.ts'
import { build, type BuiltStatement, join, reference } from './builder.ts'
import { compute, describeCells, locksOf, selectCells, selectRows, termsOf, withLock } from './compile-select.ts'
import { wrap, collationOf, columnsOf, compileCondition } from './conditions.ts'
import { compileCached, fill, findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'
import { statementTables, type TableScope } from './table-scope.ts'

/** Values of some rows, with the id by which their related rows are recognized. */
export interface OnValues {
  readonly id: number
  readonly values: readonly Value[]
}

/**
 * Maximum number of parameters of a statement, of which SQLite allows 32,766, and of characters of its text, of which
 * servers take at least 16 MB.
 */
const MAX_PARAMETERS = 30_000
const MAX_LENGTH = 2_000_000

/** For the id of the values of a part, with the type that the servers send. */
const VALUE_ID: Column = {
  ...OF_RESULT,
  name: 'value id',
  type: { ...integerType(64, false), sentAs: new Set(['null', 'integer']) },
  declaration: 'bigint',
  nullable: false
}

/** The rows related to one row. `parameters`: the id of the values of `on`, then these. */
interface Part<M extends ListMember = ListMember> {
  readonly table: Table
  readonly parameters: readonly Cell[]
  readonly member: M
  readonly lock: RowLock
  readonly isSecondForm?: true
}

interface Compiling {
  readonly engine: Engine
  readonly counts: StatementCounts
  readonly lock?: RowLock
}

/**
 * Usually one statement. The first cell of a row is the id of the values of its part. Each is compiled when the
 * previous one has run, because every part repeats the values of the member's filters, which can be millions in total.
 */
export function * compileRelated (
  member: ListMember,
  onValues: readonly OnValues[],
  { engine, counts, lock }: Compiling
): Generator<Statement, void> {
  const part: Part = { table: member.table, parameters: [0, ...member.on.map(() => null)], member, lock }
  const prepare = (part: Part) => {
    const { key, values } = keyOf(part)
    const template = findTemplate(part, { counts, key, engine }, describePart)
    const memberValues = values.slice(part.parameters.length)
    const compile = (some: readonly OnValues[]): Statement => {
      const parameters = some.flatMap(({ id, values }) => fill(template, [id, ...values, ...memberValues]))
      return { ...template, ...unite(template, some.length, engine), parameters, isUnion: true }
    }
    return { template, values, compile }
  }
  const { template, values, compile } = prepare(part)
  const length = fill(template, values).reduce<number>((sum, each) => sum + lengthOf(each), template.sql.length)
  for (const some of divide(onValues, { parameters: template.slots.length, length, times: 1 })) {
    const secondForm = () => prepare({ ...part, isSecondForm: true }).compile(some)
    yield template.hasSecondForm === true ? { ...compile(some), secondForm } : compile(some)
  }
}

/** `parameters`: for each row of values; `length`: the characters without them; `times`: how often they are there. */
function * divide (
  onValues: readonly OnValues[],
  { parameters, length, times, room = MAX_PARAMETERS }: {
    readonly parameters: number
    readonly length: number
    readonly times: number
    readonly room?: number
  }
): Generator<OnValues[]> {
  let some: OnValues[] = []
  let total = 0
  for (const each of onValues) {
    const size = length + times * each.values.reduce<number>((sum, value) => sum + lengthOf(value), 0)
    if (some.length > 0 && ((some.length + 1) * parameters > room || total + size > MAX_LENGTH)) {
      yield some
      some = []
      total = 0
    }
    some.push(each)
    total += size
  }
  if (some.length > 0) yield some
}

/** Approximate; each byte has two. */
const lengthOf = (cell: Cell): number =>
  typeof cell === 'string' ? cell.length : Buffer.isBuffer(cell) ? 2 * cell.length : 8

/** `limit`: the number of rows; `parameters`: the values of `on`. */
interface First extends Part<ManyMember> { readonly limit: number }

/**
 * All of these values at once, ordered by value, up to a number of rows. The first cell of a row is its value. Only for
 * an `on` of one column that is not a text.
 */
export function compileFirst (
  member: ManyMember,
  onValues: readonly OnValues[],
  rows: number,
  { counts, lock }: Omit<Compiling, 'engine'>
): Statement {
  const parameters = onValues.map(({ values }) => values[0] as Value)
  const first: First = { table: member.table, parameters, limit: rows, member, lock }
  return compileCached(first, { engine: 'mysql', counts }, describeFirst)
}

function describeFirst ({ table, parameters, limit, member, lock, isSecondForm }: First): Template {
  const { condition, index, order } = member
  const [{ other }] = member.on as [Pair]
  const cells = cellsOf(member)
  const locks = locksOf(table, lock, 'mysql')
  const tables = statementTables('mysql', tablesIn(table, cells), { lock: locks?.inner, isSecondForm })
  const among: Condition = { kind: 'in', column: other, negated: false, parameters: parameters as readonly Value[] }
  const value = tables.at(0).column(other).as('v0')
  const related = selectRows(tables, cells, {
    table,
    index: index?.index,
    conditions: [among, condition],
    order: [{ column: other, direction: index?.direction ?? 'asc' }, ...order],
    engine: 'mysql'
  }).select([value, ...selectCells(tables, cells, 1)]).limit(limit)
  const built = build(withLock(related, locks), 'mysql')
  return withFirstColumn(
    other,
    describeCells({ table, cells, conditions: [condition], engine: 'mysql', isSecondForm }, built)
  )
}

const withFirstColumn = (column: Column, template: Template): Template => ({
  ...template,
  columns: [column, ...template.columns],
  sources: [template.table, ...template.sources as readonly Table[]]
})

/** Its first cell is the id of the values to which a row is related. */
function describeMember (
  { member, isSecondForm }: Pick<Part, 'member' | 'isSecondForm'>,
  engine: Engine,
  built: BuiltStatement
): Template {
  const { table, condition } = member
  return withFirstColumn(
    VALUE_ID,
    describeCells({ table, cells: cellsOf(member), conditions: [condition], engine, isSecondForm }, built)
  )
}

const describePart = (part: Part, engine: Engine): Template => describeMember(part, engine, buildPart(part, engine))

/**
 * `select <number>, <cells> from <table> where <on> = … and … order by … limit n`, or `select <number>, <aggregates>
 * from …`
 */
function buildPart ({ member, lock, isSecondForm, parameters: [id, ...values] }: Part, engine: Engine): BuiltStatement {
  const { table, on, condition, index } = member
  const cells = cellsOf(member)
  const locks = locksOf(table, lock, engine)
  const tables = statementTables(engine, tablesIn(table, cells), { lock: locks?.inner, isSecondForm })
  const related = on.map(({ other }, index): Condition =>
    ({ kind: 'compare', column: other, operator: '=', parameter: values[index] as Parameter })
  )
  const rows = { table, index: index?.index, related, conditions: [condition], engine }
  const idColumn = sql<Parameter>`${id}`.as('v0')
  if (member.kind === 'computed') {
    const selected = [idColumn, ...computedCells(member, engine, tables.at(0))]
    return build(selectRows(tables, cells, rows).select(selected), engine)
  }
  const query = selectRows(tables, cells, { ...rows, order: member.order })
    .select([idColumn, ...selectCells(tables, cells, 1)])
    .limit(member.limit)
  return build(withLock(query, locks), engine)
}

const computedCells = (
  { columns }: ComputedMember,
  engine: Engine,
  table: TableScope
): Array<AliasedExpression<Parameter, string>> =>
  columns.map((column, index) => wrap(column.type.selected, compute(column, engine, table)).as(`v${index + 1}`))

/** What stands around a part of a UNION that has an order and a limit. */
const PART: Readonly<Record<Engine, readonly [string, string]>> = {
  mysql: ['(', ')'],
  sqlite: ['select * from (', ')']
}

function unite (
  { sql, pieces }: Pick<Template, 'sql' | 'pieces'>,
  count: number,
  engine: Engine
): Pick<Template, 'sql' | 'pieces'> {
  const [before, after] = PART[engine]
  const between = `${after} union all ${before}`
  const [first, ...others] = pieces as [string, ...string[]]
  const last = others.at(-1) ?? ''
  const united = [before + first]
  for (let part = 0; part < count; part++) {
    united.push(...others.slice(0, -1), part === count - 1 ? last + after : last + between + first)
  }
  return { sql: Array.from({ length: count }, () => before + sql + after).join(' union all '), pieces: united }
}

// A member that reads a view joins the values of `on` to the rows, so that the view is read once for all of them. The
// parts of a UNION ALL would read it once each.

export function isReadAtOnce (member: ListMember): boolean {
  return haveView(tablesRead(member.table, cellsOf(member), [member.condition]))
}

/** `parameters`: the id of the values of each row, then these. */
interface AtOnce extends Omit<Part, 'lock'> {
  /** Unlike the key of a part of a UNION. */
  readonly isAtOnce: true
}

/**
 * Usually one statement. The first cell of a row is the id of its values; rows with the same id follow each other, and
 * one that is computed is alone.
 */
export function * compileAtOnce (
  member: ListMember,
  onValues: readonly OnValues[],
  engine: Engine,
  counts: StatementCounts
): Generator<Statement, void> {
  const own = keyOf(member).values.length
  const sizes = { parameters: 1 + 2 * member.on.length, length: 0, times: 2, room: MAX_PARAMETERS - own }
  for (const some of divide(onValues, sizes)) {
    const parameters = some.flatMap(({ id, values }) => [id, ...values])
    const plan: AtOnce = { table: member.table, parameters, member, isAtOnce: true }
    yield compileCached(plan, { engine, counts }, describeAtOnce)
  }
}

const describeAtOnce = (plan: AtOnce, engine: Engine): Template => ({
  ...describeMember(plan, engine, buildAtOnce(plan, engine)),
  // through a derived table, as through a UNION
  isUnion: true
})

/**
 * `select … from (select k.v0, <cells>, row_number() over (partition by k.v0 order by …) as rn from <table> join
 * (<values>) as k on … where …) as r where rn <= n`, or `select k.v0, <aggregates> from … group by k.v0`
 */
function buildAtOnce (plan: AtOnce, engine: Engine): BuiltStatement {
  const { member } = plan
  const { table, on, condition, index } = member
  const cells = cellsOf(member)
  const tables = statementTables(engine, tablesIn(table, cells), { isAlone: false, isSecondForm: plan.isSecondForm })
  const own = tables.at(0)
  const width = on.length + 1
  const operands = columnsOf(own)
  const pairs = on.flatMap((pair, each) => {
    const theirs = sql<Parameter>`${operands.left(pair.other)}${collationOf(pair)}`
    const parameters = plan.parameters.filter((_, position) => position % width === each + 1) as Value[]
    return [
      sql`${theirs} = ${reference(`v${each + 1}`, 'k')}`,
      // otherwise an optimizer may join the values to all rows of the view
      compileCondition({ kind: 'in', column: pair.other, negated: false, parameters }, own, {
        ...operands,
        left: () => theirs
      })
    ]
  })
  const values = sql`(${listValues(on, plan.parameters, engine)})`.as('k')
  const related = selectRows(tables, cells, {
    table,
    index: index?.index,
    beside: join('InnerJoin', values, sql.join(pairs, sql` and `)),
    conditions: [condition],
    engine
  })
  const id = reference('v0', 'k')
  if (member.kind === 'computed') {
    return build(related.select([id.as('v0'), ...computedCells(member, engine, own)]).groupBy(id), engine)
  }
  const terms = termsOf(member.order, tables, cells, engine)
  const order = terms.length === 0 ? sql`` : sql` order by ${sql.join(terms)}`
  const number = sql<number>`row_number() over (partition by ${id}${order})`.as('rn')
  const rows = related.select([id.as('v0'), ...selectCells(tables, cells, 1), number])
  const names = sql.join([id, ...cells.cells].map((_, each) => sql.id(`v${each}`)))
  return build(
    sql`select ${names} from ${rows} as ${sql.id('r')} where rn <= ${member.limit} order by v0, rn`,
    engine
  )
}

/** `select ? as v0, ? as v1 union all select …`, with few nodes. `parameters`: the id and the values of each row. */
function listValues (on: readonly Pair[], parameters: readonly Cell[], engine: Engine): RawBuilder<unknown> {
  const around: Wrapping[] = [['', ''], ...on.map((pair) => listed(pair, engine))]
  const texts = ['select ']
  for (let index = 0; index < parameters.length; index++) {
    const cell = index % around.length
    const [before, after] = around[cell] as Wrapping
    texts[index] += before
    const isLast = cell === around.length - 1
    texts.push(`${after} as v${cell}${!isLast ? ', ' : index === parameters.length - 1 ? '' : ' union all select '}`)
  }
  return sql(Object.assign(texts, { raw: [] }), ...parameters)
}

/** So that the value has the type of the column. */
function listed ({ other: { type, charset, collation } }: Pair, engine: Engine): Wrapping {
  if (TRAITS[engine].sendsValues) return ['', '']
  if (type.relatedAs !== RELATED_TEXT) return type.listed ?? type.compared ?? ['', '']
  return ['convert(', ` using ${quote(charset as string)}) collate ${quote(collation as string)}`]
}

const quote = (name: string): string => `\`${name.replaceAll('`', '``')}\``
