import { ConfigError } from '../config-errors.ts'
import { writeTypes } from '../openapi/typescript.ts'
import { visibleTables } from '../openapi/visible.ts'
import { chooseDatabase, namesOf, readCatalog } from './one-database.ts'

/** `row-query types [database] [--token name]`: prints TypeScript interfaces for its tables, or for what a token sees of them. @throws ConfigError */
export async function types (args: string[]): Promise<number> {
  const { databases, grant, database = databases.length === 1 ? databases[0] : undefined } = chooseDatabase(args)
  if (database === undefined) throw new ConfigError([`a database is required; the databases are ${namesOf(databases)}`])
  process.stdout.write(writeTypes(database.name, visibleTables(await readCatalog(database), grant, database.name)))
  return 0
}
