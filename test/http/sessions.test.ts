/**
 * What a statement leaves behind on its connection: session variables that triggers set, and snapshots that are ended
 * by the next statement.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { trigger } from '../support/definitions.ts'
import { errorPacket, type Proxy } from '../support/recorder.ts'
import {
  type EngineName, onEachEngine, type Schema, type Service, sharedOnEachEngine, startService
} from '../support/service.ts'
import { until } from '../support/until.ts'
import { createUser } from '../support/users.ts'

/** A variable that a trigger sets, and the row of `session_state` if it is not reset. */
const CHANGES = [
  "set time_zone = '+05:00'",
  'set sql_select_limit = 1',
  'set timestamp = 86400',
  'set insert_id = 4711',
  'set character_set_results = latin1',
  'set names gbk',
  'set foreign_key_checks = 0',
  "set sql_mode = ''",
  'set session transaction isolation level read uncommitted',
  'set unique_checks = 0, sql_auto_is_null = 1'
]

const state = (isolation: string): string => `create function session_state() returns varchar(1000) reads sql data
  return concat_ws(' ', @@time_zone, @@sql_select_limit, now() > '2020-01-01', @@insert_id, @@character_set_results,
  if(@@foreign_key_checks, 1, 0), if(@@unique_checks, 1, 0), if(@@sql_auto_is_null, 1, 0), @@${isolation})`
const RIGHT = '+00:00 18446744073709551615 1 0 utf8mb4 1 1 0 READ-COMMITTED'

const changesOn = (table: string, event: string, action: string): string =>
  trigger(`${table}_${event.replace(' ', '_')}`, `${event} on ${table}`, action)

const changing = (engine: EngineName): string[] => [
  'create table times (id int primary key, at timestamp null, note varchar(50) character set utf8mb4)',
  'create table plain (id int primary key)',
  ...CHANGES.flatMap((change, index) => [
    `create table changes_${index} (id int primary key auto_increment, n int null)`,
    ...['before insert', 'after update', 'before delete'].map((event) => changesOn(`changes_${index}`, event, change)),
    `create table fails_${index} (id int primary key, n int null)`,
    changesOn(`fails_${index}`, 'before insert', `${change}; signal sqlstate '45000' set message_text = 'no'`),
    `create function f_${index}() returns int no sql begin ${change}; return 1; end`,
    `create view view_${index} as select id, f_${index}() as n from plain`
  ]),
  state(engine === 'mysql' ? 'transaction_isolation' : 'tx_isolation'),
  'create view state as select session_state() as value'
]
const ONE = { only: ['mysql', 'mariadb'] as const, schema: changing, database: { pool: { size: 1 } } }

/** Checks the session with another statement on the same connection, and that a time and a text stay unchanged. */
async function isAsBefore (t: Test, { post, sql }: Pick<Service, 'post'
  | 'sql'>, name: string, id: number): Promise<void> {
  const row = { id, at: '2026-07-01T12:00:00Z', note: "ħ ' 中' \\" }
  t.equal((await post('times', { verb: 'insert', data: row })).status, 200, name)
  t.same((await post('times', { verb: 'select', filters: { id } })).json.data?.rows, [row], name)
  const stored = await sql('select unix_timestamp(at) as at, hex(note) as note from times where id = ?', [id])
  t.match([Number(stored[0].at), stored[0].note], [
    Date.parse(row.at) / 1000, Buffer.from(row.note).toString('hex').toUpperCase()
  ], name)
  const { json } = await post('state', { verb: 'select' })
  t.same(json.data?.rows, [{ value: RIGHT }], name)
}

/** The number of session resets since the last call. */
const settings = ({ proxy }: Pick<Service, 'proxy'>): number =>
  proxy?.statements.splice(0).filter((sql) => /^set session (?!transaction)/.test(sql)).length ?? 0

