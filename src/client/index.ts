/**
 * The client, `fastify-row-query/client`. It runs wherever `fetch` does, and imports only types from the other rooms.
 */
import type { AnyDatabases } from '../in-process/field-types.ts'
import { type Client, createDatabase } from './client.ts'
import type { ClientOptions } from './client-options.ts'
import { createSend } from './send.ts'

export { RowQueryError } from './client-options.ts'
export type { Committed, ErrorDetail, ErrorFacts } from './client-options.ts'
export type { ClientOptions, RequestOptions, SendOptions } from './client-options.ts'
export type { Client, DatabaseClient, LoadOptions, OperationsFields, ReadOptions, WriteOptions } from './client.ts'
export type { OperationOf, Reference } from '../in-process/requests.ts'
export type { Column, Filters, Insert, Position, Row, Update } from '../in-process/field-types.ts'

/**
 * Creates a client. `Databases`: database to the interface `DB` that `row-query types` writes. @throws TypeError if
 * `url` is not valid
 */
export function createClient<Databases extends AnyDatabases = AnyDatabases> (
  options: ClientOptions & { numbers: 'string' }
): Client<Databases, 'string'>
export function createClient<Databases extends AnyDatabases = AnyDatabases> (
  options: ClientOptions & { numbers?: 'bigint' | undefined }
): Client<Databases, 'bigint'>
export function createClient (options: ClientOptions): any {
  const send = createSend(options)
  return { database: (name: string) => createDatabase(send, name) }
}
