/**
 * Writes whose connection is lost, or that meet locks: nothing is half done. Tables without transactions: what may be
 * half done is reported.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { type Connection, waiters } from '../support/connections.ts'
import type { Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { type EngineName, onEachEngine, sharedOnEachEngine } from '../support/service.ts'
import { until } from '../support/until.ts'

const rows = Array.from({ length: 5 }, (_, id) => `(${id + 1}, ${id}, 'w${id}')`).join()
const parts = [
  'create table parts (id int not null auto_increment primary key, n int not null, word varchar(20) null unique)',
  `insert into parts values ${rows}`
]
const only = ['mariadb', 'mysql'] as const

/** Storage engines without transactions: those of both servers, then those of one. */
const enginesOf = (engine: EngineName): string[] => engine === 'mariadb'
  ? ['MyISAM', 'MEMORY', 'Aria']
  : ['MyISAM', 'MEMORY']

const test = sharedOnEachEngine(t, {
  schema: (engine) => [
    ...parts, CREATE.mysql,
    ...enginesOf(engine).flatMap((each) => [
      `create table ${each} (id int not null primary key, n int null, unique key n (n), check (n < 100))
        engine = ${each}`,
      `insert into ${each} values (1, 1), (2, 2), (3, 50)`
    ])
  ],
  only,
  // others look at writes that wait
  database: { statementTimeout: 60_000 }
})

/** Each test has tables of its own. */
const testOwn = sharedOnEachEngine(t, {
  schema: (engine) => [
    ...enginesOf(engine).flatMap((each) => [
      `create table fired_${each} (id int not null primary key) engine = ${each}`,
      `create trigger t_${each} after insert on fired_${each} for each row signal sqlstate '45000'`
    ]),
    'create table orders (id int not null primary key auto_increment, ref int not null unique)',
    'create table log (ref int not null primary key) engine = MyISAM',
    'create trigger noted after insert on orders for each row insert into log values (new.ref)',
    'create trigger renamed before update on orders for each row insert into log values (new.ref + 1000)',
    'insert into orders (ref) values (3), (4)',
    ...engine === 'mysql'
      ? [
          'create table kept (id int not null primary key auto_increment, n int null) engine = ARCHIVE',
          'insert into kept values (1, 1)'
        ]
      : []
  ],
  only,
  keepsRows: true
})

/** An update of all rows of one of the tables sleeps for twice the time limit. */
const testHasty = sharedOnEachEngine(t, {
  schema: (engine) => [...parts, ...['InnoDB', ...enginesOf(engine)].flatMap((name) => [
    `create table ${name} (id int not null primary key, n int null) engine = ${name}`,
    `insert into ${name} values ${Array.from({ length: 40 }, (_, id) => `(${id}, 0)`).join()}`,
    `create trigger wait_${name} before update on ${name} for each row set @slept = sleep(0.05)`
  ])],
  database: { statementTimeout: 1000 },
  only,
  keepsRows: true
})

const writes: Array<[name: string, body: object]> = [
  ['an update that returns rows', {
    verb: 'update', data: { n: { $inc: 10 } }, filters: { id: { $gte: 2 } }, returning: '*'
  }],
  ['an update with an expectation', {
    verb: 'update', data: { n: { $inc: 10 } }, filters: { id: { $gte: 2 } }, expect: { $lte: 10 }
  }],
  ['a delete that returns rows', { verb: 'delete', filters: { id: { $gte: 4 } }, returning: ['id'], expect: 2 }],
  ['an insert that returns its row', { verb: 'insert', data: { n: 7 }, returning: '*' }],
  ['a list that returns its rows', {
    verb: 'insert', data: [{ n: 7, word: 'a' }, { n: 8, word: 'b' }], returning: ['id']
  }],
  ['an upsert that returns its rows', {
    verb: 'insert', data: [{ n: 7, word: 'w1' }, { n: 8, word: 'b' }], onConflict: { key: ['word'] }, returning: ['id']
  }]
]

