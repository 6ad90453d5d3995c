/** Files and statements for the sessions of SQLite. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'

/** It runs until it is stopped. */
export const ENDLESS = 'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n'

/** Creates an empty database and returns its path. */
export function createFile (t: Test): string {
  const path = join(t.testdir(), 'test.db')
  new DatabaseSync(path).close()
  return path
}
