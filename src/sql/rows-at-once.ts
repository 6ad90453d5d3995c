/**
 * The statement of a member that reads a view: it joins the values of `on` to the rows, so that the view is read once
 * for all of them. The parts of a UNION ALL would read it once each.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { cellsOfMember, haveView, tablesIn, tablesRead } from '../plan/cells.ts'
import type { Pair } from '../catalog/relations.ts'
import type { ListMember } from '../plan/plan.ts'
import { type Cell, type Parameter, RELATED_TEXT, type Value, type Wrapping } from '../types/column-type.ts'
import { severalTables } from './aliased-tables.ts'
import type { BuiltStatement } from './builder.ts'
import { selectCells, selectRows, termsOf } from './compile-members.ts'
import { collationOf, columnsOf, compileCondition } from './conditions.ts'
import { computedCells, describeMember, lengthOf, MAX_LENGTH, MAX_PARAMETERS, type OnValues } from './related-rows.ts'
import { fill, findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement } from './statement.ts'

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
