import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { TestDatabase } from '../servers/engines.ts'

export interface UserOptions {
  /** What may be done on which of the database's tables: `select on orders`; everything on all of them if left out. */
  grants?: string[]
  /** What `create user` says of resources: `max_queries_per_hour 1`. */
  limits?: string
  password?: string
}

/** An account for one database of a server, for as long as the test runs. Gives the database's URL with it. */
export async function createUser (t: Test, { name, url, query }: Pick<TestDatabase, 'name' | 'url' | 'query'>, { grants = ['all on *'], limits, password = 'user-password' }: UserOptions = {}): Promise<string> {
  const user = `u_${randomBytes(6).toString('hex')}`
  await query(`create user '${user}'@'%' identified by '${password}'${limits === undefined ? '' : ` with ${limits}`}`)
  t.teardown(() => query(`drop user '${user}'@'%'`))
  for (const grant of grants) await query(`grant ${grant.replace(' on ', ` on ${name}.`)} to '${user}'@'%'`)
  return Object.assign(new URL(url), { username: user, password }).href
}
