import { ConfigError } from '../config/config-errors.ts'
import { writeTypes } from '../openapi/typescript.ts'
import { chooseDatabase, namesOf, readCatalog } from './one-database.ts'

/** `row-query types [database]`: prints TypeScript interfaces for its tables. @throws ConfigError */
export async function types (args: string[]): Promise<number> {
  const { databases, database = databases.length === 1 ? databases[0] : undefined } = chooseDatabase(args)
  if (database === undefined) throw new ConfigError([`a database is required; the databases are ${namesOf(databases)}`])
  process.stdout.write(writeTypes(database.name, await readCatalog(database)))
  return 0
}
