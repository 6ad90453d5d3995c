/**
 * The text of an insert is built for one row: MySQL's dialect repeats the row in it
 * (src/dialects/mysql/statement-command.ts), SQLite's runs it for each row. So it depends neither on the number of rows
 * nor on which of them omit a column.
 */
import { type Expression, type RawBuilder, sql } from 'kysely'
import { type Column, statementTable, type Table, baseTable, type Index } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { getOrCreate } from '../bounded-map.ts'
import { knownDefault, factsOf } from '../plan/writes.ts'
import type { Condition, Assignment, UpdatePlan } from '../plan/plan.ts'
import { findUniqueIndex } from '../plan/row-keys.ts'
import { type Cell, DEFAULT, type Parameter, type Value } from '../types/column-type.ts'
import { builderFor, type BuiltStatement, type ColumnToken, type TableBuilder } from './builder.ts'
import { confirmationsOf } from './compile-select.ts'
import { anyOf, newValue, skipsUnchanged } from './compile-write.ts'
import { bind, compileCondition } from './conditions.ts'
import { type BatchConflict, changedColumns, type RowBatch } from './row-batches.ts'
import { fill, findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'

type Sql = RawBuilder<unknown>

/**
 * On SQLite, `row_query_exists` is called with the id of the row if an upsert has found one, and returns true
 * (src/dialects/sqlite/process.ts): nothing else tells an updated row from an inserted one.
 */
export function buildInsert (batch: RowBatch, engine: Engine): BuiltStatement {
  const { table, columns, conflict } = batch
  const builder = builderFor(engine, table)
  const into = table.hasConflictClause === true ? builder.db.insertInto('t').orAbort() : builder.db.insertInto('t')
  const insert =
    columns.length === 0 && !TRAITS[engine].hasDefault
      ? into.defaultValues()
      : into.values(Object.fromEntries(columns.map((column) => [builder.token(column), bind(null)])))
  const build = (suffix?: Sql): BuiltStatement =>
    builder.build(suffix === undefined ? insert : insert.modifyEnd(suffix))
  if (conflict === undefined) return build()
  if (!TRAITS[engine].namesKey) return build(onDuplicateKey(table, conflict, builder))
  const upsert = (suffix: Sql): BuiltStatement =>
    build(sql`on conflict (${targets(conflict.key, builder)}) do ${suffix}`)
  const { identity, within } = conflict
  const id = identity === undefined ? sql`null` : sql.ref(`t.${builder.token(identity)}`)
  const exists = sql`row_query_exists(${id})`
  const changes = changesOf(conflict, builder, (column) => sql.ref(`excluded.${builder.token(column)}`))
  if (changes.length === 0) {
    const column = identity && sql.ref(builder.token(identity))
    return upsert(column === undefined ? sql`nothing` : sql`update set ${column} = ${id} where not ${exists}`)
  }
  // first, because AND evaluates nothing after a condition that is false
  const conditions: Array<Expression<unknown>> = [exists]
  if (within !== undefined) conditions.push(compileStored(within, builder))
  if (skipsUnchanged(table, conflict.assignments, conflict.written)) {
    conditions.push(anyOf(changes.map(({ is, value }) => sql<boolean>`${is} is not ${value} collate binary`)))
  }
  return upsert(sql`update set ${assign(changes)} where ${sql.join(conditions, sql` and `)}`)
}

/**
 * Names the collations of the columns, because SQLite would otherwise also accept another index on the same columns.
 */
const targets = (key: readonly Column[], { token }: TableBuilder): Sql =>
  sql.join(
    key.map((column) =>
      column.collation === undefined
        ? sql.ref(token(column))
        : sql`${sql.ref(token(column))} collate ${sql.id(column.collation)}`
    )
  )

/** A condition on the row that exists. */
const compileStored = (condition: Condition, builder: TableBuilder) =>
  compileCondition(condition, { ...builder, token: (column) => `t.${builder.token(column)}` as ColumnToken })

/** `is`: the column of the row that exists. */
interface Change {
  readonly column: Expression<unknown>
  readonly is: Expression<unknown>
  readonly value: Expression<unknown>
}

function changesOf (
  { written, assignments }: BatchConflict,
  builder: TableBuilder,
  given: (column: Column) => Expression<Parameter>
): Change[] {
  const change = (column: Column, value: Expression<Parameter>): Change => ({
    column: sql.ref(builder.token(column)),
    is: sql.ref(`t.${builder.token(column)}`),
    value
  })
  return [
    ...written.map((column) => change(column, given(column))),
    ...assignments.map((assignment) => change(assignment.column, newValue(assignment, builder)))
  ]
}

const assign = (changes: ReadonlyArray<Pick<Change, 'column' | 'value'>>): Sql =>
  sql.join(changes.map(({ column, value }) => sql`${column} = ${value}`))

/** Types whose values may be stored outside of the row. */
const LONG = /text|blob|json|vector|geom|point|polygon|linestring/i

/** Names that would end the comments below. */
const COMMENT = /\/\*|\*\//

/**
 * ON DUPLICATE KEY UPDATE updates a row that collides in any unique key. The first assignment therefore fails (error
 * 1242, a subquery of two rows) unless the rows collide in the named key, and the row that exists satisfies the rules
 * of the grant. NULL never collides, because `=` and not `<=>` compares the key.
 *
 * MySQL names the row of the insert by an alias, and MariaDB by VALUES(); each reads its own version comments. Servers
 * derived from MySQL may only have VALUES().
 */
function onDuplicateKey (table: Table, conflict: BatchConflict, builder: TableBuilder): Sql {
  const { key, identity, written, within } = conflict
  const { token } = builder
  const alias = table.name.toLowerCase() === 'given' ? 'given_row' : 'given'
  const usesAlias = table.traits?.upsert !== 'values' && ![...key, ...written].some(({ name }) => COMMENT.test(name))
  const values = (column: Column): Sql => sql`values(${sql.ref(token(column))})`
  const given = (column: Column): RawBuilder<Parameter> => usesAlias
    ? sql`/*!80019 ${sql.ref(`${alias}.${token(column)}`)} */ /*M!100700 ${values(column)} */`
    : sql`${values(column)}`
  const stored = (column: Column) => sql.ref(`t.${token(column)}`)
  // MySQL refuses to set the number of a row in the statement that has numbered another one
  const isPlain = ({ generated, autoIncrement, onUpdate }: Column): boolean =>
    !generated && !autoIncrement && onUpdate !== true
  // both servers corrupt a value outside of the row that one statement assigns twice
  const isShort = (column: Column): boolean => isPlain(column) && !LONG.test(column.declaration)
  const others = baseTable(table).columnList
  const guarded =
    identity ??
    key.find(isPlain) ??
    written.find(isShort) ??
    others.find(isShort) ??
    key.find(({ generated }) => !generated) ??
    (others.find(isPlain) ?? others.find(({ generated }) => !generated) as Column)
  const conditions = key.map((column): Expression<unknown> => sql`${stored(column)} = ${given(column)}`)
  if (within !== undefined) conditions.push(compileStored(within, builder))
  const same = sql.join(conditions, sql` and `)
  // last_insert_id() only reports the number; a negative one would be out of range as a value
  const value =
    identity === undefined
      ? stored(guarded)
      : sql`if(last_insert_id(${stored(guarded)}) = 0, ${stored(guarded)}, ${stored(guarded)})`
  const guard = {
    column: sql.ref(token(guarded)),
    value: sql`if(${same}, ${value}, (select ${stored(guarded)} from (select 1 union all select 2) as two))`
  }
  const row = usesAlias ? sql`/*!80019 as ${sql.id(alias)} */ ` : sql``
  return sql`${row}on duplicate key update ${assign([guard, ...changesOf(conflict, builder, given)])}`
}

const NONE: readonly Column[] = []

/** Takes the cached statement if there is one. Never throws. */
export function compileInsert (batch: RowBatch, engine: Engine, counts: StatementCounts): Statement {
  const { rows, isList, ...part } = batch
  const { key, values } = keyOf(part)
  const template = findTemplate(part, { counts, key, engine }, (withSlots) =>
    describe({ ...batch, ...withSlots }, engine)
  )
  const parameters = cellsOf(batch, engine)
  for (const value of fill(template, values)) parameters.push(value)
  return { ...template, parameters, rows: isList ? rows.length : undefined }
}

/** The slots of the template are those after the row. */
function describe (batch: RowBatch, engine: Engine): Template {
  const { columns, conflict } = batch
  const table = statementTable(batch.table)
  const { kind, identity } = table
  const { slots, ...built } = buildInsert(batch, engine)
  return {
    verb: 'insert',
    table,
    ...built,
    slots: slots.slice(columns.length),
    columns: NONE,
    assigned: columns,
    // without the unique key that it names, an upsert would insert a row that is there
    confirmations: conflict === undefined ? [] : confirmationsOf(engine, [table]),
    isNumbered: conflict === undefined && kind === 'table' && identity?.autoIncrement === true &&
      !columns.includes(identity) && !factsOf(table).seesNew,
    isUpsert: conflict !== undefined,
    isIdle: conflict !== undefined && changedColumns(conflict).length === 0
  }
}

function cellsOf ({ columns, rows }: RowBatch, engine: Engine): Cell[] {
  // created with its length, because a growing array is copied repeatedly
  const cells = new Array<Cell>(rows.length * columns.length)
  let next = 0
  let known: Map<readonly Column[], readonly number[]> | undefined
  for (const { columns: given, parameters } of rows) {
    if (given === columns) {
      for (let column = 0; column < columns.length; column++) cells[next++] = parameters[column] as Cell
      continue
    }
    known ??= new Map()
    const indexes = getOrCreate(known, given, () => columns.map((column) => given.indexOf(column)))
    for (let column = 0; column < indexes.length; column++) {
      const index = indexes[column] as number
      cells[next++] = index < 0 ? fallbackOf(columns[column] as Column, engine) : parameters[index] as Cell
    }
  }
  return cells
}

/** In sessions with NO_AUTO_VALUE_ON_ZERO, DEFAULT would store 0 in an AUTO_INCREMENT column. */
function fallbackOf (column: Column, engine: Engine): Cell {
  if (column.autoIncrement) return null
  return TRAITS[engine].hasDefault ? DEFAULT : knownDefault(column) as Value | null
}

// On MySQL and MariaDB, one update gives rows values of their own: the join begins with the values. The text is built
// for one row, which the dialect repeats.

export interface RowsOfValues {
  readonly table: Table
  readonly key: readonly Column[]
  readonly columns: readonly Column[]
  /** The values of the key of each row, then of its columns. */
  readonly rows: ReadonlyArray<readonly Cell[]>
}

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
  columns.map((column) => (assignments.find((each) => each.column === column) as Assignment).parameter as Cell)

export function areAlike (rows: RowsOfValues['rows']): boolean {
  const classes = rows[0]?.map(classOf) ?? []
  return rows.every((row) => row.every((cell, index) => {
    const found = classOf(cell)
    if (classes[index] === 'null') classes[index] = found
    return found !== undefined && (found === 'null' || found === classes[index])
  }))
}

/** Takes the cached statement if there is one. */
export function compileRowsOfValues (
  { rows, ...part }: RowsOfValues,
  engine: Engine,
  counts: StatementCounts
): Statement {
  const { key } = keyOf(part)
  const template = findTemplate(part, { counts, key, engine }, describeRows)
  return { ...template, parameters: rows.flat(), rows: rows.length }
}

/** The names of the columns are in a row of the union that it does not have. */
function describeRows ({ table, key, columns }: Omit<RowsOfValues, 'rows'>, engine: Engine): Template {
  const { build, token, indexToken } = builderFor(engine, table)
  const given = table.name.toLowerCase() === 'given' ? 'given_row' : 'given'
  const all = [...key, ...columns]
  const pair = (column: Column): RawBuilder<unknown> =>
    sql`${sql.ref(`t.${token(column)}`)} = ${sql.ref(`${given}.v${all.indexOf(column)}`)}`
  const names = all.map((_, index): Expression<unknown> => sql`null as ${sql.id(`v${index}`)}`)
  const index = sql.id(indexToken(findUniqueIndex(table, key) as Index))
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