await test('a connection that is lost at any statement leaves all or nothing changed, ' +
  'as the answer says', async (t, service) => {
  const { post, sql } = service
  const proxy = service.proxy as Proxy
  const dump = async () => (await sql('select * from parts order by id')).map((row) => ({ ...row }))
  const reset = async () => {
    await sql('delete from parts')
    await sql(`insert into parts values ${rows}`)
  }
  for (const [name, body] of writes) {
    await reset()
    const before = await dump()
    proxy.statements.splice(0)
    t.equal((await post('parts', body)).status, 200, name)
    const sent = proxy.statements.filter((statement) => !/limit 0$|^set |^show |@@/.test(statement))
    const commit = sent.findIndex((statement) => /^commit/i.test(statement))
    t.ok(commit > 1, `${name}: ${sent.length} statements`)
    for (let lost = 0; lost < sent.length; lost++) {
      await reset()
      let index = -1
      proxy.onStatement = (statement) => {
        if (!/limit 0$|^set |^show |@@/.test(statement) && ++index === lost) proxy.cut()
        return undefined
      }
      const answer = await post('parts', body)
      proxy.onStatement = () => undefined
      if (answer.status === 200) {
        t.equal(lost, 0, `${name}: only the beginning is sent again`)
        continue
      }
      const isUnknown = answer.status === 502
      isRefusal(t, answer, isUnknown
        ? { status: 502, code: 'OUTCOME_UNKNOWN', why: `${name}: ${sent[lost]}` }
        : { status: 503, code: 'DATABASE_UNAVAILABLE', why: `${name}: ${sent[lost]}` })
      if (lost === commit) t.ok(isUnknown, `${name}: the outcome of COMMIT is not known`)
      else t.same(await dump(), before, `${name}: nothing is changed after ${sent[lost]?.slice(0, 40)}`)
    }
  }
})

await test('an insert that takes an answer without the number of its row is 502', async (t, { post, proxy }) => {
  const update = (n: number) => post('parts', { verb: 'update', data: { n }, filters: { id: 1 } })
  t.equal((await update(7)).status, 200, 'the session is ready'); (proxy as Proxy).repeats = 'later'
  t.same((await update(8)).json.data, { updated: 1 }); (proxy as Proxy).repeats = undefined
  isRefusal(t, await post('parts', { verb: 'insert', data: { n: 101, word: 'w1' } }), {
    status: 502, code: 'OUTCOME_UNKNOWN', why: 'the answer to the update'
  })
})

await test('a packet that belongs to no running statement ends its connection, and a write that may ' +
  'have taken it is 502', async (t, service) => {
  const { post, sql } = service
  const proxy = service.proxy as Proxy
  const isUnknown = (answer: Awaited<ReturnType<typeof post>>, why: string) => isRefusal(t, answer, {
    status: 502, code: 'OUTCOME_UNKNOWN', why
  })
  const insert = (n: number) => post('parts', { verb: 'insert', data: { n } })
  t.equal((await post('parts', { verb: 'select' })).status, 200)
  for (const repeats of ['together', 'later'] as const) {
    // an answer without a changed row, which comes again
    const idle = { verb: 'update', data: { n: 1 }, filters: { id: 999 } }
    t.equal((await post('parts', idle)).status, 200, 'the session is ready')
    proxy.repeats = repeats
    const update = await post('parts', idle)
    if (repeats === 'together') isUnknown(update, 'two answers at once')
    else t.same(update.json.data, { updated: 0 })
    proxy.repeats = undefined
    const answers = [await insert(100), await insert(101)]
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 200) {
        t.match(
          await sql(`select n from parts where id = ${answer.json.data.id}`), [{ n: 100 + index }],
        `${repeats}: the id is that of the row`
        )
      } else isUnknown(answer, `${repeats}: insert ${index}`)
    }
    t.equal(answers.filter(({ status }) => status === 200).length, repeats === 'together' ? 2 : 1)
    await sql('delete from parts where n >= 100')
  }
  t.equal((await insert(100)).status, 200, 'the session is ready')
  proxy.repeats = 'together'
  isUnknown(await post('parts', { verb: 'insert', data: { id: 1, n: 1 } }), 'a refusal that comes twice')
  proxy.repeats = undefined
  await sql('delete from parts where n >= 100')
  // rows that have an OK in place of their beginning, and an end of rows that comes after its statement
  for (const body of [{ verb: 'update', data: { n: 1 }, filters: { id: 999 } }, { verb: 'select' }]) {
    t.equal((await post('parts', { verb: 'select' })).status, 200, 'the session is ready')
    proxy.repeats = 'later'
    t.equal((await post('parts', body)).status, 200)
    proxy.repeats = undefined
    const { json } = await post('parts', { verb: 'select', orderBy: 'id' })
    t.equal(json.data?.rows.length, 5, 'a select is sent again, not ' + JSON.stringify(json.error))
  }
})

