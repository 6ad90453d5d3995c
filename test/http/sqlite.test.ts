/** SQLite: databases in memory, and what one session does while the other one is in use. */
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { Order } from '../../src/dialects/sqlite/protocol.ts'
import { Session } from '../../src/dialects/sqlite/session.ts'
import { createRowQuery, type GrantOptions, type RowQueryOptions } from '../../src/index.ts'
import { onEachEngine, sharedOnEachEngine, type Service, type ServiceOptions } from '../support/service.ts'
import { until } from '../support/until.ts'

const setup = [
  'create table items (id integer primary key, name text not null, body text); create table parts (id ' +
    'integer primary key)',
  "insert into items (name, body) values ('one', replace(hex(zeroblob(250000)), '00', 'aa'))"
]
const everything: GrantOptions = { permissions: ['select', 'insert', 'update', 'delete'] }

/** Creates temporary files in a folder of the test. */
async function startInMemory (t: Test, database: Partial<RowQueryOptions['databases'][string]> = { setup }) {
  const { TMPDIR } = process.env
  const folder = process.env['TMPDIR'] = t.testdir()
  t.teardown(() => {
    delete process.env['TMPDIR']
    Object.assign(process.env, TMPDIR !== undefined && { TMPDIR })
  })
  const rows = createRowQuery({ databases: { memory: { url: 'sqlite::memory:', ...database } } })
  const app: FastifyInstance = Fastify()
  app.register(rows.plugin)
  t.teardown(() => app.close())
  await app.ready()
  const execute = (body: object, table = 'items'): Promise<any> => rows.execute({
    database: 'memory', table, body: body as never, grant: everything
  })
  return { app, folder, execute }
}

t.test('a database in memory has the tables of "setup", and its file is removed', async (t) => {
  const { app, folder, execute } = await startInMemory(t)
  t.same(await execute({ verb: 'select', columns: ['id', 'name'] }), { rows: [{ id: 1, name: 'one' }], count: 1 })
  t.same(await execute({ verb: 'insert', data: {} }, 'parts'), { inserted: 1, id: 1 })
  t.equal(readdirSync(folder).length, 1)
  await app.close()
  t.same(readdirSync(folder), [])
})

t.test('without "setup" it is empty, and each one is a separate database', async (t) => {
  const first = await startInMemory(t)
  await t.test('in a folder of its own', async (t) => {
    const second = await startInMemory(t as Test, {})
    t.match(await first.execute({ verb: 'select', columns: ['id'] }), { count: 1 })
    await t.rejects(second.execute({ verb: 'select' }), { code: 'TABLE_NOT_FOUND' })
  })
})

t.test('rows survive a statement that was killed', async (t) => {
  const { execute } = await startInMemory(t, { setup, statementTimeout: 300 })
  await execute({ verb: 'insert', data: { name: 'two' } })
  // compares half a million characters at half a million positions
  const slow = {
    verb: 'select',
    filters: { $or: Array.from({ length: 50 }, (_, index) => ({ body: { $like: `%${'a'.repeat(900)}${index}` } })) }
  }
  await t.rejects(execute(slow), { code: 'QUERY_TIMEOUT' })
  t.match(await execute({ verb: 'select', columns: ['name'], orderBy: 'id' }), {
    rows: [{ name: 'one' }, { name: 'two' }]
  })
})

t.test('an error in "setup" stops the start, and the file is removed', async (t) => {
  await t.rejects(startInMemory(t, { setup: ['creat table items (id integer)'] }), {
    code: 'ROW_QUERY_INVALID_CONFIG', message: 'databases.memory.setup: near "creat": syntax error'
  })
  t.same(readdirSync(t.testdirName), [])
})

const options: ServiceOptions = {
  schema: {
    mysql: [],
    sqlite: ['create table items (id integer primary key, n int not null)', 'insert into items values (1, 0)']
  },
  only: ['sqlite']
}
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

const test = sharedOnEachEngine(t, options)

await test('a write that waits for another program holds up no select', async (t, service) => {
  const { post, operate, server: { rows } } = service
  const unlock = lock(t, service)
  let settled = false
  const write = post('items', update(8)).finally(() => { settled = true })
  for (const answer of await Promise.all([
    post('items', select), post('items', { ...select, total: true }), operate([{ table: 'items', ...select }])
  ])) {
    t.equal(answer.status, 200)
    t.match(answer.text, '"n":0')
  }
  await rows.refresh()
  t.notOk(settled, 'the write still waits')
  unlock()
  t.equal((await write).status, 200)
  t.same((await post('items', select)).json.data.rows, [{ id: 1, n: 8 }])
})

await test('a select of a transaction runs in it, and one beside it does ' +
  'not wait for its end', async (t, { server: { rows } }) => {
  const seen = async (execute: (request: any) => Promise<any>) =>
    (await execute({ database: 'shop', table: 'items', body: select, grant })).rows[0].n
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: update(5), grant })
    t.equal(await seen(({ database: _, ...request }) => tx.execute(request)), 5)
    t.equal(await seen(rows.execute), 0)
  })
  t.equal(await seen(rows.execute), 5)
})

await test('a select that is sent after the answer to a write sees it, in either session', async (t, { post }) => {
  let n = 0
  const noise = { verb: 'select', filters: { n: { $gte: 0 } } }
  for (let round = 0; round < 10; round++) {
    const others = Array.from({ length: 4 }, () => post('items', noise))
    t.equal((await post('items', update(++n))).json.data.updated, 1)
    const seen = await Promise.all([1, 2, 3].map(() => post('items', select)))
    t.same(seen.map(({ json }) => json.data.rows[0].n), [n, n, n])
    await Promise.all(others)
  }
})

