import { writeTypes } from '../openapi/typescript.ts'
import { visibleTables } from '../openapi/visible.ts'
import { readCatalog, requireDatabase } from './one-database.ts'

/** `row-query types [database] [--token name]`: prints TypeScript interfaces for its tables, or for what a token sees of them. @throws ConfigError */
export async function types (args: string[]): Promise<number> {
  const { database, grant } = requireDatabase('types', args)
  process.stdout.write(writeTypes(database.name, visibleTables(await readCatalog(database), grant, database.name)))
  return 0
}
