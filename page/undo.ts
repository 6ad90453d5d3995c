/** Takes back an update of one row, while it still has the values that were written. */
import { keyFilters } from './bodies.ts'
import { keyOf } from './filter-rows.ts'
import { memberOf, withMembers, writeLine, writeLines, type Json, type JsonObject } from './json.ts'
import { rowKey } from './grid.tsx'
import type { Stage } from './stage.tsx'
import type { Table } from './table.ts'
import { toGiven } from './values.ts'

/** Says what was written, and offers to take it back. `before`: the row as it was; `names`: what was written of it. */
export async function offerUndo (stage: Stage, { table, before, names, said, onUndone }: { readonly table: Table, readonly before: JsonObject, readonly names: readonly string[], readonly said: string, readonly onUndone: () => void }): Promise<void> {
  const { service, say } = stage
  const filters = keyFilters(table, before)
  const columns = names.map((name) => table.columns.find((column) => column.name === name)).filter((column) => column !== undefined)
  const isWhole = columns.length === names.length && names.every((name) => memberOf(before, name) !== undefined && !table.primaryKey.includes(name))
  if (!isWhole || filters === undefined || rowKey(table, before) === undefined || !table.verbs.includes('select')) return say(said)
  const { data } = await service.look(table.path, writeLine({ verb: 'select', columns: names, filters, limit: 1 }))
  const [after] = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
  if (after === undefined) return say(said)
  const old = Object.fromEntries(columns.map((column) => [column.name, toGiven(column, before[column.name] as Json)]))
  const own = Object.fromEntries(columns.filter(({ operators }) => operators.includes('$is')).map(({ name }) => [keyOf(name), { $is: after[name] as Json }]))
  const run = async (): Promise<void> => {
    const answer = await service.send(table.path, writeLines({ verb: 'update', data: old, filters: withMembers(filters, own), expect: 1 }))
    if (answer.failure === undefined) {
      say('The old value is back')
      onUndone()
    } else say(answer.failure.code === 'EXPECTATION_FAILED' ? 'Nothing was undone: the row has been changed since' : `Nothing was undone: ${answer.failure.message}`)
  }
  say(said, { label: 'Undo', run: () => { run() } })
}
