/** The schemas of a list of rows, and of `onConflict`. */
import { MAX_ROWS } from '../../schemas/body.ts'
import type { Key, Table } from '../catalog/catalog.ts'
import { keysOf } from '../plan/insert.ts'
import type { Subject } from './document-settings.ts'
import { anyOf, closedObject, defining, plainText, refTo, requiring, type Schema } from './schema.ts'
import { writableColumns } from './visible.ts'

export const onConflictName = (name: string): string => `${name}OnConflict`

/** `data` of an insert: a row or a list. */
export function insertData (name: string, { description }: Schema): Schema {
  const row = refTo(`${name}Insert`)
  return { ...anyOf([row, { type: 'array', items: row, minItems: 1, maxItems: MAX_ROWS }]), description }
}

/** Requires a value for the column that the database numbers, if a conflict would write this column. */
export function insertRules (table: Table): Schema {
  const number = table.identity?.autoIncrement === true ? table.identity.name : undefined
  if (number === undefined || !hasConflicts(table) || !writableColumns(table, 'insert').some(({ name }) => name === number)) return {}
  const needed = requiring(number)
  return {
    if: requiring('onConflict', requiring('set', { type: 'array', contains: { enum: [number] } })),
    then: defining({ data: { ...needed, items: needed } })
  }
}

/** Whether there can be conflicts, which need a unique key. */
export const hasConflicts = (table: Table): boolean => keysOf(table).length > 0

/** The columns of each key, without keys that have the same columns. */
function distinct (keys: readonly Key[]): string[][] {
  return [...new Map(keys.map(({ columns }) => [[...columns].sort().join('\0'), [...columns]])).values()]
}

/** The schema of a list of so many of these columns. */
const keyChoice = (names: readonly string[], length: number): Schema => ({ type: 'array', items: { type: 'string', enum: names }, minItems: length, maxItems: length, uniqueItems: true })

/** The schema of `onConflict`. A caller who may not update can only leave existing rows unchanged. */
export function onConflictSchema ({ name, table, verbs }: Subject): Schema {
  const keys = keysOf(table)
  const [wide, single] = [keys.filter((key) => key.columns.length > 1), keys.filter((key) => key.columns.length === 1)].map(distinct) as [string[][], string[][]]
  const choices = [...single.length > 0 ? [keyChoice(single.flat(), 1)] : [], ...wide.map((names) => keyChoice(names, names.length))]
  const listed = keys.map(({ columns }) => columns.map((column) => `"${column}"`).join(', ')).join('; or ')
  const columns = writableColumns(table, 'update').map((column) => column.name)
  const nothing = { type: 'array', items: { type: 'string' }, maxItems: 0, description: 'Empty: existing rows stay as they are.' }
  return closedObject([
    ['key', { ...anyOf(choices), description: plainText(`The columns of one unique key: ${listed}.`) }],
    ['set', verbs.includes('update') && columns.length > 0
      ? {
          ...anyOf([{ type: 'array', items: { type: 'string', enum: columns }, uniqueItems: true }, refTo(`${name}Update`)]),
          description: 'What to change in a row that exists: columns, which get the value of the row in `data`, or values. If left out, every column that the row in `data` has, except those of the key. An empty list changes nothing.'
        }
      : nothing]
  ], { required: verbs.includes('update') ? ['key'] : ['key', 'set'], description: 'Updates the rows that have the same values in a unique key, instead of refusing them.' })
}
