import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './service.ts'

/** Waits until a condition is true. @throws after `seconds` */
export async function until (what: string, holds: () => boolean | Promise<boolean>, seconds = 10): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
    if (await holds()) return
    await sleep(10)
  }
  throw new Error(`timed out: ${what}`)
}

/** Returns the texts of the statements that run on the test's MySQL database, except this query. */
export async function running ({ sql }: Pick<Service, 'sql'>): Promise<string[]> {
  const rows = await sql('select INFO as info from information_schema.processlist where DB = database() and INFO is not null and ID <> connection_id()')
  return rows.map(({ info }) => info as string)
}
