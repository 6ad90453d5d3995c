/**
 * The statements of a member that needs its own. Each value of `on` has a part of a UNION ALL, which selects the rows
 * related to it and stops at the limit, because only the database knows which texts are equal.
 */
import { type RawBuilder, sql } from 'kysely'
import { OF_RESULT, type Column, type Table } from '../catalog/catalog.ts'
import type { Pair } from '../catalog/relations.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { cellsOfMember, tablesIn, haveView, tablesRead } from '../plan/members.ts'
import type { ComputedMember, Condition, ListMember, ManyMember, RowLock } from '../plan/plan.ts'
import { type Cell, type Parameter, type Value, RELATED_TEXT, type Wrapping } from '../types/column-type.ts'
import { integerType } from '../types/integer.ts'
import { valueClassesOf } from '../types/value-classes.ts'
import { type BuiltStatement, severalTables, type TableTokens } from './builder.ts'
import { describeCells, selectCells, selectRows, termsOf } from './compile-members.ts'
import { compute, lockClause } from './compile-select.ts'
import { wrap, collationOf, columnsOf, compileCondition } from './conditions.ts'
import { fill, findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'

/** The values of `on` of some rows, and the id by which their related rows are recognized. */
export interface OnValues {
  readonly id: number
  readonly values: readonly Value[]
}

/**
 * Maximum number of parameters of a statement, of which SQLite allows 32,766, and of characters of its text, of which
 * servers take at least 16 MB.
 */
export const MAX_PARAMETERS = 30_000
export const MAX_LENGTH = 2_000_000

/** The column for the id of the values of a part, with the type that the servers send. */
const VALUE_ID: Column = {
  ...OF_RESULT,
  name: 'value id',
  type: {
    ...integerType(64, false),
    sentAs: valueClassesOf({
      name: 'bigint',
      declaration: 'bigint',
      length: null,
      bytes: null,
      scale: null,
      charset: null,
      srid: null,
      json: false
    })
  },
  declaration: 'bigint',
  nullable: false
}

/**
 * A part of a statement, which selects the rows related to one row. `parameters`: the id of the values of `on`, then
 * these.
 */
interface Part<M extends ListMember = ListMember> {
  readonly table: Table
  readonly parameters: readonly Cell[]
  readonly member: M
  readonly lock: RowLock
}

/** How the statements of a member are compiled. */
interface Compiling {
  readonly engine: Engine
  readonly counts: StatementCounts
  /** The lock on the rows that they read. */
  readonly lock?: RowLock
}

/**
 * Compiles the statements that select the rows related to these values, usually one. The first cell of a row is the id
 * of the values of its part. Compiles each statement when the previous one has run, because every part repeats the
 * values of the member's filters, which can be millions in total.
 */
export function * compileRelated (
  member: ListMember,
  onValues: readonly OnValues[],
  { engine, counts, lock }: Compiling
): Generator<Statement, void> {
  const part: Part = { table: member.table, parameters: [0, ...member.on.map(() => null)], member, lock }
  const { key, values: partValues } = keyOf(part)
  const template = findTemplate(part, { engine, counts, key }, (withSlots) =>
    describeMember(withSlots.member, engine, buildPart(withSlots, engine))
  )
  const memberValues = partValues.slice(part.parameters.length)
  let parameters: Cell[] = []
  let [count, length] = [0, 0]
  for (const { id, values } of onValues) {
    const own = fill(template, [id, ...values, ...memberValues])
    const size = own.reduce<number>((sum, each) => sum + lengthOf(each), template.sql.length)
    if (count > 0 && (parameters.length + own.length > MAX_PARAMETERS || length + size > MAX_LENGTH)) {
      yield unitePart(template, count, parameters, engine)
      parameters = []
      count = length = 0
    }
    for (const each of own) parameters.push(each)
    count++
    length += size
  }
  if (count > 0) yield unitePart(template, count, parameters, engine)
}

const unitePart = (template: Template, count: number, parameters: readonly Cell[], engine: Engine): Statement => ({
  ...template,
  ...unite(template, count, engine),
  parameters,
  isUnion: true
})

/** The approximate number of characters of a literal; each byte has two. */
export const lengthOf = (cell: Cell): number =>
  typeof cell === 'string' ? cell.length : Buffer.isBuffer(cell) ? 2 * cell.length : 8

/** `limit`: the number of rows; `parameters`: the values of `on`. */
interface First extends Part<ManyMember> { readonly limit: number }

/**
 * Compiles the statement that selects the rows related to all of these values at once, ordered by value, up to a number
 * of rows. The first cell of a row is its value. Only for an `on` of one column that is not a text.
 */
export function compileFirst (
  member: ManyMember,
  onValues: readonly OnValues[],
  rows: number,
  { counts, lock }: Omit<Compiling, 'engine'>
): Statement {
  const first: First = {
    table: member.table,
    parameters: onValues.map(({ values }) => values[0] as Value),
    limit: rows,
    member,
    lock
  }
  const { key, values } = keyOf(first)
  const template = findTemplate(first, { engine: 'mysql', counts, key }, describeFirst)
  return { ...template, parameters: fill(template, values) }
}

function describeFirst ({ table, parameters, limit, member, lock }: First): Template {
  const { condition, index, order } = member
  const [{ other }] = member.on as [Pair]
  const cells = cellsOfMember(member)
  const locking = lockClause(table, lock, 'mysql')
  const tables = severalTables('mysql', tablesIn(table, cells), locking)
  const among: Condition = { kind: 'in', column: other, negated: false, parameters: parameters as readonly Value[] }
  const related = selectRows(tables, cells, {
    index: index?.index,
    conditions: [among, condition],
    order: [{ column: other, direction: index?.direction ?? 'asc' }, ...order],
    engine: 'mysql'
  })
  const value = sql`${sql.ref(tables.at(0).token(other))} as ${sql.id('v0')}`
  return withFirstColumn(
    other,
    describeCells(
      { table, cells, conditions: [condition], engine: 'mysql' },
      tables.build(sql`select ${value}, ${selectCells(tables, cells, 1)} ${related} limit ${limit}${locking}`)
    )
  )
}

/** Adds the column before those of the cells. */
const withFirstColumn = (column: Column, template: Template): Template => ({
  ...template,
  columns: [column, ...template.columns],
  sources: [template.table, ...template.sources as readonly Table[]]
})

/** Describes a statement whose first cell is the id of the values to which a row is related. */
export function describeMember (member: ListMember, engine: Engine, built: BuiltStatement): Template {
  const { table, condition } = member
  const cells = cellsOfMember(member)
  const described = { table, conditions: [condition], engine }
  if (member.kind === 'many') return withFirstColumn(VALUE_ID, describeCells({ ...described, cells }, built))
  const template = describeCells({ ...described, cells: { ...cells, cells: [] } }, built)
  const columns = [VALUE_ID, ...member.columns]
  return { ...template, columns, sources: columns.map(() => template.table) }
}

/**
 * `select <number>, <cells> from <table> where <on> = … and … order by … limit n`, or `select <number>, <aggregates>
 * from …`
 */
function buildPart ({ member, lock, parameters: [id, ...values] }: Part, engine: Engine): BuiltStatement {
  const { table, on, condition, index } = member
  const cells = cellsOfMember(member)
  const locking = lockClause(table, lock, engine)
  const tables = severalTables(engine, member.kind === 'many' ? tablesIn(table, cells) : [table], locking)
  const related = on.map(({ other }, index): Condition =>
    ({ kind: 'compare', column: other, operator: '=', parameter: values[index] as Parameter })
  )
  const rows = { index: index?.index, related, conditions: [condition], engine }
  const idColumn = sql`${id} as ${sql.id('v0')}`
  if (member.kind === 'many') {
    const selected = selectRows(tables, cells, { ...rows, order: member.order })
    const limited = sql`${selected} limit ${member.limit}${locking}`
    return tables.build(sql`select ${idColumn}, ${selectCells(tables, cells, 1)} ${limited}`)
  }
  const computed = computedCells(member, engine, tables.at(0))
  return tables.build(
    sql`select ${idColumn}, ${computed} ${selectRows(tables, { joined: [] }, { ...rows, order: [] })}`
  )
}

/** Selects the values of a computed member as `v1`, `v2`, … */
export const computedCells = ({ columns }: ComputedMember, engine: Engine, table: TableTokens): RawBuilder<unknown> =>
  sql.join(
    columns.map((column, index) => {
      const value = compute(column, engine, table)
      return sql`${wrap(column.type.selected, value)} as ${sql.id(`v${index + 1}`)}`
    })
  )

/** What stands around a part of a UNION that has an order and a limit. */
const PART: Readonly<Record<Engine, readonly [string, string]>> = {
  mysql: ['(', ')'],
  sqlite: ['select * from (', ')']
}

/** Joins the text of several parts. */
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

// The statement of a member that reads a view: it joins the values of `on` to the rows, so that the view is read once
// for all of them. The parts of a UNION ALL would read it once each.

/** Whether the statement of the member reads a view. */
export function isReadAtOnce (member: ListMember): boolean {
  return haveView(tablesRead(member.table, cellsOfMember(member), [member.condition]))
}

/** `parameters`: the id of the values of each row, then these. */
interface AtOnce {
  readonly table: Table
  readonly parameters: readonly Cell[]
  readonly member: ListMember
  /** Distinguishes its key from that of a part of a UNION. */
  readonly isAtOnce: true
}

/**
 * Compiles the statements that select the rows related to all of these values, usually one. The first cell of a row is
 * the id of its values; rows with the same id follow each other, and one that is computed is alone.
 */
export function * compileAtOnce (
  member: ListMember,
  onValues: readonly OnValues[],
  engine: Engine,
  counts: StatementCounts
): Generator<Statement, void> {
  const own = keyOf(member).values.length
  for (const some of divide(onValues, MAX_PARAMETERS - own)) {
    const parameters = some.flatMap(({ id, values }) => [id, ...values])
    const plan: AtOnce = { table: member.table, parameters, member, isAtOnce: true }
    const { key, values } = keyOf(plan)
    const template = findTemplate(plan, { engine, counts, key }, (withSlots) => ({
      ...describeMember(withSlots.member, engine, buildAtOnce(withSlots, engine)),
      // through a derived table, as through a UNION
      isUnion: true
    }))
    yield { ...template, parameters: fill(template, values) }
  }
}

/** Divides values among statements that are not too large. Each value is there twice. */
function * divide (onValues: readonly OnValues[], room: number): Generator<OnValues[]> {
  let some: OnValues[] = []
  let [count, length] = [0, 0]
  for (const each of onValues) {
    const { values } = each
    const parameters = 1 + 2 * values.length
    const size = 2 * values.reduce<number>((sum, one) => sum + lengthOf(one), 0)
    if (some.length > 0 && (count + parameters > room || length + size > MAX_LENGTH)) {
      yield some
      some = []
      count = length = 0
    }
    some.push(each)
    count += parameters
    length += size
  }
  if (some.length > 0) yield some
}

/**
 * `select … from (select k.v0, <cells>, row_number() over (partition by k.v0 order by …) as rn from <table> join
 * (<values>) as k on … where …) as r where rn <= n`, or `select k.v0, <aggregates> from … group by k.v0`
 */
function buildAtOnce (plan: AtOnce, engine: Engine): BuiltStatement {
  const { member } = plan
  const { table, on, condition, index } = member
  const cells = cellsOfMember(member)
  const tables = severalTables(engine, member.kind === 'many' ? tablesIn(table, cells) : [table])
  const own = tables.at(0)
  const width = on.length + 1
  const operands = columnsOf(own)
  const pairs = on.flatMap((pair, each) => {
    const theirs = sql<Parameter>`${operands.left(pair.other)}${collationOf(pair)}`
    const parameters = plan.parameters.filter((_, position) => position % width === each + 1) as Value[]
    return [
      sql`${theirs} = ${sql.ref(`k.v${each + 1}`)}`,
      // otherwise an optimizer may join the values to all rows of the view
      compileCondition({ kind: 'in', column: pair.other, negated: false, parameters }, own, {
        ...operands,
        left: () => theirs
      })
    ]
  })
  const values = listValues(on, plan.parameters, engine)
  const beside = sql` join (${values}) as ${sql.id('k')} on ${sql.join(pairs, sql` and `)}`
  const from = selectRows(tables, member.kind === 'many' ? cells : { joined: [] }, {
    index: index?.index,
    beside,
    conditions: [condition],
    order: [],
    engine
  })
  const id = sql.ref('k.v0')
  if (member.kind === 'computed') {
    const selected = computedCells(member, engine, own)
    return tables.build(sql`select ${id} as ${sql.id('v0')}, ${selected} ${from} group by ${id}`)
  }
  const terms = termsOf(member.order, tables, cells, engine)
  const order = terms.length === 0 ? sql`` : sql` order by ${sql.join(terms)}`
  const number = sql`row_number() over (partition by ${id}${order}) as ${sql.id('rn')}`
  const rows = sql`select ${id} as ${sql.id('v0')}, ${selectCells(tables, cells, 1)}, ${number} ${from}`
  const names = sql.join([id, ...cells.cells].map((_, each) => sql.id(`v${each}`)))
  return tables.build(
    sql`select ${names} from (${rows}) as ${sql.id('r')} where rn <= ${member.limit} order by v0, rn`
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

/** SQL around a value, by which it has the type of the column. */
function listed ({ other: { type, charset, collation } }: Pair, engine: Engine): Wrapping {
  if (TRAITS[engine].sendsValues) return ['', '']
  if (type.relatedAs !== RELATED_TEXT) return type.listed ?? type.compared ?? ['', '']
  return ['convert(', ` using ${quote(charset as string)}) collate ${quote(collation as string)}`]
}

/** The name of a character set or collation of the catalog. */
const quote = (name: string): string => `\`${name.replaceAll('`', '``')}\``
