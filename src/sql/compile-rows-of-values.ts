/**
 * Compiles one update of MySQL and MariaDB that gives rows values of their own: their table is joined with the values,
 * from which the join begins. The text is built for one row, which the dialect repeats.
 */
import { type Expression, type RawBuilder, sql } from 'kysely'
import { baseTable, type Column, type Index, mayFire, statementTable, type Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import type { Assignment, UpdatePlan } from '../plan/plan.ts'
import { isWhole } from '../plan/row-keys.ts'
import type { Cell } from '../types/column-type.ts'
import { bind } from './conditions.ts'
import { builderFor } from './builder.ts'
import { confirmationsOf } from './compile-select.ts'
import { findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'

/** Rows that one statement updates. */
export interface RowsOfValues {
  readonly table: Table
  /** The columns that find a row. */
  readonly key: readonly Column[]
  /** The columns that are written. */
  readonly columns: readonly Column[]
  /** The values of the key of each row and of its columns. */
  readonly rows: ReadonlyArray<readonly Cell[]>
}

/**
 * The columns that each of some updates writes, if one statement for all of them writes the same as one after the
 * other. That needs whole numbers as the key, which are equal in a join exactly if they are the same; nothing that
 * depends on the order of the rows (triggers, unique keys, cascades: no index has a written column); and plain values.
 */
export function columnsAtOnce (
  { table, key, updates }: {
    readonly table: Table
    readonly key: readonly Column[]
    readonly updates: readonly UpdatePlan[]
  },
  engine: Engine
): readonly Column[] | undefined {
  if (!TRAITS[engine].joinsChanges || updates.length < 2) return undefined
  if (!table.transactional || table.versioned === true || mayFire(table, 'update')) return undefined
  if (!key.every(({ type }) => type.wholeNumbers === true) || findIndex(table, key) === undefined) return undefined
  const columns = (updates[0] as UpdatePlan).assignments.map(({ column }) => column)
  const isPlain = ({ assignments, afterWrite, foreignKeyChecks }: UpdatePlan): boolean =>
    afterWrite === undefined && foreignKeyChecks === undefined && assignments.length === columns.length &&
    assignments.every(({ column, operator }) => columns.includes(column) && operator === undefined)
  return updates.every(isPlain) && !isIndexed(table, columns) ? columns : undefined
}

/** Whether an index may have one of the columns, or what is computed from it. */
function isIndexed (table: Table, columns: readonly Column[]): boolean {
  const { indexes, columns: all } = baseTable(table)
  const names = new Set<string | null>(columns.map(({ name }) => name))
  return indexes.some(({ parts }) => parts.some(({ column }) =>
    column === null || names.has(column) || all.get(column)?.generated !== false))
}

/** The unique index of these columns. */
const findIndex = (table: Table, key: readonly Column[]): Index | undefined =>
  baseTable(table).indexes.find((index) => index.unique && index.ordered && isWhole(index) &&
    index.parts.length === key.length && index.parts.every(({ column }) => key.some(({ name }) => name === column)))

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n] as const

/**
 * The class of a value in the table of values; NULL is of any. A column with values of one class has their type, so
 * that no value is converted before it is written. Undefined for numbers that are no 64-bit integers, and moments.
 */
function classOf (cell: Cell): 'text' | 'integer' | 'bytes' | 'null' | undefined {
  if (cell === null) return 'null'
  if (typeof cell === 'string') return 'text'
  if (Buffer.isBuffer(cell)) return 'bytes'
  const isInteger = typeof cell === 'bigint' ? cell >= LEAST && cell <= MOST : Number.isSafeInteger(cell)
  return isInteger ? 'integer' : undefined
}

/** The values that an update gives to columns, in their order. */
export const valuesFor = (columns: readonly Column[], { assignments }: UpdatePlan): Cell[] =>
  columns.map((column) => (assignments.find((each) => each.column === column) as Assignment).parameter)

/** Whether each column has values of one class. */
export function areAlike (rows: RowsOfValues['rows']): boolean {
  const classes = rows[0]?.map(classOf) ?? []
  return rows.every((row) => row.every((cell, index) => {
    const found = classOf(cell)
    if (classes[index] === 'null') classes[index] = found
    return found !== undefined && (found === 'null' || found === classes[index])
  }))
}

/** Compiles the update of some rows, or takes the cached statement of the same key. */
export function compileRowsOfValues (
  { rows, ...part }: RowsOfValues,
  engine: Engine,
  counts: StatementCounts
): Statement {
  const { key } = keyOf(part)
  const template = findTemplate(part, { engine, counts, key }, () => describe(part, engine))
  return { ...template, parameters: rows.flat(), rows: rows.length }
}

/** The names of the columns are in a row of the union that it does not have. */
function describe ({ table, key, columns }: Omit<RowsOfValues, 'rows'>, engine: Engine): Template {
  const { build, token, indexToken } = builderFor(engine, table)
  const given = table.name.toLowerCase() === 'given' ? 'given_row' : 'given'
  const all = [...key, ...columns]
  const pair = (column: Column): RawBuilder<unknown> =>
    sql`${sql.ref(`t.${token(column)}`)} = ${sql.ref(`${given}.v${all.indexOf(column)}`)}`
  const names = all.map((_, index): Expression<unknown> => sql`null as ${sql.id(`v${index}`)}`)
  const index = sql.id(indexToken(findIndex(table, key) as Index))
  const none = sql`select ${sql.join(names)} from dual where 1 = 0`
  const row = sql`select ${sql.join(all.map(() => bind(null)))}`
  const target = sql`${sql.table('t')} force index (${index})`
  const isSame = sql.join(key.map(pair), sql` and `)
  const built = build(sql`update (${none} union all ${row}) as ${sql.id(given)} straight_join ${target} on ${
    isSame} set ${sql.join(columns.map(pair))}`)
  return {
    verb: 'update',
    table: statementTable(table),
    ...built,
    slots: [],
    columns: [],
    assigned: all,
    separator: ' union all select ',
    confirmations: confirmationsOf(engine, [statementTable(table)])
  }
}
