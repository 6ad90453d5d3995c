/** The program that has a SQLite file open, by itself. Sessions start it without the hooks that measure coverage. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Order, Reply } from '../../../src/dialects/sqlite/protocol.ts'

const PROGRAM = fileURLToPath(new URL('../../../src/dialects/sqlite/process.ts', import.meta.url))
const INFINITE = { limit: Infinity }

async function start (t: Test, statements: string[] = [], path = join(t.testdir(), 'test.db')) {
  const direct = new DatabaseSync(path)
  for (const statement of statements) direct.exec(statement)
  const child = fork(PROGRAM, [path], { serialization: 'advanced', execArgv: [] })
  const reply = async () => (await once(child, 'message') as [Reply])[0]
  const ask = (order: Order): Promise<Reply> => {
    const next = reply()
    child.send(order)
    return next
  }
  const read = (sql: string, { parameters = [], ...rest }: { parameters?: unknown[], limit?: number, named?: boolean } = {}) => ask({ kind: 'read', sql, parameters, ...INFINITE, ...rest })
  const run = (sql: string, begin = false) => ask({ kind: 'run', sql, parameters: [], begin })
  const end = async (): Promise<number | null> => {
    const exit = once(child, 'exit') as Promise<[number | null]>
    child.disconnect()
    return (await exit)[0]
  }
  t.teardown(async () => {
    if (child.connected) await end()
    direct.close()
  })
  t.same(await reply(), { isReadOnly: false }, 'it says that the file is open')
  return { direct, child, ask, read, run, end }
}

t.test('a select returns the values of SQLite, or objects with plain numbers', async (t) => {
  const { read } = await start(t)
  const sql = "select 1 as b, 9007199254740993 as a, 1.5 as c, 'x' as d, null as e, ? as f"
  const [row] = (await read(sql, { parameters: [Buffer.from('y')] })).rows as unknown[][]
  t.same(row?.slice(0, 5), [1n, 9007199254740993n, 1.5, 'x', null])
  t.same(Buffer.from(row?.[5] as Uint8Array), Buffer.from('y'))
  t.same(await read('select 1 as b, 2 as a', { named: true }), { rows: [{ b: 1, a: 2 }], more: false })
})

t.test('rows arrive in batches, and a select can be ended early', async (t) => {
  const { ask, read } = await start(t)
  const numbers = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000) select i, 'text' from n"
  const first = await read(numbers)
  t.equal(first.more, true)
  let count = first.rows?.length as number
  t.ok(count < 10_000)
  for (let more = true; more;) {
    const part: Reply = await ask({ kind: 'more' })
    count += part.rows?.length as number
    more = part.more as boolean
  }
  t.equal(count, 10_000)
  t.same(await ask({ kind: 'more' }), { rows: [], more: false }, 'there is nothing after the end')
  await read(numbers)
  t.same(await ask({ kind: 'end' }), {})
  t.same(await ask({ kind: 'more' }), { rows: [], more: false })
})

t.test('rows larger than the limit are not sent', async (t) => {
  const { read } = await start(t)
  t.same(await read("select 'abc' as a, zeroblob(8) as b", { limit: 10 }), { tooLarge: true })
  t.match(await read("select 'abc' as a, zeroblob(7) as b", { limit: 10 }), { more: false })
})

t.test('a statement in a transaction changes nothing before COMMIT', async (t) => {
  const { direct, run } = await start(t, ['create table items (id integer primary key)'])
  t.same(await run('insert into items values (7), (9007199254740993)', true), { changes: 2, insertId: '9007199254740993' })
  t.same(direct.prepare('select * from items').all(), [])
  await run('commit')
  t.match(direct.prepare('select count(*) as count from items').all(), [{ count: 2 }])
})

t.test('an error ends the transaction that the statement has begun, and has its number', async (t) => {
  const { direct, run, read } = await start(t, ['create table items (id integer primary key)', 'insert into items values (1)'])
  const { error } = await run('insert into items values (5), (1)', true)
  t.match(error, { errcode: 1555, thrown: { message: 'UNIQUE constraint failed: items.id' } })
  t.match((await run('commit')).error, { thrown: { message: /no transaction/ } })
  t.same(direct.prepare('select id from items').all().map(({ id }) => id), [1])
  t.match(await read('select ?', { parameters: [{ a: 1 }] }), { error: { thrown: { message: /named parameter/ } } })
})

t.test('COMMIT of a broken key fails and leaves the transaction open, and checking it changes nothing', async (t) => {
  const { direct, run, ask } = await start(t, ['create table items (id integer primary key, parent int references items deferrable initially deferred)'])
  const broken = { error: { errcode: 787 } }
  await run('insert into items values (1, 1)', true)
  t.same(await ask({ kind: 'checkKeys' }), {})
  await run('insert into items values (2, 9)')
  for (const order of [{ kind: 'checkKeys' }, { kind: 'checkKeys' }, { kind: 'transaction', sql: 'commit' }, { kind: 'checkKeys' }] as const) t.match(await ask(order), broken)
  await run('insert into items values (9, null)')
  t.same(await ask({ kind: 'checkKeys' }), {})
  t.same(await ask({ kind: 'transaction', sql: 'commit' }), {})
  t.equal(direct.prepare('select * from items').all().length, 3)
})

t.test('a missing file is not created', async (t) => {
  const child = fork(PROGRAM, [join(t.testdir(), 'none.db')], { serialization: 'advanced', execArgv: [] })
  const [reply] = await once(child, 'message') as [Reply]
  t.match(reply, { error: { errcode: 14, errstr: 'unable to open database file' } })
  const exit = once(child, 'exit')
  child.disconnect()
  t.same(await exit, [0, null])
})

t.test('the process ignores signals for the service, and ends with the service', async (t) => {
  const { child, read, end } = await start(t)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    child.kill(signal)
    t.match(await read('select 1'), { more: false }, signal)
  }
  t.equal(await end(), 0)
})
