/** Rows one by one: in process, and with the client. */
import t from 'tap'
import { createClient } from '../../src/client/index.ts'
import { Session } from '../../src/dialects/sqlite/session.ts'
import { running } from '../support/connections.ts'
import { numbers } from '../support/numbers.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine, TOKEN, type Schema } from '../support/service.ts'
import { until } from '../support/until.ts'

const exact = (text: string): string =>
  `insert into exact values (1, 9007199254740993, '{"big": 9007199254740995,${text}"list": [1.50]}')`
const schema: Schema = {
  sqlite: [
    'create table n (i integer primary key)', `insert into n ${numbers(1000)}`,
    "create view million as select a.i * 1000 + b.i as id, 'a name of some length that is the same in each row' as " +
      'name from n a join n b',
    'create table exact (id integer primary key, big bigint, doc json)', exact('\n')
  ],
  mysql: [
    'create table n (i int primary key)', `insert into n ${numbers(1000)}`,
    "create view million as select a.i * 1000 + b.i as id, 'a name of some length that is the same in each row' as " +
      'name from n a join n b',
    'create table exact (id int primary key, big bigint, doc json)', exact('\\n')
  ]
}
const grant = { permissions: ['select' as const] }
const big = { id: 1, big: 9007199254740993n, doc: { big: 9007199254740995n, list: [1.5] } }

const only = await anyEngine(t)
await onEachEngine(t, 'rows.stream and db.rows ' +
  'return rows one by one', { schema, only, database: { pool: { size: 2 } } }, async (t, service) => {
  const { server, engine } = service
  const { rows, app } = server
  const stream = (table: string, body: object = {}, more: object = {}): AsyncGenerator<any> => rows.stream({
    database: 'shop', table, body: { verb: 'select', ...body } as { verb: 'select' }, grant, ...more
  })
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/api`
  const client = createClient({ url, token: TOKEN })
  const db = client.database('shop')
  const isOver = async (): Promise<void> => {
    await until('the statement has ended', async () => engine === 'sqlite' || (await running(service)).length === 0)
    await until('its place is free', async () => await codeOf(Array.fromAsync(stream('n', { limit: 1 }))) === 'none')
  }
  const codeOf = (reading: Promise<unknown>): Promise<string> =>
    reading.then(() => 'none', ({ code, name }: { code: string, name: string }) => code ?? name)

  t.same(await Array.fromAsync(stream('exact')), [big], 'exact, whatever is between the parts of a JSON text')
  t.same(await Array.fromAsync(stream('exact', { columns: ['big'] }, { bigints: 'string' })), [
    { big: '9007199254740993' }
  ])
  t.same(await Array.fromAsync(db.rows('exact')), [big])
  t.same(await Array.fromAsync(createClient({ url, token: TOKEN, numbers: 'string' }).database('shop')
    .rows('exact', { columns: ['big'] })), [{ big: '9007199254740993' }])
  t.same(await Array.fromAsync(stream('n', { aggregates: { n: { $count: '*' } } })), [{ n: 1000 }])
  t.same(await Array.fromAsync(db.rows('n', { filters: { i: { $lt: 0 } } })), [])
  t.equal((await Array.fromAsync(db.rows('n'))).length, 1000)
  t.equal((await Array.fromAsync(stream('million', { limit: 3000 }))).length, 3000)

  for (const read of [() => stream('million'), () => db.rows('million')]) {
    let count = 0
    for await (const row of read()) if (count++ === 10) { t.ok('name' in row); break }
    await isOver()
    t.equal(count, 11, 'leaving the loop ends the statement')
  }
  for (const [table, body, code] of [
    ['nope', {}, 'TABLE_NOT_FOUND'], ['n', { columns: ['nope'] }, 'COLUMN_NOT_FOUND'],
    ['n', { limit: 0 }, 'LIMIT_OUT_OF_RANGE'], ['n', { total: true }, 'INVALID_BODY'],
    ['n', { filters: { i: undefined } }, 'INVALID_BODY']
  ] as const) {
    t.equal(await codeOf(Array.fromAsync(stream(table, body))), code)
    t.equal(await codeOf(Array.fromAsync(db.rows(table, body as object))), code)
  }
  t.equal(await codeOf(Array.fromAsync(stream('n', { verb: 'delete', filters: { i: 1 } }))), 'INVALID_BODY')
  t.equal(await codeOf(Array.fromAsync(stream('n', {}, { grant: { permissions: ['insert'] } }))), 'PERMISSION_DENIED')

  const controller = new AbortController()
  const aborted = (async () => {
    for await (const row of db.rows('million', {}, {
      signal: controller.signal
    })) if (row.id !== undefined) controller.abort(new RangeError('enough'))
  })()
  t.equal(await codeOf(aborted), 'RangeError', 'the reason of the signal')
  await isOver()
})

await onEachEngine(t, 'the end of a stream leaves the process of SQLite to the next one', {
  schema, only: ['sqlite'], database: { pool: { size: 4 } }
}, async (t, { server: { rows } }) => {
  const stream = (table: string, limit: number): AsyncGenerator => rows.stream({
    database: 'shop', table, body: { verb: 'select', limit }, grant
  })
  const opened = t.capture(Session, 'open', Session.open)
  for (let each = 0; each < 3; each++) {
    const small = stream('n', 1000)
    await small.next()
    // the rows are there, so that the process is free
    const large = stream('million', 3000)
    await large.next()
    t.equal((await Array.fromAsync(small)).length, 999)
    t.equal((await Array.fromAsync(large)).length, 2999)
  }
  t.equal(opened().length, 1, 'all of them have used one process')
})

await onEachEngine(t, 'after the app has closed, ' +
  'rows.stream is refused', { schema, only }, async (t, { server: { rows, app } }) => {
  await app.close()
  await t.rejects(Array.fromAsync(rows.stream({ database: 'shop', table: 'n', body: { verb: 'select' }, grant })), {
    code: 'DATABASE_UNAVAILABLE'
  })
})
