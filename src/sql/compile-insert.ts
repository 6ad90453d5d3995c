/**
 * What an insert sends: the rows that one statement has, and its text, which is built for one row: MySQL's dialect
 * repeats the row in it (src/dialects/mysql/statement-command.ts), SQLite's runs it for each row. So it depends neither
 * on the number of rows nor on which of them omit a column.
 */
import {
  OnConflictNode, OnDuplicateKeyNode, OrActionNode, type Expression, type RawBuilder, sql, type SqlBool
} from 'kysely'
import { baseTable, type Column, statementTable, type Table, traitsOf } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { getOrCreate } from '../bounded-map.ts'
import { findDefaulted } from '../plan/assignments.ts'
import { combine } from '../plan/filters/scope.ts'
import type { Assignment, Condition, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { updateTimesOf } from '../plan/rule.ts'
import { decisionsOf, factsOf, knownDefault, writtenColumns } from '../plan/writes.ts'
import { type Cell, DEFAULT, type Value } from '../types/column-type.ts'
import {
  build, type BuiltStatement, type Change, eb, expression, insertInto, reference, toUpdates
} from './builder.ts'
import { confirmationsOf } from './compile-select.ts'
import { anyOf, differs, newValue, skipsUnchanged } from './compile-write.ts'
import { compileCondition } from './conditions.ts'
import { fill, findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'
import { onlyTable, type TableScope, unlike } from './table-scope.ts'

/** One statement inserts them. */
export interface RowBatch {
  readonly table: Table
  /** The statement names them. */
  readonly columns: readonly Column[]
  readonly rows: readonly PlannedRow[]
  readonly conflict?: BatchConflict
  /** An error may name the refused row by its index: of every batch but the only row of a plain insert. */
  readonly hasRowIndexes: boolean
}

/** The row that exists stays as it is if nothing is written or assigned. */
export interface BatchConflict {
  readonly key: readonly Column[]
  /** The columns that get the values of the inserted row. */
  readonly written: readonly Column[]
  readonly assignments: readonly Assignment[]
  /** The id, if the statement reports it for the row that exists. */
  readonly reported: Column | undefined
  /** The row that exists must satisfy it, besides the key: the rules of the grant, and `beforeLast`. */
  readonly condition: Condition | undefined
}

/** The columns that are written in a row that exists. */
export const changedColumns = ({
  written,
  assignments
}: Pick<BatchConflict, 'written' | 'assignments'>): readonly Column[] =>
  assignments.length === 0 ? written : [...written, ...assignments.map(({ column }) => column)]

/** The statement is the same for each row (`whyOneByOne`), or of one row. */
export function toBatch (plan: InsertPlan, rows: readonly PlannedRow[]): RowBatch {
  const { table, conflict, isList } = plan
  const [first] = rows as [PlannedRow, ...PlannedRow[]]
  if (conflict === undefined && !isList) return { table, columns: first.columns, rows, hasRowIndexes: false }
  const decisions = decisionsOf(plan, rows)
  const columns = decisions.length === 1 ? first.columns : [...new Set(decisions.flatMap(({ columns }) => columns))]
  const upserts = decisions.filter(({ way }) => way !== 'insert')
  if (conflict === undefined || upserts.length === 0) return { table, columns, rows, hasRowIndexes: true }
  const { key, set, condition } = conflict
  const written = set.kind === 'assignments' ? [] : writtenColumns(conflict, columns)
  const assigned = set.kind === 'assignments' ? set.assignments : []
  // a list whose rows are told by their numbers has a statement for each
  const reported = isList && plan.isFoundByNumber !== true ? undefined : upserts[0]?.reported
  const { namesKey, hasDefault } = traitsOf(table)
  // ON DUPLICATE KEY UPDATE can refer only to columns that the insert names
  const others = new Set(namesKey ? [] : [...key, ...written].filter((column) => !columns.includes(column)))
  // an insert without columns has no conflict clause
  if (!hasDefault && columns.length === 0) others.add(findDefaulted(table) as Column)
  return {
    table,
    columns: others.size === 0 ? columns : [...columns, ...others],
    rows,
    hasRowIndexes: true,
    conflict: {
      key,
      written,
      assignments: table.granted === undefined
        ? assigned
        : [...assigned, ...updateTimesOf(table, changedColumns({ written, assignments: assigned }))],
      reported,
      condition: upserts.length < decisions.length
        ? beforeLast(decisions[0]?.numberColumn as Column, condition)
        : condition
    }
  }
}

/** The largest `auto_increment_increment`, by at most which the last number is less than the largest of its type. */
const LARGEST_INCREMENT = 65_535n

/** With the last number in use, MySQL gives that again, and would update its row. */
const beforeLast = (column: Column, condition: Condition = combine('and', [])): Condition =>
  combine('and', [condition, {
    kind: 'compare', column, operator: '<=', parameter: column.type.maximum as bigint - LARGEST_INCREMENT
  }])

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
  const { key, reported, condition, assignments, written } = conflict
  const id = reported === undefined ? sql`null` : scope.qualified(reported)
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
    if (reported === undefined) return OnConflictNode.cloneWith(target, { doNothing: true })
    return update([{ column: scope.column(reported), value: id }], [eb.not(exists)])
  }
  // first, because AND evaluates nothing after a condition that is false
  const conditions: Array<Expression<SqlBool>> = [exists]
  if (condition !== undefined) conditions.push(compileStored(condition, scope))
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
  const { key, reported, written, condition } = conflict
  const { column, qualified: stored } = scope
  const alias = unlike([table.name], 'given')
  const usesAlias = table.traits?.upsert !== 'values' && ![...key, ...written].some(({ name }) => COMMENT.test(name))
  const given = (each: Column): Sql => usesAlias
    ? sql`/*!80019 ${reference(each.name, alias)} */ /*M!100700 values(${column(each)}) */`
    : sql`values(${column(each)})`
  const guardColumn = reported ?? findGuardColumn(table, conflict)
  const conditions = key.map((column): Expression<unknown> => sql`${stored(column)} = ${given(column)}`)
  if (condition !== undefined) conditions.push(compileStored(condition, scope))
  const same = sql.join(conditions, sql` and `)
  // last_insert_id() only reports the number; a negative one would be out of range as a value
  const value =
    reported === undefined
      ? stored(guardColumn)
      : sql`if(last_insert_id(${stored(guardColumn)}) = 0, ${stored(guardColumn)}, ${stored(guardColumn)})`
  const guard = {
    column: column(guardColumn),
    value: sql`if(${same}, ${value}, (select ${stored(guardColumn)} from (select 1 union all select 2) as two))`
  }
  const row = usesAlias ? sql`/*!80019 as ${sql.id(alias)} */ ` : sql``
  return sql`${row}${expression(OnDuplicateKeyNode.create(toUpdates([guard, ...changesOf(conflict, scope, given)])))}`
}