await onEachEngine(t, 'a session that was changed', ONE, async (t, service) => {
  /** The last row of `times`. */
  let id = 0

  await t.test('a session variable that a trigger sets is reset after its statement', async (t) => {
    const { post } = service
    for (const [index, change] of CHANGES.entries()) {
      const table = `changes_${index}`
      const inserted = await post(table, { verb: 'insert', data: { n: 1 } })
      t.equal(inserted.status, 200, change)
      await isAsBefore(t, service, `insert: ${change}`, ++id)
      t.equal((await post(table, { verb: 'update', data: { n: 2 }, filters: { n: 1 } })).json.data.updated, 1, change)
      await isAsBefore(t, service, `update: ${change}`, ++id)
      t.equal((await post(table, { verb: 'delete', filters: { n: 2 } })).json.data.deleted, 1, change)
      await isAsBefore(t, service, `delete: ${change}`, ++id)
    }
  })

  await t.test('a session variable that a trigger sets before it fails is reset', async (t) => {
    for (const [index, change] of CHANGES.entries()) {
      t.equal((await service.post(`fails_${index}`, { verb: 'insert', data: { id: 1 } })).status, 422, change)
      await isAsBefore(t, service, change, ++id)
    }
  })

  await t.test('a session variable that a function of a view sets is reset', async (t) => {
    await service.sql('insert into plain values (1)')
    for (const [index, change] of CHANGES.entries()) {
      t.same((await service.post(`view_${index}`, { verb: 'select' })).json.data?.rows, [{ id: 1, n: 1 }], change)
      await isAsBefore(t, service, change, ++id)
    }
  })

  await t.test('statements that cannot run a trigger do not reset the session', async (t) => {
    const { post } = service
    await service.sql('delete from plain')
    await post('plain', { verb: 'insert', data: { id: 1 } })
    settings(service)
    await post('plain', { verb: 'insert', data: { id: 2 } })
    t.equal((await post('plain', { verb: 'insert', data: { id: 2 } })).status, 409)
    await post('plain', { verb: 'update', data: { id: 3 }, filters: { id: 2 } })
    await post('plain', { verb: 'delete', filters: { id: 3 } })
    await post('plain', { verb: 'select' })
    t.equal(settings(service), 0)
    await post('changes_0', { verb: 'insert', data: { n: 1 } })
    await post('plain', { verb: 'select' })
    t.equal(settings(service), 1, 'a session that a trigger changed is reset')
    await post('changes_0', { verb: 'select' })
    t.equal(settings(service), 0, 'no trigger fires for a select')
  })

  await t.test('if the account cannot see triggers, only writes that fail or change ' +
    'the session reset it', async (t) => {
    const { url, sql, proxy } = service
    const name = new URL(url).pathname.slice(1)
    const account = await createUser(t, { name, url, query: sql }, { grants: ['select, insert, update, delete on *'] })
    const { post } = await startService(t, account, { database: { pool: { size: 1 } } })
    await sql('delete from plain')
    await post('plain', { verb: 'insert', data: { id: 1 } })
    settings({ proxy })
    for (let id = 2; id < 10; ++id) await post('plain', { verb: 'insert', data: { id } })
    await post('plain', { verb: 'delete', filters: { id: { $gt: 5 } } })
    t.equal(settings({ proxy }), 0)
    t.equal((await post('plain', { verb: 'insert', data: { id: 2 } })).status, 409)
    await post('plain', { verb: 'select' })
    t.ok(settings({ proxy }) <= 1)
    await post('changes_0', { verb: 'insert', data: { n: 1 } })
    t.equal((await post('times', { verb: 'insert', data: { id: ++id, at: '2026-07-01T12:00:00Z' } })).status, 200)
    t.equal(settings({ proxy }), 1)
    t.match(await sql('select unix_timestamp(at) as at from times where id = ?', [id]), [
      { at: Date.parse('2026-07-01T12:00:00Z') / 1000 }
    ])
  })
})

