import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { TestDatabase } from '../servers/engines.ts'

export interface UserOptions {
  /** Privileges on tables of the database: `select on orders`; all if omitted. */
  grants?: string[]
  /** Resource limits of `create user`: `max_queries_per_hour 1`. */
  limits?: string
  password?: string
}

/** Creates an account for the database for the duration of the test. Returns the database's URL with the account. */
export async function createUser (t: Test, { name, url, query }: Pick<TestDatabase, 'name'
  | 'url'
  | 'query'>, { grants = ['all on *'], limits, password = 'user-password' }: UserOptions = {}): Promise<string> {
  const user = `u_${randomBytes(6).toString('hex')}`
  await query(`create user '${user}'@'%' identified by '${password}'${limits === undefined ? '' : ` with ${limits}`}`)
  t.teardown(() => query(`drop user '${user}'@'%'`))
  for (const grant of grants) await query(`grant ${grant.replace(' on ', ` on ${name}.`)} to '${user}'@'%'`)
  return Object.assign(new URL(url), { username: user, password }).href
}
