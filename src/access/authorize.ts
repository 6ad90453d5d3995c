/** What is refused for who asks, of what and for what, before a table is looked at: the same over HTTP and in process. */
import type { Database } from '../databases/database.ts'
import { databaseNotFound, permissionDenied, tableNotFound, type ServiceError } from '../errors.ts'
import type { Verb } from '../../schemas/grant.ts'
import { seesDatabase, seesTable, type Grant } from './grant.ts'

export interface Place {
  readonly databases: ReadonlyMap<string, Database>
  readonly grant: Grant
  readonly database: string
  readonly table: string
}

/** By the place alone: what the grant holds nothing on must look like what is not there. */
export function findPlaceRefusal ({ databases, grant, database, table }: Place): ServiceError | undefined {
  if (!databases.has(database) || !seesDatabase(grant, database)) return databaseNotFound(database)
  return seesTable(grant, database, table) ? undefined : tableNotFound(table, database)
}

/** By the verb, which is known when the body is. */
export function findVerbRefusal (grant: Grant, verb: Verb): ServiceError | undefined {
  return grant.permissions.has(verb) ? undefined : permissionDenied(`The token does not have the permission ${verb}`)
}