await testHasty('a row that is locked by another client for too long is 503 or 504, and ' +
  'nothing is changed', async (t, { post, sql }) => {
  const before = await sql('select * from parts order by id')
  await sql('start transaction')
  await sql('select * from parts where id = 5 for update')
  for (const [name, body] of writes.slice(0, 3)) {
    const answer = await post('parts', body)
    t.ok(['LOCK_TIMEOUT', 'QUERY_TIMEOUT'].includes(answer.json.error?.code), `${name}: ${answer.text}`)
  }
  await sql('rollback')
  t.same(await sql('select * from parts order by id'), before)
})

await test('writes that return rows and lock the same rows in another order all succeed', async (t, { post, sql }) => {
  const answers = await Promise.all(Array.from({ length: 24 }, (_, client) => post('parts', {
    verb: 'update',
    data: { n: { $inc: 1 } },
    filters: { id: { $in: client % 2 === 0 ? [1, 2, 3] : [3, 2, 1] } },
    returning: ['id', 'n'],
    expect: 3
  })))
  t.same(answers.map(({ status }) => status), answers.map(() => 200))
  t.same(
    (await sql('select n from parts where id <= 3 order by id')).map(({ n }) => n), [24, 25, 26], 'each of them counts'
  )
})

const lists: Array<[name: string, body: object, written: object]> = [
  [
    'a list', { verb: 'insert', data: [{ n: 7, word: 'a' }, { n: 8, word: 'b' }, { n: 9, word: 'z' }] }, { inserted: 3 }
  ],
  ['an upsert', {
    verb: 'insert',
    data: [{ n: 7, word: 'a' }, { n: 8, word: 'w1' }, { n: 9, word: 'z' }],
    onConflict: { key: ['word'] }
  }, { inserted: 2, updated: 1, unchanged: 0, id: null }]
]

await test('a connection that is killed in the middle of a list leaves nothing, and the list can be sent ' +
  'again with its key', async (t, { post, sql }) => {
  const dump = async () => (await sql('select n, word from parts order by word')).map((row) => ({ ...row }))
  /** Sends a list whose last row waits for another client, and kills its connection then. */
  const sendAndKill = async (body: object, headers: Record<string, string> = {}) => {
    await sql('start transaction')
    await sql("insert into parts (n, word) values (0, 'z')")
    const answer = post('parts', body, { headers })
    let waiting: Connection | undefined
    // not the statement before it, which inserts the key
    await until(
      'the list waits',
      async () => { [waiting] = await waiters({ sql }, 'insert into `parts`'); return waiting !== undefined }
    )
    await sql(`kill ${waiting?.id}`)
    const killed = await answer
    await sql('rollback')
    return killed
  }
  for (const [index, [name, body, written]] of lists.entries()) {
    await sql('delete from parts')
    await sql(`insert into parts values ${rows}`)
    const before = await dump()
    isRefusal(t, await sendAndKill(body), {
      status: 502, code: 'OUTCOME_UNKNOWN', why: `${name} without a key, of one statement`
    })
    t.same(await dump(), before, `${name}: nothing is written`)
    const headers = { 'idempotency-key': `killed-${index}` }
    // the key makes it a transaction, of which nothing is left without COMMIT
    isRefusal(t, await sendAndKill(body, headers), {
      status: 503, code: 'DATABASE_UNAVAILABLE', why: `${name} with a key`
    })
    t.same(await dump(), before, `${name}: nothing is written`)
    t.match(
      await post('parts', body, { headers }), { status: 200, json: { data: written } }, `${name}: it can be sent again`
    )
    const after = await dump()
    t.equal(after.length, 5 + (index === 0 ? 3 : 2))
    t.match(await post('parts', body, { headers }), {
      status: 200, headers: { 'idempotency-replayed': 'true' }, json: { data: written }
    })
    t.same(await dump(), after, `${name}: it has one effect`)
  }
})

await test('a deadlock on the last row of a list is tried again, and ' +
  'all rows are written', async (t, { post, sql, statements }) => {
  const list = {
    verb: 'insert',
    data: [...Array(4).keys()].map((n) => ({ n: n + 100, word: `w${n}` })).concat([{ n: 9, word: 'z' }]),
    onConflict: { key: ['word'] }
  }
  // the server ends the transaction that has changed fewer rows: this one changes more than the list
  await sql('start transaction')
  await sql(
    `insert into parts (n, word) values ${Array.from({ length: 50 }, (_, n) => `(0, 'm${n}')`).join()}, (0, 'z')`
  )
  statements()
  const answer = post('parts', list)
  await until('the list waits', async () => (await waiters({ sql }, 'insert into `parts`')).length === 1)
  await sql("update parts set n = 50 where word = 'w0'")
  await sql('commit')
  t.match(await answer, { status: 200, json: { data: { inserted: 0, updated: 5, unchanged: 0 } } })
  t.same(
    (await sql("select n from parts where word in ('w0', 'w1', 'w2', 'w3', 'z') order by word")).map(({ n }) => n),
    [100, 101, 102, 103, 9]
  )
  t.ok(
    statements().filter((statement) => /^insert/i.test(statement)).length > 1,
    'the list was the one that the server ended'
  )
})