await onEachEngine(t, 'a session that only reads is opened when it is ' +
  'needed, and cannot write', options, async (t, service) => {
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
  const refusal = await reader.ask({ kind: 'run', sql: 'delete from items', parameters: [] }).catch(
    (error: { errcode?: number }) => error
  )
  t.match(refusal, { errcode: 8 })
  unlock()
  await write
  reader.kill()
  await until('the next select has a new one', async () => (await post('items', select)).status === 200)
})

await onEachEngine(t, 'a file that is replaced is used from the next request on, in every session, with its ' +
  'definitions and without the log of the old one', options, async (t, service) => {
  const { post, sql, url, server: { rows } } = service
  const path = url.replace('sqlite:', '')
  const stream = async () => (await post('items', select, { headers: { accept: 'application/x-ndjson' } })).text.trim()
  const readBeside = async () => {
    const unlock = lock(t, service)
    const write = post('items', { verb: 'delete', filters: { id: 9 } })
    const { text } = await post('items', select)
    unlock()
    await write
    return text
  }
  await readBeside()
  t.equal(await stream(), '{"id":1,"n":7}')
  await sql(`vacuum into '${path}.new'`)
  const other = new DatabaseSync(`${path}.new`)
  other.exec('drop table items; create table items (id integer primary key, n text not null); insert into items ' +
    "values (1, 'seven')")
  const [had] = await sql('pragma schema_version')
  other.exec(`pragma schema_version = ${had.schema_version}`)
  other.close()
  await post('items', update(2)) // into the log
  renameSync(`${path}.new`, path)
  t.equal(await stream(), '{"id":1,"n":"seven"}', 'in the session of a stream')
  t.match(await readBeside(), '"n":"seven"', 'in the one that reads')
  t.equal((await post('items', { verb: 'insert', data: { id: 2, n: 'two' } })).status, 200, 'in the one that writes')
  const written = [{ id: 1, n: '7' }, { id: 2, n: 'two' }]
  t.same((await post('items', { verb: 'select' })).json.data.rows, written)
  const found = new DatabaseSync(path)
  t.same(found.prepare('select id, n from items').all().map((row) => ({ ...row })), written)
  t.match(found.prepare('pragma integrity_check').get()?.['integrity_check'], 'ok')
  found.close()

  const insert = { verb: 'insert', data: { n: 'x' } }
  renameSync(path, `${path}.old`)
  for (const body of [select, insert]) {
    t.match(
      await post('items', body), { status: 503, json: { error: { code: 'DATABASE_UNAVAILABLE' } } },
      'no file has the path'
    )
  }
  t.notOk(existsSync(path))
  renameSync(`${path}.old`, path)
  const writing = rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: insert as never, grant: everything })
    renameSync(path, `${path}.old`)
  })
  await t.rejects(writing, { code: 'DATABASE_UNAVAILABLE' }, 'a transaction that began before')
  renameSync(`${path}.old`, path)
  t.same((await post('items', { verb: 'select' })).json.data.rows, written)
})

await onEachEngine(t, 'a write of 1000 columns or more', {
  only: ['sqlite'],
  schema: () => [
    `create table wide (id integer primary key, ${Array.from({ length: 1500 }, (_, index) => `c${index} int`).join()})`,
    'insert into wide (id) values (1)'
  ]
}, async (t, { post, sql }) => {
  for (const [value, length] of [998, 1000, 1500].entries()) {
    const data = Object.fromEntries(Array.from({ length }, (_, index) => [`c${index}`, value]))
    const update = { verb: 'update', data, filters: { id: 1 } }
    const upsert = (row: object) => ({ verb: 'insert', data: { id: 1, ...row }, onConflict: { key: ['id'] } })
    t.match((await post('wide', update)).json, { data: { updated: 1 } }, `${length}`)
    t.match((await post('wide', update)).json, { data: { updated: 0 } }, 'nothing changes')
    t.match((await post('wide', upsert({ ...data, c0: -1 }))).json, { data: { updated: 1 } })
    t.match((await post('wide', upsert({ ...data, c0: -1 }))).json, { data: { unchanged: 1 } })
  }
  t.match(await sql('select c0, c1499 from wide'), [{ c0: -1, c1499: 2 }])
})

await onEachEngine(t, 'requests are answered while another program changes other definitions again and again', {
  schema: { sqlite: setup, mysql: [] }, only: ['sqlite']
}, async (t, { post, sql }) => {
  const { ask } = Session.prototype
  let [left, made] = [0, 0]
  // between the reading of the catalog and each statement that was planned with it
  Session.prototype.ask = async function (order: Order) {
    if ('version' in order && order.version !== undefined &&
      left-- > 0) await sql(`create table other${made++} (id integer)`)
    return await ask.call(this, order)
  }
  t.teardown(() => { Session.prototype.ask = ask })
  for (const times of [1, 2, 4]) {
    for (const body of [{ verb: 'select' }, { verb: 'insert', data: {} }]) {
      left = times
      t.equal((await post('parts', body)).status, 200, `${body.verb}, ${times} times`)
      t.ok(left <= 0)
    }
  }
  t.equal((await post('parts', { verb: 'select' })).json.data.count, 3)
  left = Infinity
  const { status, json } = await post('parts', { verb: 'select' })
  t.match({ status, json }, { status: 503, json: { error: { code: 'DATABASE_UNAVAILABLE' } } }, 'not for ever')
})
