/** What SQLite's second session, which only reads, does while the first one is in use. */
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { GrantOptions } from '../../src/index.ts'
import type { Order } from '../../src/dialects/sqlite/protocol.ts'
import { Session } from '../../src/dialects/sqlite/session.ts'
import { onEachEngine, type Service, type ServiceOptions } from '../support/service.ts'
import { until } from '../support/until.ts'

const options: ServiceOptions = { schema: { mysql: [], sqlite: ['create table items (id integer primary key, n int not null)', 'insert into items values (1, 0)'] }, only: ['sqlite'] }
const select = { verb: 'select', filters: { id: 1 } }
const update = (n: number) => ({ verb: 'update', data: { n }, filters: { id: 1 } })
const grant: GrantOptions = { permissions: ['select', 'update'] }

/** Another program that writes the file. */
function lock (t: Test, { url }: Service): () => void {
  const other = new DatabaseSync(url.replace('sqlite:', ''))
  other.exec('begin immediate; update items set n = 7')
  t.teardown(() => other.close())
  return () => other.exec('commit')
}

await onEachEngine(t, 'a write that waits for another program held up all selects', options, async (t, service) => {
  const { post, operate, server: { rows } } = service
  const unlock = lock(t, service)
  let settled = false
  const write = post('items', update(8)).finally(() => { settled = true })
  for (const answer of await Promise.all([post('items', select), post('items', { ...select, total: true }), operate([{ table: 'items', ...select }])])) {
    t.equal(answer.status, 200)
    t.match(answer.text, '"n":0')
  }
  await rows.refresh()
  t.notOk(settled, 'the write still waits')
  unlock()
  t.equal((await write).status, 200)
  t.same((await post('items', select)).json.data.rows, [{ id: 1, n: 8 }])
})

await onEachEngine(t, 'a select of a transaction runs in it, and one beside it does not wait for its end', options, async (t, { server: { rows } }) => {
  const seen = async (execute: (request: any) => Promise<any>) => (await execute({ database: 'shop', table: 'items', body: select, grant })).rows[0].n
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: update(5), grant })
    t.equal(await seen(({ database: _, ...request }) => tx.execute(request)), 5)
    t.equal(await seen(rows.execute), 0)
  })
  t.equal(await seen(rows.execute), 5)
})

await onEachEngine(t, 'a select that is sent after the answer to a write sees it, in either session', options, async (t, { post }) => {
  let n = 0
  const noise = { verb: 'select', filters: { n: { $gte: 0 } } }
  for (let round = 0; round < 30; round++) {
    const others = Array.from({ length: 4 }, () => post('items', noise))
    t.equal((await post('items', update(++n))).json.data.updated, 1)
    const seen = await Promise.all([1, 2, 3].map(() => post('items', select)))
    t.same(seen.map(({ json }) => json.data.rows[0].n), [n, n, n])
    await Promise.all(others)
  }
})

await onEachEngine(t, 'a session that only reads is opened when it is needed, and cannot write', options, async (t, service) => {
  const { post } = service
  const used = new Set<Session>()
  const { ask } = Session.prototype
  Session.prototype.ask = function (order: Order) {
    used.add(this)
    return ask.call(this, order)
  }
  t.teardown(() => { Session.prototype.ask = ask })
  for (let n = 1; n <= 5; n++) {
    await post('items', update(n))
    await post('items', select)
  }
  t.equal(used.size, 1)
  const unlock = lock(t, service)
  const write = post('items', update(9))
  await post('items', select)
  t.equal(used.size, 2)
  const [, reader] = [...used] as [Session, Session]
  const refusal = await reader.ask({ kind: 'run', sql: 'delete from items', parameters: [] }).catch((error: { errcode?: number }) => error)
  t.match(refusal, { errcode: 8 })
  unlock()
  await write
  reader.kill()
  await until('the next select has a new one', async () => (await post('items', select)).status === 200)
})
