/** The end of a snapshot is left to the next one on its connection, or to a timer: it saves a statement, and must never be seen. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorPacket, type Proxy } from '../support/recorder.ts'
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
const plain = { verb: 'select', filters: { id: 1 } }
const insert = { verb: 'insert', data: { n: 1 } }
/** The statements that have been sent, and those since the last call. */
const sent = ({ proxy }: Service): string[] => (proxy as Proxy).statements
const since = (service: Service): string[] => sent(service).splice(0)
const one = { schema, only: ['mariadb', 'mysql'], database: { pool: { size: 1 } } } as const

const NO_ANSWER = Buffer.alloc(0)
const refuse = () => errorPacket(1213, '40001')

/** Gives the next ROLLBACK an answer that is not the server's. */
function answerNext (proxy: Proxy, answer: () => Buffer): void {
  let times = 1
  proxy.onStatement = (sql) => sql === 'rollback' && times-- > 0 ? answer() : undefined
}

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

await onEachEngine(t, 'the request behind a ROLLBACK that failed was lost with its connection: it gets another one', { ...one, options: { metrics: true } }, async (t, service) => {
  const { post, proxy, server } = service as Service & { proxy: Proxy }
  const cut = () => {
    setTimeout(() => proxy.cut(), 100)
    return NO_ANSWER
  }
  for (const [how, answer] of Object.entries({ refuse, cut })) {
    for (const next of [plain, insert]) {
      // with one connection, the second request gets it with the snapshot of the first one
      answerNext(proxy, answer)
      const answers = await Promise.all([post('orders', withItems), post('orders', next)])
      t.same(answers.map(({ status }) => status), [200, 200], `${how}, ${next.verb}`)
      since(service)
      answerNext(proxy, answer)
      await post('orders', withItems)
      await until('the timer ends it', () => sent(service).includes('rollback'))
      t.equal((await post('orders', next)).status, 200, `${how} by the timer, ${next.verb}`)
    }
  }
  t.match(await server.rows.registry.metrics(), /^row_query_pool_open\{database="shop",pool="primary"\} 1$/m, 'each one counts once')
})

await onEachEngine(t, 'the request behind a ROLLBACK without an answer waited until its own time limit: it gets another connection', one, async (t, service) => {
  const { post, proxy } = service as Service & { proxy: Proxy }
  answerNext(proxy, () => NO_ANSWER)
  await post('orders', withItems)
  await until('the timer ends it', () => sent(service).includes('rollback'))
  t.equal((await post('orders', plain)).status, 200)
})

await onEachEngine(t, 'a snapshot that a cluster had ended was a deadlock of the next one: that is begun again', one, async (t, service) => {
  const { post, proxy } = service as Service & { proxy: Proxy }
  await post('orders', plain)
  const { connections } = proxy
  const begin = async (refused: readonly number[]): Promise<number[]> => {
    let begun = 0
    proxy.onStatement = (sql) => sql.startsWith('start transaction') && refused.includes(++begun) ? refuse() : undefined
    const answers = await Promise.all([post('orders', withItems), post('orders', withItems)])
    return answers.map(({ status }) => status)
  }
  t.same(await begin([2]), [200, 200])
  t.same(await begin([2, 3, 4]), [200, 200])
  since(service)
  t.same(await begin([2, 3, 4, 5]), [200, 503], 'three times, as any deadlock')
  await until('the snapshot is ended', () => sent(service).includes('rollback'))
  t.equal((await post('orders', plain)).status, 200)
  t.equal(proxy.connections, connections, 'and no connection is closed for it')
})

await onEachEngine(t, 'a clock that was set back kept snapshots, for which an ALTER TABLE waits', one, async (t, service) => {
  const { now } = Date
  t.teardown(() => { Date.now = now })
  await service.post('orders', withItems)
  Date.now = () => now() - 3_600_000
  await until('it has ended', () => sent(service).includes('rollback'))
  t.pass()
})
