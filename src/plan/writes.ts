/**
 * Decides how rows are written. Only this file reads what the triggers of a table, its history and its engine do to
 * written rows: the rest reads `factsOf` of the table, and `decisionOf` of the rows of an insert.
 */
import {
  baseTable, type Column, mayFillColumns, mayFire, statementTable, type Table, traitsOf
} from '../catalog/catalog.ts'
import { CacheByTable, getOrCreate } from '../bounded-map.ts'
import type { Parameter } from '../types/column-type.ts'
import { readDefault, TO_DEFAULT } from '../types/update-operators.ts'
import type { Conflict, InsertPlan, PlannedRow, ReasonedWay, UpdatePlan, WriteDecision } from './plan.ts'
import { foundFirst } from './second-form.ts'
import { findUniqueIndex, mayChangeKey, mayHold } from './row-keys.ts'
import { givenValue } from './holes.ts'

/** What happens to the rows of a table that are written, whatever the request. */
export interface WriteFacts {
  /** A trigger may set columns of a new row before it is stored, its key among them. */
  readonly fillsNew: boolean
  /** A trigger may leave out a new row without an error. */
  readonly skipsNew: boolean
  /** A trigger runs for each new row. */
  readonly seesNew: boolean
  /** A trigger may give a new row other values than the statement. */
  readonly altersNew: boolean
  /** Rows that triggers insert take numbers between those of the rows of one statement. */
  readonly takesNumbers: boolean
  /** A trigger runs for each row that an update finds. */
  readonly seesChanged: boolean
  /** Whether one of them runs before the row is changed. */
  readonly precedesChange: boolean
  /** A trigger may give a changed row other values than the statement. */
  readonly altersChanged: boolean
  /** A trigger runs for each row that a delete finds. */
  readonly seesDeleted: boolean
  /** A trigger may keep a deleted row, without an error. */
  readonly keepsDeleted: boolean
  /** An update that changes no value writes a row of the history too, and counts. */
  readonly hasHistory: boolean
  /** A write can be undone. */
  readonly hasTransactions: boolean
}

/** Grants share them. */
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
    seesDeleted: mayFire(table, 'delete'),
    keepsDeleted: triggersSkipRows && mayFire(table, 'delete', 'before'),
    hasHistory: table.versioned === true,
    hasTransactions: table.transactional
  })
}

/** The columns that an upsert writes to a row that exists. `columns`: of the new row. */
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

/** The value that a column gets if an insert omits it; undefined if only the database knows it exactly. */
export function knownDefault (column: Column): Parameter | undefined {
  const { type, defaultText, autoIncrement } = column
  if (autoIncrement || isComputed(column)) return undefined
  if (defaultText === null) return null
  return type.roundsDefaults === true ? undefined : readDefault(type, defaultText)
}

// How rows of an insert are written. A row is inserted if it is new, or written by the guarded statement of an upsert,
// which changes no row that has another named key (src/sql/compile-insert.ts): SQLite's names that key, and that of
// MySQL and MariaDB fails. Where it would do more than requested, or its counts would be wrong, the row is looked up by
// its key.

/** What decisions depend on: the values of the rows are not among it. */
type Form = Pick<InsertPlan, 'table' | 'conflict' | 'afterWrite' | 'outcomes'>

function decide (form: Form, columns: readonly Column[]): WriteDecision {
  const { table, conflict } = form
  const ofConflict = conflict === undefined ? OF_NEW : decideUpsert({ ...form, conflict }, columns)
  const { way, numberColumn } = ofConflict
  const compared = traitsOf(table).hasDefault ? columns.filter((column) => column !== numberColumn) : columns
  return Object.freeze({
    ...ofConflict,
    columns,
    whyApart: whyApart(form, way),
    whyAlike: whyAlike(form, columns),
    likeness: JSON.stringify(compared.map(({ name }) => name))
  })
}

type OfConflict = Omit<WriteDecision, 'columns' | 'whyApart' | 'whyAlike' | 'likeness'>

