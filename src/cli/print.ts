import { VERBS } from '../../schemas/grants.ts'
import { CREATE } from '../idempotency/keys-table.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { createDatabaseDocument } from '../openapi/database-document.ts'
import { createInterfaceDocument } from '../openapi/interface-document.ts'
import { writeTypes } from '../openapi/typescript.ts'
import { visibleTables } from '../openapi/visible.ts'
import { chooseDatabase, readCatalog, requireDatabase } from './one-database.ts'

/**
 * `row-query openapi [database] [--token name]`: prints the document of the interface or of a database, for a token
 * with all permissions or a named one. @throws ConfigError
 */
export async function openapi (args: string[]): Promise<number> {
  const { databases, database, settings, grant } = chooseDatabase('openapi', args)
  const document =
    database === undefined
      ? createInterfaceDocument({
        verbs: VERBS.filter((verb) => grant.permissions.has(verb)),
        databases: databases.map(({ name }) => name),
        settings
      })
      : await createDatabaseDocument({
        database: database.name,
        tables: visibleTables(await readCatalog(database), grant, database.name),
        settings
      })
  process.stdout.write(`${JSON.stringify(parseExactJson(String(document.bytes)), undefined, 2)}\n`)
  return 0
}

/**
 * `row-query types [database] [--token name]`: prints TypeScript interfaces for its tables, or for what a token sees of
 * them. @throws ConfigError
 */
export async function types (args: string[]): Promise<number> {
  const { database, grant } = requireDatabase('types', args)
  process.stdout.write(writeTypes(database.name, visibleTables(await readCatalog(database), grant, database.name)))
  return 0
}

/**
 * `row-query keys [database]`: prints the statement that creates the table for idempotency keys. @throws ConfigError
 */
export async function keys (args: string[]): Promise<number> {
  const { database } = requireDatabase('keys', args)
  process.stdout.write(CREATE[database.address.engine])
  return 0
}