/**
 * The guard assigns a column to itself. A later assignment may write that again, which corrupts a value outside of the
 * row on both servers: so a short column, if there is one, and first one of the key, which most upserts do not write.
 */
function findGuardColumn (table: Table, { key, written }: BatchConflict): Column {
  const all = baseTable(table).columnList
  const isAssignable = ({ generated }: Column): boolean => !generated
  // MySQL refuses to set the number of a row in the statement that has numbered another one, and a column that is set
  // to itself does not get the time of the update
  const isPlain = (column: Column): boolean =>
    isAssignable(column) && !column.autoIncrement && column.onUpdate !== true
  const isShort = (column: Column): boolean => isPlain(column) && !LONG.test(column.declaration)
  return [...key, ...written, ...all].find(isShort) ??
    key.find(isAssignable) ?? all.find(isPlain) ?? all.find(isAssignable) as Column
}

const NONE: readonly Column[] = []

/** Never throws. */
export function compileInsert (batch: RowBatch, engine: Engine, counts: StatementCounts): Statement {
  const { rows, hasRowIndexes, ...part } = batch
  const { key, values } = keyOf(part)
  const template = findTemplate(part, { counts, key, engine }, (withSlots) =>
    describe({ ...batch, ...withSlots }, engine)
  )
  const parameters = cellsOf(batch, engine)
  for (const value of fill(template, values)) parameters.push(value)
  return { ...template, parameters, rows: hasRowIndexes ? rows.length : undefined }
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