const OF_NEW: OfConflict = {
  way: 'insert',
  why: 'no key is named, so the row is new',
  nulls: [],
  written: [],
  numberColumn: undefined,
  reported: undefined,
  looksUpRefused: false,
  looksUpOutOfRange: false,
  guardsRefused: false,
  whyInOrder: undefined
}

type Upsert = Form & { readonly conflict: Conflict }

function decideUpsert (form: Upsert, columns: readonly Column[]): OfConflict {
  const { table, table: { identity }, conflict, afterWrite } = form
  const { namesKey } = traitsOf(table)
  const { fillsNew } = factsOf(table)
  const written = writtenColumns(conflict, columns)
  const hasComputedKey = isComputedKey(conflict.key, { columns })
  const numberColumn = numberColumnOf(conflict, table)
  // a look-up would write the values that were sent, and only the statement has those that a trigger makes of them,
  // which may be why a unique key has refused the row
  const refills = fillsNew && written.length > 0
  const refillsKey = refills && conflict.set.kind !== 'assignments' && mayChangeKey(table, written)
  return {
    ...decideWay({ ...form, columns, written, numberColumn, hasComputedKey }),
    written,
    numberColumn,
    reported: findReported(table, hasComputedKey),
    looksUpRefused: !namesKey && !refillsKey,
    looksUpOutOfRange: !namesKey && !fillsNew &&
      ((identity?.autoIncrement === true && !columns.includes(identity)) || foundFirst(table) !== undefined),
    guardsRefused: refills && afterWrite === undefined,
    whyInOrder: whyInOrder(table, columns, written)
  }
}

/** The rows of an upsert that have the same columns. */
interface UpsertForm extends Upsert, Pick<WriteDecision, 'columns' | 'written' | 'numberColumn'> {
  /** A look-up cannot find the row that exists. */
  readonly hasComputedKey: boolean
}

/**
 * The first that applies decides; without one, the statement is guarded (`decideWay`). The first two need no condition
 * for that: a row that the database numbers is new, and SQLite's statement names its key. All others look the row up:
 * their order decides only which reason is told.
 */
export const UPSERT_RULES: ReadonlyArray<ReasonedWay & { readonly applies: (form: UpsertForm) => boolean }> = [
  {
    way: 'insert',
    why: 'the database numbers the row',
    applies: ({ numberColumn, columns }) => numberColumn !== undefined && !columns.includes(numberColumn)
  },
  {
    way: 'guarded',
    why: 'the statement names its key',
    applies: ({ table }) => traitsOf(table).namesKey
  },
  {
    way: 'look-up',
    why: 'no statement can be guarded',
    applies: ({ table }) => table.traits?.upsert === 'byKey'
  },
  // the statement would change the row whose key the trigger has made
  {
    way: 'look-up',
    why: 'a trigger may give the row another key than the one by which it is checked',
    applies: ({ table, afterWrite }) => afterWrite !== undefined && factsOf(table).fillsNew
  },
  // it assigns a column to itself where nothing is written
  {
    way: 'look-up',
    why: 'the statement would fire triggers',
    applies: ({ table, written }) => written.length === 0 && factsOf(table).seesChanged
  },
  {
    way: 'look-up',
    why: 'the statement would write history',
    applies: ({ table, written, hasComputedKey }) =>
      factsOf(table).hasHistory && (written.length === 0 || !hasComputedKey)
  },
  // as NULL over NULL below
  {
    way: 'look-up',
    why: 'the server may count what a BEFORE UPDATE trigger undoes',
    applies: ({ table, written, hasComputedKey }) =>
      factsOf(table).precedesChange && written.length > 0 && !hasComputedKey
  }
]

/**
 * The servers count a row as inserted although it exists if the bytes of the new row differ from those of the old one
 * but the values do not. This occurs if NULL is written over NULL in a column with another default, also by a BEFORE
 * UPDATE trigger, and on MySQL if such a trigger undoes the change. If a trigger gives the row its values and its key,
 * only the statement has them: then the row is inserted before its upsert is tried.
 */
