/** Sessions: how they are opened, confirmed and reset. */
import type { Connection } from 'mysql2'
import t, { type Test } from 'tap'
import { ask, openSession, quit, type Session } from '../../../../src/dialects/mysql/session.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { addressOf, run } from '../../../support/mysql.ts'
import { createProxy } from '../../../support/recorder.ts'
import { createRewritingProxy } from '../../../support/rewriting-proxy.ts'
import { refusalsOf } from '../../../support/refused-servers.ts'
import { startService } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'

async function open (t: Test, url: string): Promise<Session> {
  const address = addressOf(url)
  const session = await openSession({
    address, host: address.hosts[0] as { host: string, port: number }, epoch: 0, statementTimeout: 5000
  }, () => {})
  t.teardown(() => quit(session.connection))
  return session
}

const bytesOf = async (connection: Connection, text: string): Promise<string> =>
  String((await ask(connection, `select hex('${text}')`))[0]?.[0])

for (const engine of await engines()) {
  t.test(`a session with ${engine.name}`, async (t) => {
    const database = await createTestDatabase(engine, [
      'create table plain (id int primary key)', 'create table noisy (id int primary key)',
      'create trigger noise before insert on noisy for each row set sql_select_limit = 1'
    ])
    t.teardown(() => database.drop())

    await t.test('is opened with four statements: one asks for the binary log, two set it, the last one confirms it ' +
      'and names its server', async (t) => {
      const proxy = await createProxy(database.url)
      const { server, reportsChanges } = await open(t as Test, proxy.url)
      t.match(proxy.statements, [/^set session /, /^show session variables /, /^set session transaction /, /^select /])
      t.equal(proxy.statements.length, 4)
      t.match(server, /^\S+ \d+ \d+$/)
      t.ok(reportsChanges)
      await proxy.close()
    })

    await t.test('is written to in UTF-8, whatever character set the server reports', async (t) => {
      const { connection } = await open(t as Test, database.url)
      for (const name of ['latin1', 'ascii', 'binary', 'gbk', 'utf8mb4']) {
        await run(connection, `set character_set_client = ${name}, character_set_connection = ${name}`)
        t.equal(await bytesOf(connection, 'ħ'), 'C4A7', name)
      }
    })

    for (const [name, toClient, reason] of refusalsOf(engine)) {
      await t.test(`is not used if the server ${name}`, async (t) => {
        const { post, log } = await startService(
          t as Test, await createRewritingProxy(t as Test, database.url, { toClient })
        )
        const { status, json } = await post('plain', { verb: 'select' })
        t.match([status, json.error.code], [503, 'DATABASE_UNAVAILABLE'])
        t.ok(log.some((line) => reason.test(JSON.parse(line).reason)), 'the log says why')
      })
    }

    await t.test('is closed if it cannot be reset', async (t) => {
      const recorder = await createProxy(database.url)
      let broken = false
      const toServer = (all: string): string => broken ? all.replace('set session', 'sxt session') : all
      const { post } = await startService(
        t as Test, await createRewritingProxy(t as Test, recorder.url, { toServer }),
        { database: { pool: { size: 1 } } }
      )
      t.teardown(() => recorder.close())
      await post('plain', { verb: 'select' })
      const { connections } = recorder
      broken = true
      t.equal((await post('noisy', { verb: 'insert', data: { id: 10 } })).status, 200)
      await until('the service has tried', () => recorder.statements.some((sql) => sql.startsWith('sxt session')))
      broken = false
      t.equal((await post('plain', { verb: 'select' })).status, 200)
      t.equal(recorder.connections, connections + 1)
    })

    await t.test('is reset after each write if there are triggers and a proxy hides their changes', async (t) => {
      const recorder = await createProxy(database.url)
      const hide = (all: string): string => all.replace(
        /(session_track_system_variables = )('[^']*')/g,
        (_, start: string, list: string) => start + "''".padEnd(list.length)
      )
      const { post } = await startService(
        t as Test, await createRewritingProxy(t as Test, recorder.url, { toServer: hide }),
        { database: { pool: { size: 1 } } }
      )
      t.teardown(() => recorder.close())
      const settings = async (table: string, id: number): Promise<number> => {
        recorder.statements.splice(0)
        t.equal((await post(table, { verb: 'insert', data: { id } })).status, 200)
        await post('plain', { verb: 'select' })
        return recorder.statements.filter((sql) => /^set session (?!transaction)/.test(sql)).length
      }
      await settings('plain', 1)
      t.equal(await settings('plain', 2), 0)
      t.equal(await settings('noisy', 1), 1)
      t.equal(await settings('noisy', 2), 1)
    })
  })
}
