/** How a statement names its tables and their columns. */
import {
  type AliasableExpression, type Expression, type OperationNodeSource, type RawBuilder, sql, type SqlBool
} from 'kysely'
import { baseTable, type Column, type Index, type Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import type { Parameter } from '../types/column-type.ts'
import { EVERY_ROW, reference, tableNamed } from './builder.ts'

type Relate = <T>(equality: Expression<T>) => Expression<T>

/** A table of a statement. */
export interface TableScope {
  /** Its alias, or its own name. */
  readonly name: string
  /** With the name of the table, if the statement has several. */
  readonly column: (column: Column) => AliasableExpression<Parameter>
  /** With the name of the table, also where an alias or a table of a subquery may have a column of this name. */
  readonly qualified: (column: Column) => AliasableExpression<Parameter>
  /** Rows are found before their virtual columns are read (src/plan/second-form.ts). */
  readonly isSecondForm: boolean
  /** A table of a subquery. */
  readonly isInner?: true
  /** Set where related rows are found by lists, which MySQL reads once, or looks up for each row if these are few. */
  readonly usesLists?: true
  /** Adds a table of a subquery. `index`: finds its rows. */
  readonly add: (table: Table, index: Index | undefined) => TableScope & {
    readonly from: (first?: FirstFound) => OperationNodeSource
    /** Marks an equality of two tables as selective. */
    readonly relate: Relate
    readonly lock: RawBuilder<unknown>
  }
}

/** A condition that rows satisfy before anything else of them is read, and the key that finds them then. */
export interface FirstFound {
  readonly where: Expression<SqlBool>
  readonly key: readonly Column[]
  readonly index: Index
}

/** The tables of a statement, by their indexes. */
export interface StatementTables {
  readonly at: (index: number) => TableScope
  /** A table for FROM. `forced`: the index by which its rows are found. */
  readonly from: (index: number, forced?: Index, first?: FirstFound) => OperationNodeSource
  readonly relate: Relate
}

/** An alias, or what numbered aliases begin with, that the service may use beside names of the catalog. */
export function unlike (names: readonly string[], alias: string): string {
  const pattern = new RegExp(`^${alias}\\d*$`, 'i')
  return names.some((name) => pattern.test(name)) ? unlike(names, `${alias}_`) : alias
}

/** In a subquery on one table alone. */
export const bare: TableScope['column'] = (column) => reference(column.name)

/** SQLite has no index that can be forced safely, and takes the one that was defined last if two seem equally good. */
const rarely: Relate = <T>(equality: Expression<T>) => sql<T>`likelihood(${equality}, 0.000001)`

/**
 * A table can occur several times. One table has its own name; several have the aliases `t0`, `t1`, … `lock`: the lock
 * on rows that subqueries find.
 */
export function statementTables (
  engine: Engine,
  seen: readonly Table[],
  { lock = sql``, isSecondForm = false, isAlone = seen.length === 1 && !isSecondForm }: {
    readonly lock?: RawBuilder<unknown> | undefined
    readonly isAlone?: boolean
    readonly isSecondForm?: boolean | undefined
  } = {}
): StatementTables {
  const tables = [...seen]
  const own = isAlone ? tables[0]?.name : undefined
  const { namesIndexes } = TRAITS[engine]
  const relate: Relate = namesIndexes ? (equality) => equality : rarely
  const names = own === undefined ? [] : [own]
  const [prefix, firstPrefix] = [unlike(names, 't'), unlike(names, 'g')]
  const nameOf = (index: number): string => index === 0 && own !== undefined ? own : `${prefix}${index}`
  const named = (index: number): OperationNodeSource => {
    const table = tableNamed((tables[index] as Table).name)
    return index === 0 && own !== undefined ? table : table.as(nameOf(index))
  }
  const at = (index: number): TableScope => {
    const name = nameOf(index)
    const qualified: TableScope['column'] = (column) => reference(column.name, name)
    const column: TableScope['column'] = name === own && !isSecondForm ? bare : qualified
    return { name, column, qualified, isSecondForm, add }
  }
  // Kysely has neither hints nor STRAIGHT_JOIN
  const fromFirst = (index: number, { where, key, index: unique }: FirstFound): OperationNodeSource => {
    const { name, indexes } = baseTable(tables[index] as Table)
    const { qualified } = at(index)
    const found = `${firstPrefix}${index}`
    const pairs = key.map((column) => sql`${qualified(column)} = ${reference(column.name, found)}`)
    // an order by relevance needs the index of words
    const words = indexes.filter(({ fullText }) => fullText !== undefined)
    const hint = sql`force index (${sql.join([unique, ...words].map((each) => sql.id(each.name)))})`
    const columns = sql.join(key.map(bare))
    const keys = sql`select ${columns} from ${tableNamed(name)} where ${where} limit ${EVERY_ROW}${lock}`
    return sql`((${keys}) as ${sql.id(found)} straight_join ${named(index)} ${hint} on ${
      sql.join(pairs, sql` and `)})`
  }
  const from: StatementTables['from'] = (index, forced, first) => {
    if (first !== undefined) return fromFirst(index, first)
    if (forced === undefined || !namesIndexes) return named(index)
    // Kysely has no hints
    return sql`${named(index)} force index (${sql.id(forced.name)})`
  }
  const add: TableScope['add'] = (table, forced) => {
    const index = tables.push(table) - 1
    return { ...at(index), from: (first) => from(index, forced, first), relate, lock, isInner: true }
  }
  return { at, from, relate }
}

/** The only table of a statement. */
export const onlyTable = (engine: Engine, table: Table): TableScope => statementTables(engine, [table]).at(0)