const unknown = { status: 502, code: 'OUTCOME_UNKNOWN' }

await test('a write that fails halfway in a table without transactions is reported as one that may ' +
  'have changed rows', async (t, { post, sql, engine, log }) => {
  for (const name of enginesOf(engine)) {
    log.splice(0)
    const update = await post(name, { verb: 'update', data: { n: 60 }, filters: { id: { $in: [1, 2] } } })
    isRefusal(t, update, { ...unknown, why: `${name}: an update of two rows to one unique value` })
    t.equal(update.headers['retry-after'], undefined)
    t.same(update.json.error.details, [{
      path: '', message: `the engine of table "${name}" has no transactions: what was written before the failure stays`
    }])
    t.equal(JSON.parse(log.find((line) => line.includes('OUTCOME_UNKNOWN')) as string).reason, 'ER_DUP_ENTRY')
    t.equal((await sql(`select id from ${name} where n = 60`)).length, 1, 'and it has')
  }
})

await testOwn('a trigger that fails after a row of a table without transactions is reported as one that may ' +
  'have changed rows', async (t, { post, sql, engine }) => {
  for (const name of enginesOf(engine)) {
    const insert = await post(`fired_${name}`, { verb: 'insert', data: { id: 1 } })
    isRefusal(t, insert, { ...unknown, why: `${name}: a trigger that fails after the row` })
    t.equal((await sql(`select id from fired_${name}`)).length, 1, 'the row exists')
  }
})