const ordered: Schema = {
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
const one = { schema: ordered, only: ['mariadb', 'mysql'], database: { pool: { size: 1 } } } as const

const NO_ANSWER = Buffer.alloc(0)
const refuse = () => errorPacket(1213, '40001')

/** Gives the next ROLLBACK an answer that is not the server's. */
function answerNext (proxy: Proxy, answer: () => Buffer): void {
  let times = 1
  proxy.onStatement = (sql) => sql === 'rollback' && times-- > 0 ? answer() : undefined
}

const test = sharedOnEachEngine(t, { ...one, options: { metrics: true } })

await test('each snapshot is ended once, also behind its answer', async (t, service) => {
  const { post } = service
  since(service)
  for (let time = 0; time < 3; time++) {
    t.same((await post('orders', withItems)).json.data.rows[0].items, [{ order_id: 1, line: 1 }])
  }
  await until('the last one has ended', () => sent(service).at(-1) === 'rollback')
  t.same(since(service).filter((sql) => /^(start transaction|rollback)/.test(sql)).map((sql) => sql.slice(0, 5)), [
    'start', 'rollb', 'start', 'rollb', 'start', 'rollb'
  ])
})

await sharedOnEachEngine(t, {
  schema: ordered, only: ['mariadb', 'mysql'], options: { metrics: true }
})('requests of different isolation that take turns use the sessions that have theirs', async (t, service) => {
  const { post } = service
  const levels = (): string[] =>
    since(service).filter((sql) => sql.startsWith('set session transaction isolation level'))
  // a session whose snapshot still ends behind its answer is not free: another one would be set then
  const untilIdle = (): Promise<void> => until('no session is in use', async () =>
    /^row_query_pool_in_use\{database="shop",pool="primary"\} 0$/m.test(await service.server.rows.registry.metrics()))
  // two sessions, one for each
  await Promise.all([
    post('orders', withItems), post('orders', insert), post('orders', withItems), post('orders', insert)
  ])
  for (let time = 0; time < 3; time++) await Promise.all([post('orders', withItems), post('orders', insert)])
  await untilIdle()
  since(service)
  for (let time = 0; time < 20; time++) {
    for (const body of [withItems, insert]) {
      t.equal((await post('orders', body)).status, 200)
      await untilIdle()
    }
  }
  const set = levels()
  t.equal(set.length, 0, `${set.length} of 40 requests set the level of their session`)
})

await test('whatever follows a snapshot on its connection is outside of it', async (t, { post, operate, sql }) => {
  for (let n = 1; n <= 5; n++) {
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
    t.equal((await operate({
      isolation: 'serializable',
      operations: [{
        verb: 'update', table: 'orders', filters: { id: 1 }, data: { n: { $inc: 0 } }
      }, { verb: 'select', table: 'orders', filters: { id: 1 } }]
    })).json.data.results[1].rows[0].n, n)
  }
})

await test('a snapshot does not make an ALTER TABLE wait, and requests that wait for a ' +
  'connection get it', async (t, service) => {
  const { post, sql } = service
  await sql('set session lock_wait_timeout = 20')
  const state = { isOver: false, answers: 0 }
  const readers = Array.from({ length: 8 }, async () => {
    while (!state.isOver) {
      const [withThem, plain] = await Promise.all([
        post('orders', withItems), post('orders', { verb: 'select', filters: { id: 1 } })
      ])
      for (const { status } of [withThem, plain]) t.ok(status === 200 || status === 503, `${status}`)
      state.answers++
    }
  })
  for (let time = 0; time < 5; time++) {
    await sql(`alter table items add index i${time} (line)`)
    await sleep(20)
  }
  await until('more answers have come than there are readers', () => state.answers > 8)
  state.isOver = true
  await Promise.all(readers)
  await post('orders', withItems)
  await until('it has ended', () => sent(service).at(-1) === 'rollback')
})

await test('the request behind a ROLLBACK that fails, or has no answer, gets ' +
  'another connection', async (t, service) => {
  const { post, proxy, server } = service as Service & { proxy: Proxy }
  const cut = () => {
    setTimeout(() => proxy.cut(), 100)
    return NO_ANSWER
  }
  for (const [how, answer] of Object.entries({ refuse, cut, 'no answer': () => NO_ANSWER })) {
    for (const next of [plain, insert]) {
      answerNext(proxy, answer)
      // with one connection, the second request waits for that of the first one
      const answers = await Promise.all([post('orders', withItems), post('orders', next)])
      t.same(answers.map(({ status }) => status), [200, 200], `${how}, ${next.verb}`)
      answerNext(proxy, answer)
      t.equal((await post('orders', withItems)).status, 200)
      t.equal((await post('orders', next)).status, 200, `${how} behind an answer, ${next.verb}`)
    }
  }
  t.match(
    await server.rows.registry.metrics(), /^row_query_pool_open\{database="shop",pool="primary"\} 1$/m,
    'each one counts once'
  )
})

await onEachEngine(t, 'a trigger of a table without transactions leaves nothing for the next ' +
  'transaction; MySQL refuses it', {
  ...ONE,
  schema: (engine) => [
    ...['read only', 'isolation level serializable'].flatMap((change, index) => [
      `create table untransacted_${index} (id int auto_increment primary key, a int) engine = myisam`,
      changesOn(`untransacted_${index}`, 'before insert', `set transaction ${change}`)
    ]),
    'create table transacted (id int auto_increment primary key, a int)',
    // MariaDB ends at such a trigger of a table with transactions
    ...engine === 'mysql'
      ? [
          'create table refusing (id int auto_increment primary key, a int)',
          changesOn('refusing', 'before insert', 'set transaction read only')
        ]
      : [],
    'create view levels as select trx_isolation_level as level from information_schema.innodb_trx where ' +
      'trx_mysql_thread_id = connection_id()'
  ]
}, async (t, { post, operate, engine }) => {
  const insert = { verb: 'insert', data: { a: 1 } }
  const isRefused = engine === 'mysql'
  for (const index of [0, 1]) {
    for (const returning of [undefined, ['id']]) {
      t.equal((await post(`untransacted_${index}`, insert)).status, isRefused ? 422 : 200)
      t.match((await post('transacted', { ...insert, returning })).json, { data: { inserted: 1 } }, `${index}`)
    }
  }
  t.equal((await post('untransacted_1', insert)).status, isRefused ? 422 : 200)
  if (isRefused) {
    t.match(
      await post('refusing', insert), { status: 422, json: { error: { code: 'CHECK_VIOLATION' } } },
      'the trigger refuses the row'
    )
  }
  const { json } = await operate([{ table: 'transacted', ...insert }, { table: 'levels', verb: 'select' }])
  t.match(json, { data: { results: [{}, { rows: [{ level: 'REPEATABLE READ' }] }] } })
})
