/**
 * The text of an insert is built for one row: MySQL's dialect repeats the row in it
 * (src/dialects/mysql/statement-command.ts), SQLite's runs it for each row. So it depends neither on the number of rows
 * nor on which of them omit a column.
 */
import {
  OnConflictNode, OnDuplicateKeyNode, OrActionNode, type Expression, type RawBuilder, sql, type SqlBool
} from 'kysely'
import { type Column, statementTable, type Table, baseTable, type Index } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { getOrCreate } from '../bounded-map.ts'
import { knownDefault, factsOf } from '../plan/writes.ts'
import type { Condition, Assignment, UpdatePlan } from '../plan/plan.ts'
import { findUniqueIndex } from '../plan/row-keys.ts'
import { type Cell, DEFAULT, type Value } from '../types/column-type.ts'
import {
  build, type BuiltStatement, type Change, eb, expression, insertInto, reference, tableNamed, toUpdates, updateTable
} from './builder.ts'
import { confirmationsOf } from './compile-select.ts'
import { anyOf, differs, newValue, skipsUnchanged } from './compile-write.ts'
import { bind, compileCondition } from './conditions.ts'
import { type BatchConflict, changedColumns, type RowBatch } from './row-batches.ts'
import { fill, findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'
import { onlyTable, type TableScope, unlike } from './table-scope.ts'

type Sql = RawBuilder<unknown>

/**
 * On SQLite, `row_query_exists` is called with the id of the row if an upsert has found one, and returns true
 * (src/dialects/sqlite/process.ts): nothing else tells an updated row from an inserted one.
 */
export function buildInsert (batch: RowBatch, engine: Engine): BuiltStatement {
  const { table, columns, conflict } = batch
  const { hasDefault, namesKey } = TRAITS[engine]
  const scope = onlyTable(engine, table)
  const insert = insertInto(table, columns.length === 0 && !hasDefault ? undefined : columns, {
    ...table.hasConflictClause === true && { orAction: OrActionNode.create('abort') },
    ...conflict !== undefined && namesKey && { onConflict: onConflict(table, conflict, scope) }
  })
  if (conflict === undefined || namesKey) return build(insert, engine)
  return build(insert.modifyEnd(onDuplicateKey(table, conflict, scope)), engine)
}

function onConflict (table: Table, conflict: BatchConflict, scope: TableScope): OnConflictNode {
  const { key, identity, within, assignments, written } = conflict
  const id = identity === undefined ? sql`null` : scope.qualified(identity)
  const exists = sql<SqlBool>`row_query_exists(${id})`
  const target = OnConflictNode.cloneWith(OnConflictNode.create(), {
    indexExpression: targets(key, scope).toOperationNode()
  })
  const update = (changes: readonly Change[], conditions: ReadonlyArray<Expression<SqlBool>>): OnConflictNode =>
    conditions.reduce(
      (node, each) => OnConflictNode.cloneWithUpdateWhere(node, each.toOperationNode()),
      OnConflictNode.cloneWith(target, { updates: toUpdates(changes) })
    )
  const changes = changesOf(conflict, scope, (column) => reference(column.name, 'excluded'))
  if (changes.length === 0) {
    if (identity === undefined) return OnConflictNode.cloneWith(target, { doNothing: true })
    return update([{ column: scope.column(identity), value: id }], [eb.not(exists)])
  }
  // first, because AND evaluates nothing after a condition that is false
  const conditions: Array<Expression<SqlBool>> = [exists]
  if (within !== undefined) conditions.push(compileStored(within, scope))
  if (skipsUnchanged(table, assignments, written)) {
    conditions.push(anyOf(changes.map(({ stored, value }) => differs(stored, value))))
  }
  return update(changes, conditions)
}

/**
 * Names the collations of the columns, because SQLite would otherwise also accept another index on the same columns.
 */
const targets = (key: readonly Column[], scope: TableScope): Sql =>
  sql.join(
    key.map((column) =>
      column.collation === undefined
        ? scope.column(column)
        : sql`${scope.column(column)} collate ${sql.id(column.collation)}`
    )
  )

/** A condition on the row that exists. */
const compileStored = (condition: Condition, scope: TableScope): Expression<SqlBool> =>
  compileCondition(condition, { ...scope, column: scope.qualified })

/** `stored`: the column of the row that exists. */
const changesOf = (
  { written, assignments }: BatchConflict,
  scope: TableScope,
  given: (column: Column) => Expression<unknown>
): Array<Change & { readonly stored: Expression<unknown> }> => [
  ...written.map((column) => ({ column, value: given(column) })),
  ...assignments.map((assignment) => ({ column: assignment.column, value: newValue(assignment, scope) }))
].map(({ column, value }) => ({ column: scope.column(column), stored: scope.qualified(column), value }))

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
function onDuplicateKey (table: Table, conflict: BatchConflict, scope: TableScope): Sql {
  const { key, identity, written, within } = conflict
  const { column, qualified: stored } = scope
  const alias = unlike([table.name], 'given')
  const usesAlias = table.traits?.upsert !== 'values' && ![...key, ...written].some(({ name }) => COMMENT.test(name))
  const given = (each: Column): Sql => usesAlias
    ? sql`/*!80019 ${reference(each.name, alias)} */ /*M!100700 values(${column(each)}) */`
    : sql`values(${column(each)})`
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
  if (within !== undefined) conditions.push(compileStored(within, scope))
  const same = sql.join(conditions, sql` and `)
  // last_insert_id() only reports the number; a negative one would be out of range as a value
  const value =
    identity === undefined
      ? stored(guarded)
      : sql`if(last_insert_id(${stored(guarded)}) = 0, ${stored(guarded)}, ${stored(guarded)})`
  const guard = {
    column: column(guarded),
    value: sql`if(${same}, ${value}, (select ${stored(guarded)} from (select 1 union all select 2) as two))`
  }
  const row = usesAlias ? sql`/*!80019 as ${sql.id(alias)} */ ` : sql``
  return sql`${row}${expression(OnDuplicateKeyNode.create(toUpdates([guard, ...changesOf(conflict, scope, given)])))}`
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
  const { qualified } = onlyTable(engine, table)
  const alias = unlike([table.name], 'given')
  const all = [...key, ...columns]
  const given = (column: Column): Expression<unknown> => reference(`v${all.indexOf(column)}`, alias)
  const names = sql.join(all.map((_, index) => sql`null as ${sql.id(`v${index}`)}`))
  const index = sql.id((findUniqueIndex(table, key) as Index).name)
  const row = sql.join(all.map(() => bind(null)))
  const isSame = sql.join(key.map((column) => sql`${qualified(column)} = ${given(column)}`), sql` and `)
  // Kysely has neither STRAIGHT_JOIN nor hints
  const values = sql`(select ${names} from dual where 1 = 0 union all select ${row}) as ${sql.id(alias)}`
  const target = sql`${values} straight_join ${tableNamed(table.name)} force index (${index}) on ${isSame}`
  const changes = columns.map((column) => ({ column: qualified(column), value: given(column) }))
  const built = build(updateTable(target, changes), engine)
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
