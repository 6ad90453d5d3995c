/** A table whose inserts fail with an error that the service has no answer for, as a bug of its own would cause it. */
import type { Test } from 'tap'
import { createRewritingProxy } from './rewriting-proxy.ts'
import { startService, type Service } from './service.ts'

/** SQLite parses the rank function of an FTS5 table when a statement uses it. */
export const unforeseen = {
  mysql: ['create table unforeseen (a int null)'],
  sqlite: [
    'create table unforeseen (a int null)', 'create virtual table texts using fts5 (text)',
    "insert into texts values ('a')", "insert into texts (texts, rank) values ('rank', 'bm25(-)')",
    'create trigger fails before insert on unforeseen begin insert into unforeseen select text from texts where ' +
      "texts match 'a' order by rank; end"
  ]
}

/** The service on a database with that table. The servers get a function with too many arguments. */
export async function startUnforeseen (t: Test, service: Service): Promise<Pick<Service, 'post' | 'log'>> {
  if (service.engine === 'sqlite') return service
  return await startService(t, await createRewritingProxy(t, service.url, {
    toServer: (text) => text.replaceAll('(`a`) values (1)', 'values (uuid(1))')
  }))
}