function decideWay (form: UpsertForm): Pick<WriteDecision, 'way' | 'why' | 'nulls' | 'ofNull'> {
  const { table, conflict: { set }, columns, written } = form
  const rule = UPSERT_RULES.find(({ applies }) => applies(form))
  if (rule !== undefined) return { way: rule.way, why: rule.why, nulls: [] }
  const guarded = { way: 'guarded', why: 'the statement fails unless the named key is equal' } as const
  // an omitted column gets its default
  const assigned = set.kind === 'assignments' ? written : written.filter((column) => columns.includes(column))
  const nulls = assigned.filter(({ nullable, defaultText, defaultComputed }) =>
    nullable && (defaultText !== null || defaultComputed === true))
  if (nulls.length === 0) return { ...guarded, nulls }
  const way = factsOf(table).fillsNew ? 'insert-first' : 'look-up'
  return { ...guarded, nulls, ofNull: { way, why: 'the server may count NULL over NULL as a new row' } }
}

/**
 * The column of the named key in which the database gives a new number to a row that omits it, which is then inserted;
 * undefined if a trigger may give it the number of a row that exists.
 */
const numberColumnOf = ({ key }: Conflict, table: Table): Column | undefined =>
  factsOf(table).fillsNew ? undefined : key.find(({ autoIncrement }) => autoIncrement)

/**
 * On MySQL and MariaDB a number that the database gives, and any other one if it computes the key, by which the row
 * could be found. SQLite reports ids of any type, also where triggers may change the key.
 */
function findReported (table: Table, isComputed: boolean): Column | undefined {
  const { identity } = table
  if (!traitsOf(table).reportsNumbers) return isComputed || factsOf(table).seesChanged ? identity : undefined
  return reportsId(table) || (isComputed && identity?.type.wholeNumbers === true) ? identity : undefined
}

/** Whether an upsert reports the id of each row. Of an AUTO_INCREMENT number with a fraction the servers round it. */
export const reportsId = (table: Table): boolean =>
  traitsOf(table).reportsNumbers && table.identity?.autoIncrement === true &&
  table.identity.type.wholeNumbers === true

/** Two requests that write the same rows in different orders end in a deadlock; in the same order, one waits. */
function whyInOrder (table: Table, inserted: readonly Column[], written: readonly Column[]): string | undefined {
  const { name, columns, foreignKeys } = baseTable(table)
  const { hasHistory, seesNew, seesChanged } = factsOf(table)
  if (traitsOf(table).hasOneWriter) return 'one writer excludes the others'
  if (hasHistory) return 'the history shows the order'
  if (seesNew || seesChanged) return 'triggers see the order'
  const names = new Set([...inserted, ...written].map(({ name }) => name))
  const mayHaveValue = (column: string): boolean => {
    const facts = columns.get(column)
    return facts === undefined || names.has(column) || facts.defaultText !== null || isComputed(facts) ||
      facts.onUpdate === true
  }
  // NULL refers to no row, and a row that exists keeps its reference
  const toItself = foreignKeys.filter(({ referencedTable }) => referencedTable === name)
  if (toItself.some((key) => key.columns.some(mayHaveValue))) return 'a row may refer to the one before'
  return mayChangeKey(table, written) ? 'a row may take a unique value that one before releases' : undefined
}

function whyApart ({ table, afterWrite, outcomes }: Form, way: ReasonedWay['way']): string | undefined {
  if (afterWrite !== undefined) return 'each written row is checked before the next one'
  if (outcomes === true) return 'one statement tells totals only'
  return way !== 'insert' && factsOf(table).hasHistory ? 'history changes what a statement counts' : undefined
}

/** MySQL has no DEFAULT for a required column, which a trigger may fill if it is omitted. */
function whyAlike ({ table, conflict }: Form, columns: readonly Column[]): string | undefined {
  if (!traitsOf(table).hasDefault) return 'a statement cannot name a default'
  if (conflict?.set.kind === 'given') return 'the columns that are written differ'
  return factsOf(table).fillsNew && table.requiredColumns.some((column) => !columns.includes(column))
    ? 'a trigger may fill a column without a default only if the statement omits it'
    : undefined
}

/** The decisions for all tables, with their size in bytes, estimated. */
export const knownDecisions = new CacheByTable<WriteDecision>(4 * 1024 * 1024, (form) => 500 + 4 * form.length)

