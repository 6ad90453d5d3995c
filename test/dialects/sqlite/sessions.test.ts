/** The program that has a SQLite file open, its sessions, and the dialect that uses them. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { createCatalog, type Table, alone } from '../../../src/catalog/catalog.ts'
import { openSqlite } from '../../../src/dialects/sqlite/dialect.ts'
import type { Order, Reply } from '../../../src/dialects/sqlite/protocol.ts'
import { createSessions, Session } from '../../../src/dialects/sqlite/session.ts'
import { planSelect } from '../../../src/verbs/select.ts'
import { ResponseSink } from '../../../src/response/response-sink.ts'
import { compileStatement } from '../../../src/sql/statement-cache.ts'
import { stoppedClock } from '../../support/clock.ts'
import { LIMITS } from '../../support/sql.ts'
import { useOwnProcesses } from '../../support/sqlite-processes.ts'
import { createFile, ENDLESS } from '../../support/sqlite-files.ts'
import { until } from '../../support/until.ts'

useOwnProcesses(t)

const one = { kind: 'read', sql: 'select 1 as one', parameters: [], limit: 100 } as const

t.test('killing the process ends its statement, and the session is lost', async (t) => {
  const session = await Session.open(createFile(t))
  const answer = session.ask({ ...one, sql: ENDLESS })
  await sleep(50)
  session.kill()
  await t.rejects(answer, { code: 'DATABASE_UNAVAILABLE', reason: 'SQLITE_PROCESS_ENDED' })
  t.ok(session.isLost)
  await session.ended()
  await t.rejects(session.ask(one), { code: 'DATABASE_UNAVAILABLE' })
  await session.close()
})

t.test('a session keeps nothing of the work that it has watched', async (t) => {
  const session = await Session.open(createFile(t))
  t.teardown(() => session.close())
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const answers = await Promise.all(Array.from(
    { length: 10 }, async () => new WeakRef(await session.unlessLost(sleep(1, { answer: 'x'.repeat(1000) })))
  ))
  await until('they are collected', () => {
    collect()
    return answers.every((answer) => answer.deref() === undefined)
  })
  await t.rejects(session.unlessLost(Promise.reject(new RangeError('own'))), { message: 'own' })
  const watched = session.unlessLost(sleep(10_000, undefined, { ref: false }))
  session.kill()
  await t.rejects(watched, { code: 'DATABASE_UNAVAILABLE', reason: 'SQLITE_PROCESS_ENDED' })
  await t.rejects(session.unlessLost(sleep(10_000, undefined, { ref: false })), { code: 'DATABASE_UNAVAILABLE' })
})

t.test('the reply for a list names the rows that were left as they are, also if there are none: an upsert tests ' +
  'the rules of a grant by them', async (t) => {
  const session = await Session.open(createFile(t))
  t.teardown(() => session.close())
  await session.ask({ kind: 'script', sql: 'create table items (id integer primary key, n int)' })
  const sql = 'insert into items (id, n) values (?, ?) on conflict (id) do update set n = excluded.n ' +
    'where row_query_exists(items.id) and items.n < 5'
  const upsert = async (...rows: number[][]) => (await session.ask({
    kind: 'run', sql, parameters: rows.flat(), begin: false, rows: { count: rows.length, cells: 2, isIdle: false }
  })).untouched
  t.same(await upsert([1, 7], [2, 1]), [])
  t.same(await upsert([2, 2], [1, 8], [2, 3]), [1])
})

t.test('no process remains if the file cannot be opened', async (t) => {
  await t.rejects(Session.open(join(t.testdir(), 'none.db')), { message: /unable to open/ })
})

t.test('a process that has not opened the file in time is ended, and the error says how long it had', async (t) => {
  const { execPath } = process
  t.teardown(() => { process.execPath = execPath })
  process.execPath = join(t.testdir(), 'slow-node')
  writeFileSync(process.execPath, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
  const { pass } = stoppedClock(t)
  const opening = Session.open('any.db')
  const refused = t.rejects(opening, {
    code: 'DATABASE_UNAVAILABLE', reason: 'SQLITE_PROCESS_SLOW: its process has not opened the file within 30 seconds'
  })
  await pass(29_990)
  t.equal(await Promise.race([opening.catch(() => 'ended'), 'open']), 'open')
  await pass(10)
  await refused
})

t.test('a process that cannot be started is an error', async (t) => {
  const { execPath } = process
  t.teardown(() => { process.execPath = execPath })
  process.execPath = join(t.testdir(), 'no-node')
  await t.rejects(Session.open('any.db'), { code: 'DATABASE_UNAVAILABLE', reason: 'SQLITE_PROCESS_ENDED' })
})

t.test('one request at a time uses the session; the number of waiting requests and ' +
  'their time are limited', async (t) => {
  const sessions = createSessions(createFile(t), { queue: 2, wait: 100 })
  t.teardown(sessions.close)
  const held = Promise.withResolvers<string>()
  const running = sessions.use(() => held.promise)
  const waiting = [sessions.use(async () => 'second'), sessions.use(async () => 'third')]
  await t.rejects(sessions.use(async () => 'fourth'), { code: 'OVERLOADED' }, 'too many wait')
  for (const each of waiting) await t.rejects(each, { code: 'OVERLOADED' }, 'it waited too long')
  held.resolve('first')
  t.equal(await running, 'first')
  t.equal(await sessions.use(async () => 'next'), 'next')
  t.same(await Promise.all(['a', 'b', 'c'].map((name) => sessions.use(async () => name))), ['a', 'b', 'c'])
})

t.test('a lost session is replaced for the next request', async (t) => {
  const sessions = createSessions(createFile(t), { queue: 2, wait: 5000 })
  t.teardown(sessions.close)
  await sessions.use(async (session) => { session.kill() })
  t.match(await sessions.use((session) => session.ask(one)), { rows: [[1n]] })
})

t.test('closing kills the running statement and refuses new ones', async (t) => {
  const sessions = createSessions(createFile(t), { queue: 2, wait: 5000 })
  let sent = 0
  const running = sessions.use((session) => {
    sent++
    return session.ask({ ...one, sql: ENDLESS })
  })
  const waiting = sessions.use((session) => session.ask(one))
  const refused = Promise.all([running, waiting].map((each) => t.rejects(each, { code: 'DATABASE_UNAVAILABLE' })))
  await until('the statement runs', () => sent > 0)
  await sessions.close()
  await refused
  await t.rejects(sessions.use((session) => session.ask(one)), { code: 'DATABASE_UNAVAILABLE' })
})

t.test('closing waits for a session that is being opened, and closes it', async (t) => {
  for (const first of [false, true]) {
    const sessions = createSessions(createFile(t), { queue: 2, wait: 5000 })
    if (first) await sessions.use(async (session) => { session.kill() })
    const refused = t.rejects(sessions.use((session) => session.ask({ ...one, sql: ENDLESS })), {
      code: 'DATABASE_UNAVAILABLE'
    })
    if (first) await sleep(10)
    await sessions.close()
    await refused
  }
})

t.test('a select whose rows cannot be taken is ended, and with it its lock', async (t) => {
  const path = createFile(t)
  const other = new DatabaseSync(path)
  t.teardown(() => other.close())
  other.exec(
    `create table n (i integer primary key, text text); insert into n with recursive c (i) as (select 1 union all
      select i + 1 from c where i < 5000) select i, '${'x'.repeat(100)}' from c`
  )
  const session = await Session.open(path)
  t.teardown(() => session.close())
  await t.rejects(
    session.read({ sql: 'select * from n', parameters: [], limit: Infinity }, () => { throw new RangeError('own') }),
    { message: 'own' }
  )
  other.exec('delete from n where i > 1')
  let rows = 0
  t.ok(await session.read(
    { sql: 'select * from n order by i', parameters: [], limit: Infinity }, () => { rows++; return true }
  ))
  t.equal(rows, 1)
})

const PROGRAM = fileURLToPath(new URL('../../../src/dialects/sqlite/process.ts', import.meta.url))
const INFINITE = { limit: Infinity }

async function startProgram (t: Test, statements: string[] = [], path = join(t.testdir(), 'test.db')) {
  const direct = new DatabaseSync(path)
  for (const statement of statements) direct.exec(statement)
  const child = fork(PROGRAM, [path], { serialization: 'advanced', execArgv: [] })
  const reply = async () => (await once(child, 'message') as [Reply])[0]
  const ask = (order: Order): Promise<Reply> => {
    const next = reply()
    child.send(order)
    return next
  }
  const read = (sql: string, { parameters = [], ...rest }: {
    parameters?: unknown[], limit?: number, named?: boolean
  } = {}) => ask({ kind: 'read', sql, parameters, ...INFINITE, ...rest })
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

t.test('a program that reads', async (t) => {
  const { ask, read } = await startProgram(t)

  await t.test('a select returns the values of SQLite, or objects with plain numbers', async (t) => {
    const sql = "select 1 as b, 9007199254740993 as a, 1.5 as c, 'x' as d, null as e, ? as f"
    const [row] = (await read(sql, { parameters: [Buffer.from('y')] })).rows as unknown[][]
    t.same(row?.slice(0, 5), [1n, 9007199254740993n, 1.5, 'x', null])
    t.same(Buffer.from(row?.[5] as Uint8Array), Buffer.from('y'))
    t.same(await read('select 1 as b, 2 as a', { named: true }), { rows: [{ b: 1, a: 2 }], more: false })
  })

  await t.test('rows arrive in batches, and a select can be ended early', async (t) => {
    const numbers = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000) ' +
      "select i, 'text' from n"
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

  await t.test('rows larger than the limit are not sent', async (t) => {
    t.same(await read("select 'abc' as a, zeroblob(8) as b", { limit: 10 }), { tooLarge: true })
    t.match(await read("select 'abc' as a, zeroblob(7) as b", { limit: 10 }), { more: false })
  })
})

t.test('a statement in a transaction changes nothing before COMMIT', async (t) => {
  const { direct, run } = await startProgram(t, ['create table items (id integer primary key)'])
  t.same(await run('insert into items values (7), (9007199254740993)', true), {
    changes: 2, insertId: '9007199254740993'
  })
  t.same(direct.prepare('select * from items').all(), [])
  await run('commit')
  t.match(direct.prepare('select count(*) as count from items').all(), [{ count: 2 }])
})

t.test('an error ends the transaction that the statement has begun, and has its number', async (t) => {
  const { direct, run, read } = await startProgram(t, [
    'create table items (id integer primary key)', 'insert into items values (1)'
  ])
  const { error } = await run('insert into items values (5), (1)', true)
  t.match(error, { errcode: 1555, thrown: { message: 'UNIQUE constraint failed: items.id' } })
  t.match((await run('commit')).error, { thrown: { message: /no transaction/ } })
  t.same(direct.prepare('select id from items').all().map(({ id }) => id), [1])
  t.match(await read('select ?', { parameters: [{ a: 1 }] }), { error: { thrown: { message: /named parameter/ } } })
})

t.test('COMMIT of a broken key fails and leaves the transaction open, and checking it changes nothing', async (t) => {
  const { direct, run, ask } = await startProgram(t, [
    'create table items (id integer primary key, parent int references items deferrable initially deferred)'
  ])
  const broken = { error: { errcode: 787 } }
  await run('insert into items values (1, 1)', true)
  t.same(await ask({ kind: 'checkKeys' }), {})
  await run('insert into items values (2, 9)')
  for (const order of [
    { kind: 'checkKeys' }, { kind: 'checkKeys' }, { kind: 'transaction', sql: 'commit' }, { kind: 'checkKeys' }
  ] as const) t.match(await ask(order), broken)
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
  const { child, read, end } = await startProgram(t)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    child.kill(signal)
    t.match(await read('select 1'), { more: false }, signal)
  }
  t.equal(await end(), 0)
})

const MEGABYTE = 2 ** 20

const pool = { queue: 10, wait: 1000 }

async function openDialect (t: Test, ...statements: string[]) {
  const path = join(t.testdir(), 'test.db')
  const direct = new DatabaseSync(path)
  for (const statement of statements) direct.exec(statement)
  const dialect = await openSqlite({ path, pool, statementTimeout: 10_000 })
  t.teardown(async () => {
    direct.close()
    await dialect.close()
  })
  const { tables } = createCatalog(await dialect.introspect(), 0)
  const select = async (body: object) => {
    const plan = planSelect({ verb: 'select', ...body }, alone(tables.get('items') as Table), LIMITS)
    const sink = new ResponseSink(plan.columns, MEGABYTE)
    await dialect.read(compileStatement(plan, 'sqlite'), sink)
    return JSON.parse(String(sink.finish())).data.rows
  }
  return { dialect, direct, select }
}

/** From now on sessions fail at statements that match, as told. */
function failing (t: Test, pattern: RegExp, error: Error): void {
  const { ask } = Session.prototype
  Session.prototype.ask = async function (order) {
    if ('sql' in order && pattern.test(order.sql)) throw error
    return await ask.call(this, order)
  }
  t.teardown(() => { Session.prototype.ask = ask })
}

