/**
 * Decides how rows are written. Only this file reads what the triggers of a table, its history and its engine do to
 * written rows: the rest of the program reads `factsOf` of the table, and `writesOf` of the rows of an insert.
 */
import { CacheByTable } from '../cache-by-table.ts'
import { type Column, mayFillColumns, mayFire, statementTable, type Table, traitsOf } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import { type Conflict, givenValue, type InsertPlan, type PlannedRow, type Writes } from './plan.ts'

// What is known of a table.

/** What happens to the rows of a table that are written, whatever the request. */
export interface WriteFacts {
  /** Whether a trigger may set columns of a new row before it is stored, its key among them. */
  readonly fillsNew: boolean
  /** Whether a trigger may leave out a new row without an error. */
  readonly skipsNew: boolean
  /** Whether a trigger runs for each new row. */
  readonly seesNew: boolean
  /** Whether a stored new row may have other values than the statement gave, by a trigger. */
  readonly altersNew: boolean
  /** Whether rows that triggers insert take numbers between those of the rows of one statement. */
  readonly takesNumbers: boolean
  /** Whether a trigger runs for each row that an update finds. */
  readonly seesChanged: boolean
  /** Whether one of them runs before the row is changed. */
  readonly precedesChange: boolean
  /** Whether a changed row may have other values than the statement gave, by a trigger. */
  readonly altersChanged: boolean
  /** Whether a trigger may keep a row that is deleted, without an error. */
  readonly keepsDeleted: boolean
  /** Whether also an update that changes no value writes a row of the history, and counts. */
  readonly hasHistory: boolean
  /** Whether a write can be undone. */
  readonly hasTransactions: boolean
}

/** The facts of each table. Those of a grant are those of the table that grants share. */
const facts = new WeakMap<Table, WriteFacts>()

export const factsOf = (table: Table): WriteFacts =>
  getOrCreate(facts, statementTable(table), () => findFacts(table))

/** A BEFORE trigger of MySQL sets columns; one of SQLite writes the table again, for a new row an AFTER trigger. */
function findFacts (table: Table): WriteFacts {
  const { triggersSetColumns, triggersSkipRows, triggersTakeNumbers } = traitsOf(table)
  return Object.freeze({
    fillsNew: mayFillColumns(table),
    skipsNew: triggersSkipRows && mayFire(table, 'insert', 'before'),
    seesNew: mayFire(table, 'insert'),
    altersNew: mayFire(table, 'insert', triggersSetColumns ? 'before' : 'after'),
    takesNumbers: triggersTakeNumbers && mayFire(table, 'insert'),
    seesChanged: mayFire(table, 'update'),
    precedesChange: mayFire(table, 'update', 'before'),
    altersChanged: mayFire(table, 'update', triggersSetColumns ? 'before' : undefined),
    keepsDeleted: triggersSkipRows && mayFire(table, 'delete', 'before'),
    hasHistory: table.versioned === true,
    hasTransactions: table.transactional
  })
}

/** The columns that an upsert writes to a row that exists. `columns`: those of the new row. */
export function writtenColumns ({ key, set }: Conflict, columns: readonly Column[]): readonly Column[] {
  switch (set.kind) {
    case 'given': return columns.filter((column) => !key.includes(column) && set.except?.has(column) !== true)
    case 'columns': return set.columns
    case 'assignments': return set.assignments.map(({ column }) => column)
  }
}

/** Whether the database computes the value of the column if an insert omits it. */
export const isComputed = ({ generated, defaultComputed }: Column): boolean => generated || defaultComputed === true

/** Whether the database computes a column of the key of a row, so that only its statement finds the row that exists. */
export const isComputedKey = (key: readonly Column[], { columns }: Pick<PlannedRow, 'columns'>): boolean =>
  key.some((column) => !columns.includes(column) && isComputed(column))

// How rows of an insert are written. A row is inserted if it is new, or written by the guarded statement of an upsert,
// which fails if it would change a row that has not the same named key (src/sql/compile-insert.ts). Where that
// statement would do more than requested, or its counts would be wrong, the row is looked up by its key.

type Decision = Pick<Writes, 'way' | 'why' | 'nulls' | 'ofNull'>

const decided = (way: Writes['way'], why: string): Decision => ({ way, why, nulls: [] })

const NEW = decided('insert', 'no key is named, so the row is new')