/** Longer forms are decided each time. */
const MAX_FORM = 10_000

/** Of an insert whose row needs no decision. */
export const NO_DECISIONS: InsertPlan['decisions'] = new Map()

/** How the rows of an insert are written, by their columns. */
export function findDecisions (plan: Form & Pick<InsertPlan, 'rows'>): InsertPlan['decisions'] {
  const decisions = new Map<readonly Column[], WriteDecision>()
  const table = statementTable(plan.table)
  const prefix = prefixOf(plan)
  for (const { columns } of plan.rows) {
    if (decisions.has(columns)) continue
    let key = prefix
    for (const { name } of columns) key += `${name.length}:${name}`
    let decision = knownDecisions.get(table, key)
    if (decision === undefined) {
      decision = decide(plan, columns)
      if (key.length <= MAX_FORM) knownDecisions.set(table, key, decision)
    }
    decisions.set(columns, decision)
  }
  return decisions
}

/** What the way depends on besides the columns of the row. */
function prefixOf ({ conflict, afterWrite, outcomes }: Form): string {
  const names = (columns: readonly Column[]): string[] => columns.map(({ name }) => name)
  const set = conflict?.set
  return JSON.stringify([
    afterWrite !== undefined,
    outcomes === true,
    conflict && names(conflict.key),
    set?.kind,
    set?.kind === 'columns' && names(set.columns),
    set?.kind === 'given' && names([...set.except ?? []]),
    set?.kind === 'assignments' && names(set.assignments.map(({ column }) => column))
  ])
}

export const decisionOf = ({ decisions }: Pick<InsertPlan, 'decisions'>, { columns }: PlannedRow): WriteDecision =>
  decisions.get(columns) ?? ALONE

/** For the only row of a plain insert. */
const ALONE: WriteDecision =
  Object.freeze({ ...OF_NEW, columns: [], whyApart: undefined, whyAlike: undefined, likeness: '' })

/** Different ones. */
export function decisionsOf (
  plan: Pick<InsertPlan, 'decisions'>,
  rows: readonly PlannedRow[]
): readonly WriteDecision[] {
  if (plan.decisions.size === 1) return [decisionOf(plan, rows[0] as PlannedRow)]
  const decisions = new Set<WriteDecision>()
  for (const row of rows) decisions.add(decisionOf(plan, row))
  return [...decisions]
}

/** All that a value decides is whether NULL may be written, as `$inc` writes it over NULL. */
export function wayOf (plan: InsertPlan, row: PlannedRow): ReasonedWay {
  const decision = decisionOf(plan, row)
  const { nulls, ofNull } = decision
  if (ofNull === undefined) return decision
  const set = plan.conflict?.set
  const mayBeNull = set?.kind === 'assignments'
    ? set.assignments.some(({ column, parameter, operator }) =>
      (parameter === null || operator !== undefined) && nulls.includes(column))
    : nulls.some((column) => givenValue(row, column) === null)
  return mayBeNull ? ofNull : decision
}

/**
 * Undefined if one statement for all of them counts them, fires their triggers and writes them in order as one for each
 * would.
 */
export function whyOneByOne (plan: InsertPlan, rows: readonly PlannedRow[]): string | undefined {
  if (plan.decisions.size === 0) return undefined
  const decisions = decisionsOf(plan, rows)
  const apart = decisions.find(({ whyApart }) => whyApart !== undefined)?.whyApart
  if (apart !== undefined) return apart
  if (decisions.length > 1) {
    const [first] = decisions as [WriteDecision, ...WriteDecision[]]
    const alike = decisions.find(({ whyAlike }) => whyAlike !== undefined)?.whyAlike
    if (alike !== undefined && decisions.some(({ likeness }) => likeness !== first.likeness)) return alike
    const numbersSome = new Set(decisions.map(({ way }) => way === 'insert')).size > 1
    if (numbersSome && first.numberColumn?.type.maximum === undefined) {
      return 'the largest number of the key is not known'
    }
  }
  const alone = decisions.find(isAlone)
  if (alone !== undefined || decisions.every(({ ofNull }) => ofNull === undefined)) return alone?.why
  for (const row of rows) {
    const rowWay = wayOf(plan, row)
    if (isAlone(rowWay)) return rowWay.why
  }
  return undefined
}

