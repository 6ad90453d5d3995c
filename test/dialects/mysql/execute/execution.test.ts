import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { parseReplicaUrl } from '../../../../src/config/database-url.ts'
import { createTimeoutQueue } from '../../../../src/dialects/timeout-queue.ts'
import { createDifferences } from '../../../../src/dialects/mysql/connection/definitions.ts'
import { runOn, type Stoppable } from '../../../../src/dialects/mysql/execute/execution.ts'
import type { MysqlPool } from '../../../../src/dialects/mysql/pool/pool.ts'
import { ReadMemory } from '../../../../src/dialects/mysql/connection/read-memory.ts'
import type { Session } from '../../../../src/dialects/mysql/connection/session.ts'
import { mysqlColumn, statementOf, tableOf } from '../../../support/tables.ts'

t.test('a statement that ends while KILL fails is answered once and its connection is reused, even if mysql2 reports the end twice', async (t) => {
  // takes whoever wants to end the statement, and sends them away later
  const server = createServer((socket) => { setTimeout(() => socket.destroy(), 150) }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const events: string[] = []
  const connection = { threadId: 1, destroy: () => { events.push('given up') }, stream: { destroy: () => {} } }
  const address = parseReplicaUrl(`mysql://root@127.0.0.1:${(server.address() as AddressInfo).port}/shop`)
  const session = { connection, memory: new ReadMemory(), address, host: address.hosts[0], server: 'here' } as unknown as Session
  const pool = {
    startStopping: () => { events.push('stopping') },
    isStopping: () => true,
    endStopping: (_session: Session, { isUsable }: { isUsable: boolean }) => { events.push(`stopped, ${isUsable ? 'usable' : 'lost'}`) },
    release: () => { events.push('released') }
  } as unknown as MysqlPool

  const outcome = await runOn({
    pool,
    session,
    request: { statement: statementOf('insert', tableOf({ columns: [mysqlColumn('id', 'int')] }), { pieces: ['do 1'] }), sink: undefined, client: undefined },
    options: {
      timeouts: createTimeoutQueue<Stoppable>(20, { onTimeout: ({ value }) => value.stop() }),
      known: new WeakMap(),
      differences: createDifferences(),
      send: (_connection, { listener }) => {
        const done = (): void => listener.done(null, { affectedRows: 3, insertId: '0', status: 2, warnings: 0, info: '', changesSession: false })
        setTimeout(done, 60)
        setTimeout(done, 200)
      }
    }
  })
  t.match(outcome, { changed: 3 })
  await sleep(100)
  t.same(events, ['stopping', 'stopped, usable', 'released'], 'once each')
})
