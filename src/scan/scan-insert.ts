/**
 * The short way for inserts of lists into MySQL and MariaDB: the rows are copied from the body into the statement, and neither parsed nor
 * planned one by one. Only the body with the first row alone is parsed, checked and planned, as any other. Whatever is unusual, and every
 * error, is left to the usual way: the list is then parsed as if it had not been scanned.
 */
import { BodySchema, MAX_CELLS, MAX_ROWS, type InsertBody } from '../../schemas/body.ts'
import { authorize, type Access } from '../access/authorize.ts'
import { mayFillColumns, type Column, type Table } from '../catalog/catalog.ts'
import type { RowList } from '../dialects/dialect.ts'
import { createPlan } from '../plan/create-plan.ts'
import type { PlanLimits } from '../plan/filters/scope.ts'
import { isAnyOrder } from '../plan/key-order.ts'
import type { Conflict, InsertPlan, PlannedRow, RowsPlan } from '../plan/plan.ts'
import { compileBodySchema, parseBody } from '../request/check-body.ts'
import { toBatches } from '../sql/row-batches.ts'
import { endOfObject } from './end-of-object.ts'
import { ScannedBody } from './scanned-body.ts'

/** Shorter lists gain nothing. */
const MIN_BYTES = 1024
/** Lists for a table that are not scanned after one that could not be: the next ones are probably alike. */
const PAUSE = 15

/** How the body begins. Other orders of its fields are read in the usual way. */
const BEGINNING = /^[\t\n\r ]*\{[\t\n\r ]*(?:"verb"[\t\n\r ]*:[\t\n\r ]*"insert"[\t\n\r ]*,[\t\n\r ]*)?"data"[\t\n\r ]*:[\t\n\r ]*\[[\t\n\r ]*(?=\{)/
const MAX_BEGINNING = 100
/** How the list ends. If the last of these ends something else, the scan does not end there. */
const END = '}]'

const findBodyError = compileBodySchema(BodySchema)
const pauses = new WeakMap<Table, number>()

/** @returns undefined if the body must be read in the usual way. `bytes`: valid UTF-8. Never throws. */
export function scanInsert (bytes: Buffer, access: Access, limits: PlanLimits): ScannedBody | undefined {
  const { dialect, onWrite, latestCatalog } = access.database
  if (bytes.length < MIN_BYTES || dialect.scanRows === undefined || onWrite !== undefined || latestCatalog() === undefined) return undefined
  const [beginning] = BEGINNING.exec(bytes.toString('latin1', 0, MAX_BEGINNING)) ?? []
  const to = bytes.lastIndexOf(END) + END.length
  if (beginning === undefined || to < END.length) return undefined
  const from = beginning.length
  const parsed = parseBody(bytes.toString('utf8', 0, endOfObject(bytes, from)) + bytes.toString('utf8', to - 1))
  if (parsed instanceof Error || findBodyError(parsed) !== undefined) return undefined
  const body = parsed as InsertBody
  try {
    const table = authorize(access, body) as Table // no promise: there is a catalog
    if (isPaused(table)) return undefined
    const plan = createPlan(body, table, limits) as InsertPlan & { readonly rows: RowsPlan }
    const columns = columnsOf(plan)
    const order = columns && orderOf(plan)
    if (columns === undefined || order === undefined) return undefined
    const scanned = dialect.scanRows({ bytes, from, to, columns, ...order, maxRows: Math.min(MAX_ROWS, Math.floor(MAX_CELLS / columns.length)) })
    if (scanned !== undefined) return new ScannedBody({ body, bytes, plan, scanned })
    pauses.set(table, PAUSE)
  } catch {
    // the usual way finds the same error, and names the row
  }
  return undefined
}

function isPaused (table: Table): boolean {
  const left = pauses.get(table) ?? 0
  if (left > 0) pauses.set(table, left - 1)
  return left > 0
}

/** The columns of the statement, if one statement inserts all rows, and a row gives a value to each of them. */
function columnsOf (plan: InsertPlan & { readonly rows: RowsPlan }): readonly Column[] | undefined {
  const { table, rows, returning } = plan
  const { rules = [], parents = [] } = table.view ?? {}
  if (returning !== undefined || rules.length > 0 || parents.length > 0 || mayFillColumns(table)) return undefined
  const [first] = rows.rows as [PlannedRow]
  const { conflict } = rows
  // rows with NULL over such a default are written one by one
  if (conflict !== undefined && (conflict.set.kind === 'assignments' || first.columns.some(({ nullable, defaultText }) => nullable && defaultText !== null))) return undefined
  const [batch] = toBatches(rows, table, 'mysql')
  return first.columns.length > 0 && batch?.columns.length === first.columns.length ? first.columns : undefined
}

/** Undefined if only the values of all rows show in which order they are written. */
function orderOf ({ table, rows: { rows, conflict } }: InsertPlan & { readonly rows: RowsPlan }): Pick<RowList, 'mayOmitFirst' | 'sortBy'> | undefined {
  const [{ columns }] = rows as [PlannedRow]
  const [numbered] = columns
  const mayOmitFirst = numbered?.autoIncrement === true && (conflict === undefined || isOmissible(numbered, conflict))
  if (conflict === undefined || !isAnyOrder(rows, conflict, table)) return { mayOmitFirst, sortBy: undefined }
  const [key, ...others] = conflict.key
  return others.length === 0 && key?.type.scan?.kind === 'integer' ? { mayOmitFirst, sortBy: columns.indexOf(key) } : undefined
}

/** Whether rows of an upsert without the column have the same statement: those with it are written first. */
const isOmissible = (column: Column, { key, set }: Conflict): boolean => key.length === 1 && key[0] === column && set.kind === 'columns' && !set.columns.includes(column)