const isAlone = ({ way }: ReasonedWay): boolean => way === 'look-up' || way === 'insert-first'

// How an update of many rows, which have been found and locked, changes them.

/**
 * Undefined if one statement for all of them, which joins the table with the values, writes the same as one after the
 * other.
 */
export function whyUpdatedOneByOne ({ table, key, updates }: {
  readonly table: Table
  readonly key: readonly Column[]
  readonly updates: readonly UpdatePlan[]
}): string | undefined {
  const { hasTransactions, hasHistory, seesChanged } = factsOf(table)
  if (!traitsOf(table).joinsChanges) return 'an update cannot join a list of values'
  if (updates.length < 2) return 'there is one row'
  if (!hasTransactions) return 'a statement that fails would leave rows changed'
  if (hasHistory || seesChanged) return 'triggers or the history see the order'
  if (!key.every(({ type }) => type.wholeNumbers === true) || findUniqueIndex(table, key) === undefined) {
    return 'only whole numbers are equal in a join exactly if they are the same'
  }
  const columns = (updates[0] as UpdatePlan).assignments.map(({ column }) => column)
  const isPlain = ({ assignments, afterWrite, foreignKeyChecks }: UpdatePlan): boolean =>
    afterWrite === undefined && foreignKeyChecks === undefined && assignments.length === columns.length &&
    assignments.every(({ column, operator }) => columns.includes(column) && operator === undefined)
  if (!updates.every(isPlain)) return 'the rows get values of different columns, computed values, or checks'
  return baseTable(table).indexes.some((index) => mayHold(index, columns, table))
    ? 'in a written index, the order may decide whether a row is refused'
    : undefined
}

// What a written row may have other than the values of the request.

/** A column is generated, has ON UPDATE, or a trigger sets it. */
export function mayCompute (plan: InsertPlan | UpdatePlan, columns: readonly Column[]): boolean {
  const { verb, table } = plan
  const { altersNew, altersChanged } = factsOf(table)
  const changes = verb === 'update' || plan.conflict !== undefined
  const assigned = verb === 'update'
    ? plan.assignments
    : plan.conflict?.set.kind === 'assignments' ? plan.conflict.set.assignments : []
  return columns.some(({ generated, onUpdate }) => generated || (changes && onUpdate === true)) ||
    assigned.some(({ column, operator }) => operator === TO_DEFAULT && columns.includes(column)) ||
    (verb === 'insert' && altersNew) || (changes && altersChanged)
}

/** An upsert writes some of them to a row that exists, and keeps the others. */
export function mayMix ({ rows, conflict }: InsertPlan, columns: readonly Column[]): boolean {
  if (conflict === undefined || conflict.set.kind === 'assignments' || columns.length === 1) return false
  const { key, set } = conflict
  // the row that exists has the same values in the columns of the key
  const mixes = (written: readonly Column[]): boolean =>
    columns.some((column) => written.includes(column) && !key.includes(column)) &&
    columns.some((column) => !written.includes(column) && !key.includes(column))
  return set.kind === 'columns' ? mixes(set.columns) : rows.some((row: PlannedRow) => mixes(row.columns))
}

/** New rows of an upsert get the default of one of them, while rows that exist keep its value. */
export function mayDefault ({ rows, conflict }: InsertPlan, columns: readonly Column[]): boolean {
  const defaulted = columns.filter(
    ({ defaultText, defaultComputed }) => defaultText !== null || defaultComputed === true
  )
  return conflict !== undefined && defaulted.some((column) => rows.some((row) => !row.columns.includes(column)))
}

/** An upsert may write one of them to a row that exists. */
export function mayChange (plan: InsertPlan, row: PlannedRow, columns: readonly Column[]): boolean {
  const { conflict } = plan
  if (conflict === undefined || mayCompute(plan, columns)) return true
  return writtenColumns(conflict, row.columns).some((column) => columns.includes(column))
}
