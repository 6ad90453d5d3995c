/** The methods of a database. */
import type { DatabaseClient } from './client.ts'
import { RowQueryError } from './errors.ts'
import { writeJson } from './json.ts'
import type { RequestOptions } from './options.ts'
import type { Send } from './send.ts'

export function createDatabase (send: Send, name: string): DatabaseClient<any, any> {
  // the verb comes last, so that the fields cannot override it
  const method = (verb: string) => (table: string, fields?: object, options?: RequestOptions): Promise<any> => send([name, table], { ...fields, verb }, options)
  const select = method('select')
  return {
    select,
    insert: method('insert'),
    update: method('update'),
    delete: method('delete'),
    async * pages (table: string, fields?: { after?: unknown }, options?: RequestOptions): AsyncGenerator<any> {
      let after = fields?.after ?? null
      do {
        const { rows, next } = await select(table, { ...fields, after }, options)
        // without progress, the loop would not end
        if (!Array.isArray(rows) || (next !== null && !(rows.length > 0 && next instanceof Object && writeJson(next) !== writeJson(after)))) {
          throw new RowQueryError('UNEXPECTED_ANSWER', 'Not the next page')
        }
        yield * rows
        after = next
      } while (after !== null)
    },
    async * rows (table: string, fields?: object, options?: RequestOptions): AsyncGenerator<any> {
      yield * await send([name, table], { ...fields, verb: 'select' }, options, true)
    },
    transaction: (operations: readonly object[], fields?: object, options?: RequestOptions): Promise<any> => send([name], { ...fields, operations }, options)
  }
}
