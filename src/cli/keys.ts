import { ConfigError } from '../config-errors.ts'
import { CREATE } from '../idempotency/keys-table.ts'
import { chooseDatabase, namesOf } from './one-database.ts'

/** `row-query keys [database]`: prints the statement that creates the table for idempotency keys. @throws ConfigError */
export async function keys (args: string[]): Promise<number> {
  const { databases, database = databases.length === 1 ? databases[0] : undefined } = chooseDatabase(args)
  if (database === undefined) throw new ConfigError([`a database is required; the databases are ${namesOf(databases)}`])
  process.stdout.write(CREATE[database.address.engine])
  return 0
}
