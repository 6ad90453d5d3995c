import { parseExactJson } from '../json/exact-json.ts'
import { VERBS } from '../../schemas/grant.ts'
import { createDatabaseDocument } from '../openapi/database-document.ts'
import { createInterfaceDocument } from '../openapi/interface-document.ts'
import { visibleTables } from '../openapi/visible.ts'
import { chooseDatabase, readCatalog } from './one-database.ts'

/** `row-query openapi [database] [--token name]`: prints the document of the interface or of a database, for a token with all permissions or a named one. @throws ConfigError */
export async function openapi (args: string[]): Promise<number> {
  const { databases, database, settings, grant } = chooseDatabase('openapi', args)
  const document = database === undefined
    ? createInterfaceDocument({ verbs: VERBS.filter((verb) => grant.permissions.has(verb)), databases: databases.map(({ name }) => name), settings })
    : await createDatabaseDocument({ database: database.name, tables: visibleTables(await readCatalog(database), grant, database.name), settings })
  process.stdout.write(`${JSON.stringify(parseExactJson(String(document.bytes)), undefined, 2)}\n`)
  return 0
}
