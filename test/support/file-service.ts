/** The server on a SQLite file of a test. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createServer, type Server } from '../../src/server/server.ts'

export const TOKEN = 'a-token-of-this-test'

export function createFile (t: Test, sql: string): { url: string, database: DatabaseSync } {
  const path = join(t.testdir(), 'shop.db')
  const database = new DatabaseSync(path)
  database.exec(sql)
  t.teardown(() => { database.close() })
  return { url: `sqlite:${path}`, database }
}

export async function start (
  t: Test, url: string, prefix = '/api', options = {}, create = createServer
): Promise<Server & { log: string[] }> {
  const log: string[] = []
  const server = await create({
    options: {
      databases: { shop: { url } },
      tokens: [{ name: 'me', sha256: hashToken(TOKEN), permissions: ['select'] }],
      ...options
    },
    prefix,
    logLevel: 'info',
    logStream: { write: (line) => { log.push(line) } }
  })
  t.teardown(() => server.app.close())
  return { ...server, log }
}

export async function select ({ app }: Server, url: string) {
  const response = await app.inject({
    method: 'POST', url, headers: { authorization: `Bearer ${TOKEN}` }, payload: { verb: 'select' }
  })
  return { status: response.statusCode, json: response.json() }
}