/** What the way depends on: the values of the rows are not among it. */
type Form = Pick<InsertPlan, 'table' | 'conflict' | 'afterWrite' | 'outcomes'>

/** How rows with these columns are written. */
function decide (form: Form, columns: readonly Column[]): Writes {
  const { table, conflict } = form
  const written = conflict === undefined ? [] : writtenColumns(conflict, columns)
  const number = conflict && numberIn(conflict, table)
  const compared = traitsOf(table).hasDefault ? columns.filter((column) => column !== number) : columns
  const decision = conflict === undefined ? NEW : decideUpsert({ ...form, conflict }, { columns, written, number })
  return Object.freeze({
    ...decision,
    columns,
    written,
    number,
    apart: findReasonApart(form, decision.way),
    alike: findReasonAlike(form, columns),
    likeness: JSON.stringify(compared.map(({ name }) => name))
  })
}

function decideUpsert (
  { table, conflict, afterWrite }: Form & { readonly conflict: Conflict },
  { columns, written, number }: Pick<Writes, 'columns' | 'written' | 'number'>
): Decision {
  const { fillsNew, seesChanged, precedesChange, hasHistory } = factsOf(table)
  if (number !== undefined && !columns.includes(number)) return decided('insert', 'the database numbers the row')
  if (traitsOf(table).namesKey) return decided('guarded', 'the statement names its key')
  if (table.traits?.upsert === 'byKey') return decided('look-up', 'the server has no statement that can be guarded')
  if (afterWrite !== undefined && fillsNew) {
    return decided('look-up', 'a trigger may hide the key by which the written row is checked')
  }
  if (written.length === 0 && seesChanged) {
    return decided('look-up', 'the statement would fire triggers although nothing is set')
  }
  if (written.length === 0 && hasHistory) {
    return decided('look-up', 'the statement would write history although nothing is set')
  }
  if (written.length > 0 && !isComputedKey(conflict.key, { columns })) {
    if (hasHistory) return decided('look-up', 'the statement would write history although nothing changes')
    if (precedesChange) return decided('look-up', 'the server may count what a BEFORE UPDATE trigger undoes')
  }
  return decideMiscounted(conflict, { columns, written }, fillsNew)
}

/**
 * The servers may count a row as inserted although it exists: they do so if the bytes of the new row differ from those
 * of the old one but the values do not. This occurs if NULL is written over NULL in a column with another default, also
 * by a BEFORE UPDATE trigger, and on MySQL if such a trigger undoes the change. If a trigger gives the row its values
 * and its key, only the statement has them: then the row is inserted before its upsert is tried.
 */
function decideMiscounted (
  { set }: Conflict,
  { columns, written }: Pick<Writes, 'columns' | 'written'>,
  fillsNew: boolean
): Decision {
  const miscounted = decided(
    fillsNew ? 'insert-first' : 'look-up',
    'the server may count NULL over NULL in a column with another default as a new row'
  )
  const given = set.kind === 'assignments' ? written : columns.filter((column) => written.includes(column))
  const nulls = given.filter(({ nullable, defaultText, defaultComputed }) =>
    nullable && (defaultText !== null || defaultComputed === true))
  const isUnknown = set.kind === 'assignments' &&
    set.assignments.some(({ column, operator }) => operator !== undefined && nulls.includes(column))
  if (isUnknown) return miscounted
  const guarded = decided('guarded', 'the statement fails unless the named key is equal')
  return nulls.length === 0 ? guarded : { ...guarded, nulls, ofNull: miscounted }
}

/**
 * The column of the named key in which the database gives a new number to a row that omits it, which is inserted;
 * undefined if a trigger may give it the number of a row that exists.
 */
const numberIn = ({ key }: Conflict, table: Table): Column | undefined =>
  factsOf(table).fillsNew ? undefined : key.find(({ autoIncrement }) => autoIncrement)

function findReasonApart ({ table, afterWrite, outcomes }: Form, way: Writes['way']): string | undefined {
  if (afterWrite !== undefined) return 'each written row is checked before the next one'
  if (outcomes === true) return 'one statement tells totals only'
  return way !== 'insert' && factsOf(table).hasHistory ? 'history changes what a statement counts' : undefined
}

