import { CREATE } from '../idempotency/keys-table.ts'
import { requireDatabase } from './one-database.ts'

/** `row-query keys [database]`: prints the statement that creates the table for idempotency keys. @throws ConfigError */
export async function keys (args: string[]): Promise<number> {
  const { database } = requireDatabase('keys', args)
  process.stdout.write(CREATE[database.address.engine])
  return 0
}
