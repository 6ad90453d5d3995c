/** The end of a snapshot is left to the next one on its connection, or to a timer: it saves a statement, and must never be seen. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Proxy } from '../support/recorder.ts'
import { onEachEngine, type Schema, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const schema: Schema = {
  sqlite: [],
  mysql: [
    'create table orders (id int not null auto_increment primary key, n int not null)',
    'create table items (order_id int not null, line int not null, primary key (order_id, line))',
    'insert into orders values (1, 0)', 'insert into items values (1, 1)'
  ]
}
const withItems = { verb: 'select', filters: { id: 1 }, include: { items: { on: { id: 'order_id' } } } }
/** The statements that have been sent, and those since the last call. */
const sent = ({ proxy }: Service): string[] => (proxy as Proxy).statements
const since = (service: Service): string[] => sent(service).splice(0)
const one = { schema, only: ['mariadb', 'mysql'], database: { pool: { size: 1 } } } as const

await onEachEngine(t, 'snapshots that follow each other have one statement less each', one, async (t, service) => {
  const { post } = service
  await post('orders', withItems)
  await until('it has ended', () => sent(service).includes('rollback'))
  since(service)
  for (let time = 0; time < 3; time++) t.same((await post('orders', withItems)).json.data.rows[0].items, [{ order_id: 1, line: 1 }])
  const begun = since(service)
  t.equal(begun.filter((sql) => /^start transaction/.test(sql)).length, 3)
  t.ok(begun.filter((sql) => sql === 'rollback').length <= 1, begun.join('\n'))
  await until('the last one has ended', () => sent(service).includes('rollback'))
})

await onEachEngine(t, 'whatever follows a snapshot on its connection is outside of it', one, async (t, { post, operate, sql }) => {
  for (let n = 1; n <= 20; n++) {
    t.equal((await post('orders', withItems)).json.data.rows[0].n, n - 1)
    await sql('update orders set n = ? where id = 1', [n])
    // a read sees what was written since
    t.equal((await post('orders', { verb: 'select', filters: { id: 1 } })).json.data.rows[0].n, n)
    await post('orders', withItems)
    // a write is committed at once
    t.equal((await post('orders', { verb: 'insert', data: { n } })).status, 200)
    t.equal((await sql('select count(*) as n from orders where id > 1'))[0].n, n)
    await post('orders', withItems)
    // a transaction is one of its own, also one of another isolation level
    t.equal((await operate({ isolation: 'serializable', operations: [{ verb: 'update', table: 'orders', filters: { id: 1 }, data: { n: { $inc: 0 } } }, { verb: 'select', table: 'orders', filters: { id: 1 } }] })).json.data.results[1].rows[0].n, n)
  }
})

await onEachEngine(t, 'a snapshot does not make an ALTER TABLE wait, and requests that wait for a connection get it', one, async (t, service) => {
  const { post, sql } = service
  const state = { isOver: false, answers: 0 }
  const readers = Array.from({ length: 8 }, async () => {
    while (!state.isOver) {
      const [withThem, plain] = await Promise.all([post('orders', withItems), post('orders', { verb: 'select', filters: { id: 1 } })])
      for (const { status } of [withThem, plain]) t.ok(status === 200 || status === 503, `${status}`)
      state.answers++
    }
  })
  for (let time = 0; time < 5; time++) {
    const start = performance.now()
    await sql(`alter table items add index i${time} (line)`)
    t.ok(performance.now() - start < 5000)
    await sleep(20)
  }
  state.isOver = true
  await Promise.all(readers)
  t.ok(state.answers > 8)
  await post('orders', withItems)
  await until('it has ended', () => sent(service).at(-1) === 'rollback')
})
