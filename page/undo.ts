/** Takes back what was written, while the rows still are as it has left them. */
import { keyFilters } from './bodies.ts'
import { keyOf } from './filter-rows.ts'
import { rowKey } from './grid.tsx'
import { memberOf, withMembers, writeLine, writeLines, type Json, type JsonObject } from './json.ts'
import type { Stage } from './stage.tsx'
import type { Column, Table } from './table.ts'
import { toGiven } from './values.ts'

/** Values that are compared: a body has a limited number of conditions. */
const MAX_VALUES = 200
/** Tables that may refer to a row and are asked whether they do. */
const MAX_REFERRING = 10

interface Undo {
  readonly table: Table
  /** What was written, as a sentence. */
  readonly said: string
  readonly onUndone: () => void
}

const columnOf = (table: Table, name: string): Column | undefined => table.columns.find((column) => column.name === name)

/** Says what was written, and offers the request that takes it back. */
function offer ({ service, say }: Stage, { table, said, onUndone }: Undo, { body, done }: { readonly body: JsonObject, readonly done: string }): void {
  const run = async (): Promise<void> => {
    const { failure } = await service.send(table.path, writeLines(body))
    if (failure !== undefined) return say(`Nothing was undone: ${failure.code === 'EXPECTATION_FAILED' ? 'the rows have been changed since' : failure.message}`)
    say(done)
    onUndone()
  }
  say(said, { label: 'Undo', run: () => { run() } })
}

/** The values of a row that still have to be there. */
const valuesOf = (table: Table, row: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.filter((name) => columnOf(table, name)?.operators.includes('$is')).map((name) => [keyOf(name), { $is: row[name] as Json }]))

/** Of an update of one row. `before`: the row as it was; `names`: what was written of it. */
export async function offerUndo (stage: Stage, { before, names, ...undo }: Undo & { readonly before: JsonObject, readonly names: readonly string[] }): Promise<void> {
  const { table, said } = undo
  const filters = keyFilters(table, before)
  const columns = names.map((name) => columnOf(table, name)).filter((column) => column !== undefined)
  const isWhole = columns.length === names.length && names.every((name) => memberOf(before, name) !== undefined && !table.primaryKey.includes(name))
  if (!isWhole || filters === undefined || rowKey(table, before) === undefined || !table.verbs.includes('select')) return stage.say(said)
  const { data } = await stage.service.look(table.path, writeLine({ verb: 'select', columns: names, filters, limit: 1 }))
  const [after] = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
  if (after === undefined) return stage.say(said)
  const old = Object.fromEntries(columns.map((column) => [column.name, toGiven(column, before[column.name] as Json)]))
  offer(stage, undo, { body: { verb: 'update', data: old, filters: withMembers(filters, valuesOf(table, after, names)), expect: 1 }, done: names.length === 1 ? 'The old value is back' : 'The old values are back' })
}

/** Whether rows that are deleted can be written again: every value of them can, and no row that the page sees is deleted or changed with them. */
export async function mayRestore ({ service, document }: Stage, table: Table, rows: readonly JsonObject[]): Promise<boolean> {
  const isWhole = table.verbs.includes('insert') && table.verbs.includes('select') && table.columns.every(({ isGenerated, isInsertable, isInvisible, isBytes }) => isGenerated || (isInsertable && isInvisible !== true && !isBytes))
  const referring = table.relations.filter(({ isReferring }) => isReferring)
  if (!isWhole || referring.length > MAX_REFERRING) return false
  const refers = await Promise.all(referring.map(async ({ table: name, on }) => {
    const other = document.table(name)
    const values = rows.map((row) => on.map(([own, column]) => [keyOf(column), memberOf(row, own)] as const))
    const isKnown = values.flat().every(([, value]) => value !== undefined && value !== null)
    const [[[key, value] = []] = []] = values
    if (other?.verbs.includes('select') !== true || !isKnown || key === undefined || value === undefined || (on.length > 1 && values.flat().length > MAX_VALUES)) return true
    const filters = on.length === 1 ? { [key]: { $in: values.map(([pair]) => pair?.[1] ?? null) } } : { $or: values.map((pairs) => Object.fromEntries(pairs) as JsonObject) }
    const { data } = await service.look(other.path, writeLine({ verb: 'select', filters, limit: 1 }))
    return (memberOf(data, 'rows') as readonly Json[] | undefined)?.length !== 0
  }))
  return !refers.includes(true)
}

/** Of a delete, whose answer has the rows as they were. */
export function offerRestore (stage: Stage, undo: Undo, rows: readonly JsonObject[]): void {
  const columns = undo.table.columns.filter(({ isGenerated }) => !isGenerated)
  if (rows.length === 0 || rows.some((row) => columns.some(({ name }) => memberOf(row, name) === undefined))) return stage.say(undo.said)
  const data = rows.map((row) => Object.fromEntries(columns.map((column) => [column.name, toGiven(column, row[column.name] as Json)])))
  offer(stage, undo, { body: { verb: 'insert', data }, done: rows.length === 1 ? 'The row is back' : `${rows.length} rows are back` })
}

/** Of an insert, whose answer has the rows as they are. */
export function offerRemoval (stage: Stage, undo: Undo, rows: readonly JsonObject[]): void {
  const { table } = undo
  const names = table.columns.map(({ name }) => name).filter((name) => !table.primaryKey.includes(name) && rows.every((row) => memberOf(row, name) !== undefined))
  const canRemove = table.verbs.includes('delete') && rows.length > 0 && rows.length * table.columns.length <= MAX_VALUES && rows.every((row) => keyFilters(table, row) !== undefined)
  if (!canRemove) return stage.say(undo.said)
  const filters = rows.map((row) => ({ ...keyFilters(table, row), ...valuesOf(table, row, names) }))
  offer(stage, undo, { body: { verb: 'delete', filters: { $or: filters }, expect: rows.length }, done: rows.length === 1 ? 'The row is gone again' : `${rows.length} rows are gone again` })
}