await test('errors that certainly changed nothing keep their codes in a table ' +
  'without transactions', async (t, { post, sql, engine }) => {
  for (const name of enginesOf(engine)) {
    const before = await sql(`select * from ${name} order by id`)
    const insert = async (data: object) => (await post(name, { verb: 'insert', data })).json
    t.match(await insert({ id: 1 }), { error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/id' }] } }, name)
    t.match(await insert({ id: 4, n: 1 }), {
      error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/n' }] }
    }, name)
    t.match(await insert({ id: 4, n: 100 }), {
      error: { code: 'CHECK_VIOLATION', details: [{ path: '/data/n' }] }
    }, name)
    const updates: Array<[filters: object, data: object, error: object]> = [
      [{ id: 1 }, { n: 2 }, { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/n' }] }],
      [{ id: { $in: [1] } }, { n: 2 }, { code: 'UNIQUE_VIOLATION' }],
      [{ n: 1, id: { $gte: 0 } }, { id: 2 }, { code: 'UNIQUE_VIOLATION' }],
      [{ $and: [{ n: { $is: 1 } }, { id: { $ne: 7 } }] }, { n: 100 }, { code: 'CHECK_VIOLATION' }],
      [{ id: 1 }, { n: { $inc: 2147483647 } }, { code: 'VALUE_OUT_OF_RANGE' }]
    ]
    for (const [filters, data, error] of updates) {
      const update = { verb: 'update', data, filters }
      t.match((await post(name, update)).json, { error }, `${name}: ${JSON.stringify(update)}`)
      t.match(
        (await post(name, { ...update, returning: ['id'] })).json,
        { error: { code: (error as { code: string }).code } }, `${name}: ${JSON.stringify(update)}, with "returning"`
      )
    }
    for (const filters of [
      { id: { $gte: 2 } }, { id: { $in: [2, 3] } }, { $or: [{ id: 2 }, { id: 3 }] }, { $not: { id: 1 } }
    ]) {
      t.match(
        (await post(name, { verb: 'update', data: { n: 1 }, filters })).json, { error: { code: 'OUTCOME_UNKNOWN' } },
        `${name}: ${JSON.stringify(filters)}`
      )
    }
    t.same(await sql(`select * from ${name} order by id`), before, 'nothing was changed')
    t.match(await insert({ id: 4, n: 4 }), { data: { inserted: 1 } })
  }
})

await testOwn('an operation that the storage engine does not support is reported ' +
  'and changes nothing', async (t, { post, sql }) => {
  for (const body of [{ verb: 'update', data: { n: 2 }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]) {
    isRefusal(t, await post('kept', body), { status: 422, code: 'NOT_SUPPORTED', why: body.verb })
  }
  t.match(await sql('select * from kept'), [{ id: 1, n: 1 }])
}, ['mysql'])

await testHasty('a write that exceeds its time limit is reported as unchanged only if ' +
  'it was rolled back', async (t, { post, sql, engine }) => {
  const update = { verb: 'update', data: { n: 1 }, filters: { id: { $gte: 0 } } }
  const changed = async (name: string) => (await sql(`select id from ${name} where n = 1`)).length
  isRefusal(t, await post('InnoDB', update), { status: 504, code: 'QUERY_TIMEOUT', why: 'InnoDB' })
  t.equal(await changed('InnoDB'), 0)
  for (const name of enginesOf(engine)) {
    const answer = await post(name, update)
    isRefusal(t, answer, { ...unknown, why: name })
    t.equal(answer.headers['retry-after'], undefined)
    t.ok(await changed(name) > 0, `${name}: rows were changed`)
  }
})

await test('rows of a table without transactions are not said to be locked', async (t, { operate, engine }) => {
  for (const table of enginesOf(engine)) {
    const select = { table, verb: 'select', filters: { id: 1 } }
    t.match(await operate([{ ...select, lock: true }]), {
      status: 422, json: { error: { code: 'NOT_SUPPORTED', details: [{ path: '/operations/0' }] } }
    }, table)
    t.match(await operate([select]), { status: 200 })
  }
})

await testOwn('no row of a list is named where a trigger has written to a table ' +
  'without transactions', async (t, { post, operate, sql }) => {
  const list = (...refs: number[]) => ({ verb: 'insert', data: refs.map((ref) => ({ ref })) })
  const send = async (body: object) => {
    const { status, json } = await post('orders', body)
    return status === 200
      ? json.data
      : [status, json.error.code, ...json.error.details.map(({ path }: { path: string }) => path)]
  }
  const unknown = [502, 'OUTCOME_UNKNOWN']
  t.same(await send(list(10, 11, 3, 12)), unknown, 'the first rows stay in the log')
  t.same((await sql('select ref from log order by ref')).map(({ ref }) => ref), [3, 4, 10, 11])
  t.same(await send({ ...list(20, 21, 3), returning: ['ref'] }), unknown, 'in a transaction too')
  t.same(await send({ verb: 'update', data: { ref: 3 }, filters: { ref: 4 } }), unknown, 'an update')
  t.equal((await operate([{ table: 'orders', ...list(30, 3) }])).status, 502)
  t.match(await send(list(3, 40)), [409, 'UNIQUE_VIOLATION', /^\/data\/0/], 'nothing was written before the first row')
  t.equal((await send({ verb: 'insert', data: { ref: 3 } }))[1], 'UNIQUE_VIOLATION')
  t.match(await send(list(50, 51)), { inserted: 2 })
  t.same((await sql('select ref from orders order by ref')).map(({ ref }) => ref), [3, 4, 50, 51])
})

await onEachEngine(t, 'a table that has lost its transactions answers a second later like one that never had any', {
  schema: () => ['updated', 'inserted'].flatMap((name) => [
    `create table ${name} (id int not null primary key, n int)`, `insert into ${name} values (1, 1), (2, 2)`
  ]),
  only
}, async (t, { post, sql }) => {
  const overflow = { verb: 'update', data: { n: { $inc: 2147483646 } } }
  const requests = [
    ['updated', 'VALUE_OUT_OF_RANGE', { ...overflow, filters: { id: { $gt: 0 } } }],
    ['inserted', 'UNIQUE_VIOLATION', { verb: 'insert', data: [{ id: 10 }, { id: 11 }, { id: 1 }] }]
  ] as const
  const stored = async (table: string) => JSON.stringify(await sql(`select * from ${table}`))
  for (const [table, code, body] of requests) {
    const before = await stored(table)
    t.match((await post(table, body)).json.error, { code })
    t.equal(await stored(table), before)
    await sql(`alter table ${table} engine = MyISAM`)
  }
  await sleep(1000)
  for (const [table, , body] of requests) {
    const before = await stored(table)
    t.match(await post(table, body), { status: 502, json: { error: { code: 'OUTCOME_UNKNOWN' } } }, table)
    t.not(await stored(table), before, 'some rows were changed')
  }
  const single = await post('updated', { ...overflow, filters: { id: 2 } })
  t.match(single.json.error, { code: 'VALUE_OUT_OF_RANGE' }, 'the only row is not changed')
})