/** MySQL has no DEFAULT for a required column, which a trigger may fill if it is omitted. */
function findReasonAlike ({ table, conflict }: Form, columns: readonly Column[]): string | undefined {
  if (!traitsOf(table).hasDefault) return 'a statement cannot name a default'
  if (conflict?.set.kind === 'given') return 'the columns that are written differ'
  return factsOf(table).fillsNew && table.requiredColumns.some((column) => !columns.includes(column))
    ? 'a trigger may fill a column without a default only if the statement omits it'
    : undefined
}

/** The ways of all tables, with their size in bytes, estimated. */
export const knownWays = new CacheByTable<Writes>(4 * 1024 * 1024, (form) => 500 + 4 * form.length)

/** Forms of rows with more columns are decided each time. */
const MAX_FORM = 10_000

/** How the rows of an insert are written, by their columns. One plain row needs no decision. */
export function findWrites (plan: Form & Pick<InsertPlan, 'rows' | 'isList'>): InsertPlan['writes'] {
  const ways = new Map<readonly Column[], Writes>()
  if (!plan.isList && plan.conflict === undefined && plan.afterWrite === undefined) return ways
  const table = statementTable(plan.table)
  const prefix = prefixOf(plan)
  for (const { columns } of plan.rows) {
    if (ways.has(columns)) continue
    let key = prefix
    for (const { name } of columns) key += JSON.stringify(name)
    let writes = knownWays.get(table, key)
    if (writes === undefined) {
      writes = decide(plan, columns)
      if (key.length <= MAX_FORM) knownWays.set(table, key, writes)
    }
    ways.set(columns, writes)
  }
  return ways
}

/** What the way depends on besides the columns of the row. */
function prefixOf ({ conflict, afterWrite, outcomes }: Form): string {
  const names = (columns: Iterable<Column>): string[] => Array.from(columns, ({ name }) => name)
  const set = conflict?.set
  return JSON.stringify([
    afterWrite !== undefined,
    outcomes === true,
    conflict && names(conflict.key),
    set?.kind,
    set?.kind === 'columns' && names(set.columns),
    set?.kind === 'given' && names(set.except ?? []),
    set?.kind === 'assignments' && set.assignments.map(({ column, operator }) => [column.name, operator !== undefined])
  ])
}

/** How a row of a plan is written. */
const writesOf = ({ writes }: InsertPlan, { columns }: PlannedRow): Writes => writes.get(columns) ?? ALONE

/** How the only row of a plain insert is written. */
const ALONE: Writes = Object.freeze({
  ...NEW, columns: [], written: [], number: undefined, apart: undefined, alike: undefined, likeness: ''
})

/** How rows of a plan are written, each way once. */
export function waysOf (plan: InsertPlan, rows: readonly PlannedRow[]): ReadonlySet<Writes> {
  const ways = new Set<Writes>()
  for (const row of rows) ways.add(writesOf(plan, row))
  return ways
}

/** The way of a row by itself. A value decides only whether it is NULL. */
export function wayOf (plan: InsertPlan, row: PlannedRow): Pick<Writes, 'way' | 'why'> {
  const writes = writesOf(plan, row)
  const { nulls, ofNull } = writes
  if (ofNull === undefined) return writes
  const set = plan.conflict?.set
  const isNull = set?.kind === 'assignments'
    ? set.assignments.some(({ column, parameter }) => parameter === null && nulls.includes(column))
    : nulls.some((column) => givenValue(row, column) === null)
  return isNull ? ofNull : writes
}

/**
 * Why rows are written one by one; undefined if one statement for all of them counts them, fires their triggers and
 * writes them in order as one for each would.
 */
export function whyOneByOne (plan: InsertPlan, rows: readonly PlannedRow[]): string | undefined {
  const ways = [...waysOf(plan, rows)]
  const apart = ways.find(({ apart }) => apart !== undefined)?.apart
  if (apart !== undefined) return apart
  const isUpsert = ways.some(({ way }) => way !== 'insert')
  if (ways.length > 1) {
    const alike = ways.find(({ alike }) => alike !== undefined)?.alike
    if (alike !== undefined && ways.some(({ likeness }) => likeness !== ways[0]?.likeness)) return alike
    const numbersSome = isUpsert && ways.some(({ way }) => way === 'insert')
    if (numbersSome && ways[0]?.number?.type.maximum === undefined) return 'the largest number of the key is not known'
  }
  if (!isUpsert) return undefined
  for (const row of rows) {
    const { way, why } = wayOf(plan, row)
    if (way === 'look-up' || way === 'insert-first') return why
  }
  return undefined
}