t.test('an error of the file while the catalog is read is an error of the database', async (t) => {
  const { dialect } = await openDialect(t, 'create table items (id integer primary key)')
  failing(t, /table_xinfo/, Object.assign(new Error('secret'), { errcode: 10, errstr: 'disk I/O error' }))
  await t.rejects(dialect.introspect(), { code: 'DATABASE_UNAVAILABLE', reason: 'disk I/O error' })
})

t.test('a bug while the catalog is read is not reported as an error of the database', async (t) => {
  const { dialect } = await openDialect(t, 'create table items (id integer primary key)')
  failing(t, /table_xinfo/, new TypeError('x is not a function'))
  await t.rejects(dialect.introspect(), { name: 'TypeError' })
})

t.test('foreign keys are enforced and LIKE is case-sensitive, whatever the file sets', async (t) => {
  const { dialect, select } = await openDialect(
    t, 'create table items (id integer primary key, name text)', "insert into items (name) values ('Ada'), ('ada')",
    'create table parts (item int references items)'
  )
  t.same((await select({ filters: { name: { $like: 'a%' } } })).map(({ id }: { id: number }) => id), [2])
  const [, parts] = await dialect.introspect()
  t.equal(parts?.foreignKeys.length, 1)
})

t.test('a statement that was planned before a change of the file does not run', async (t) => {
  const { direct, select } = await openDialect(t, 'create table items (id integer primary key, name text)')
  t.same(await select({}), [])
  direct.exec("alter table items add column more text; insert into items values (1, 'x', 'y')")
  await t.rejects(select({}), { name: 'StaleCatalog', isUndone: true })
  direct.exec('alter table items drop column name')
  await t.rejects(select({}), { name: 'StaleCatalog', isUndone: true })
})

t.test('the number of prepared statements is limited, and all statements still work', async (t) => {
  const { direct, select } = await openDialect(
    t, 'create table items (id integer primary key, name text)', "insert into items values (1, 'x')"
  )
  for (let round = 0; round < 2; round++) {
    for (let count = 1; count <= 150; count++) {
      t.same(
        await select({ filters: { id: Array.from({ length: count }, (_, index) => index + 1) } }),
        [{ id: 1, name: 'x' }]
      )
    }
  }
  direct.exec('delete from items')
  t.same(await select({ filters: { id: [1] } }), [])
})

t.test('the account is the file\'s', async (t) => {
  const { dialect } = await openDialect(t)
  t.same(await dialect.privileges(), ['reads and writes the file'])
})
