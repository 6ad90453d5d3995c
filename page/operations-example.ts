/** An example of several operations: a row and another one that refers to it, with values that are there. */
import { memberOf, withMembers, writeLine, type Json, type JsonObject } from './json.ts'
import type { Stage } from './stage.tsx'
import type { Table, Verb } from './table.ts'

type Found = Pick<Stage, 'document' | 'service'>

interface Pair { readonly parent: Table, readonly child: Table, readonly column: string }

/** Tables that are looked at: a large database has many. */
const MAX_TABLES = 100

/** A table whose rows get a number, and another one that refers to it: preferably one whose rows are part of the first one's. */
function findPair ({ document }: Found): Pair | undefined {
  const tables = document.tables.slice(0, MAX_TABLES).flatMap(({ name }) => document.table(name) ?? []).filter(({ verbs }) => verbs.includes('insert'))
  const pairs = tables.flatMap((child) => child.columns.flatMap(({ name, references, isInsertable }): Pair[] => {
    const parent = tables.find((table) => table.name === references?.table)
    const key = parent?.columns.find((column) => column.name === references?.column)
    return parent === undefined || parent === child || !isInsertable || key?.isAutoIncrement !== true ? [] : [{ parent, child, column: name }]
  }))
  return pairs.find(({ child, column }) => child.primaryKey.includes(column)) ?? pairs[0]
}

export async function writeExample (found: Found): Promise<JsonObject> {
  const pair = findPair(found)
  const tables = found.document.tables.slice(0, MAX_TABLES).flatMap(({ name }) => found.document.table(name) ?? [])
  if (pair === undefined) {
    const operations = tables.slice(0, 2).map((table) => ({ table: table.name, ...table.examples.get(table.verbs[0] as string) }))
    return { operations }
  }
  const { parent, child, column } = pair
  const [first, second] = await Promise.all([dataOf(found, parent), dataOf(found, child)])
  return {
    operations: [
      { table: parent.name, verb: 'insert', data: first },
      { table: child.name, verb: 'insert', data: withMembers(second, { [column]: { $ref: '/0/id' } }) },
      ...parent.verbs.includes('select') ? [{ table: parent.name, verb: 'select', filters: { [parent.primaryKey[0] as string]: { $ref: '/0/id' } } }] : []
    ]
  }
}

/**
 * One more operation for a list: an insert refers to the row of the last operation that inserts into the table it belongs to, and numbers go on from those of
 * earlier operations on the same table.
 */
export async function writeNext (found: Found, { table, verb, operations }: { table: Table, verb: Verb, operations: readonly Json[] }): Promise<JsonObject> {
  if (verb !== 'insert') return { table: table.name, ...table.examples.get(verb) ?? { verb } }
  const data = await dataOf(found, table)
  const earlier = operations.filter((operation) => memberOf(operation, 'table') === table.name && memberOf(operation, 'verb') === 'insert')
  const changed = table.columns.map(({ name, references, isKey, kind }): readonly [string, Json | undefined] => {
    const index = references === undefined ? -1 : operations.findLastIndex((operation) => memberOf(operation, 'table') === references.table && memberOf(operation, 'verb') === 'insert')
    const isId = references !== undefined && found.document.table(references.table)?.columns.find((column) => column.name === references.column)?.isAutoIncrement === true
    if (index >= 0 && isId && memberOf(data, name) !== undefined) return [name, { $ref: `/${index}/id` }]
    const numbers = earlier.map((operation) => memberOf(memberOf(operation, 'data'), name)).filter((value) => typeof value === 'number')
    return [name, isKey && kind === 'integer' && references === undefined && numbers.length > 0 ? Math.max(...numbers) + 1 : memberOf(data, name)]
  })
  return { table: table.name, verb: 'insert', data: withMembers({}, Object.fromEntries(changed)) }
}

/** The example of an insert; its foreign keys have the values of a row that is there. */
async function dataOf ({ document, service }: Found, table: Table): Promise<JsonObject> {
  const data: JsonObject = table.examples.get('insert')?.data ?? {}
  const values = await Promise.all(table.columns.map(async ({ name, references, takesNow }): Promise<readonly [string, Json | undefined]> => {
    if (memberOf(data, name) === undefined) return [name, undefined]
    if (takesNow.data) return [name, { $now: true }]
    const other = references === undefined ? undefined : document.table(references.table)
    if (references === undefined || other?.verbs.includes('select') !== true) return [name, data[name]]
    const { data: answered } = await service.look(other.path, writeLine({ verb: 'select', columns: [references.column], limit: 1 }))
    const [row] = (answered?.['rows'] ?? []) as readonly JsonObject[]
    return [name, memberOf(row, references.column) ?? data[name]]
  }))
  return withMembers({}, Object.fromEntries(values))
}
