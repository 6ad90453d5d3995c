import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type EngineName, type Schema } from '../support/service.ts'

/** Storage engines without transactions: those of both servers, then those of one. */
const enginesOf = (engine: EngineName): string[] => engine === 'mariadb' ? ['MyISAM', 'MEMORY', 'Aria'] : ['MyISAM', 'MEMORY']

const schema: Schema = (engine) => enginesOf(engine).flatMap((each) => [
  `create table ${each} (id int not null primary key, n int null, unique key n (n), check (n < 100)) engine = ${each}`,
  `insert into ${each} values (1, 1), (2, 2), (3, 50)`,
  `create table fired_${each} (id int not null primary key) engine = ${each}`,
  `create trigger t_${each} after insert on fired_${each} for each row signal sqlstate '45000'`
])

const unknown = { status: 502, code: 'OUTCOME_UNKNOWN' }

await onEachEngine(t, 'a write that fails halfway in a table without transactions is reported as one that may have changed rows', { schema, only: ['mariadb', 'mysql'] }, async (t, { post, sql, engine, log }) => {
  for (const name of enginesOf(engine)) {
    log.splice(0)
    const update = await post(name, { verb: 'update', data: { n: 60 }, filters: { id: { $in: [1, 2] } } })
    isRefusal(t, update, { ...unknown, why: `${name}: an update of two rows to one unique value` })
    t.equal(update.headers['retry-after'], undefined)
    t.same(update.json.error.details, [{ path: '', message: `the engine of table "${name}" has no transactions: what was written before the failure stays` }])
    t.equal(JSON.parse(log.find((line) => line.includes('OUTCOME_UNKNOWN')) as string).reason, 'ER_DUP_ENTRY')
    t.equal((await sql(`select id from ${name} where n = 60`)).length, 1, 'and it has')

    const insert = await post(`fired_${name}`, { verb: 'insert', data: { id: 1 } })
    isRefusal(t, insert, { ...unknown, why: `${name}: a trigger that fails after the row` })
    t.equal((await sql(`select id from fired_${name}`)).length, 1, 'the row exists')
  }
})

await onEachEngine(t, 'errors that certainly changed nothing keep their codes in a table without transactions', { schema, only: ['mariadb', 'mysql'] }, async (t, { post, sql, engine }) => {
  for (const name of enginesOf(engine)) {
    const before = await sql(`select * from ${name} order by id`)
    const insert = async (data: object) => (await post(name, { verb: 'insert', data })).json
    t.match(await insert({ id: 1 }), { error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/id' }] } }, name)
    t.match(await insert({ id: 4, n: 1 }), { error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/n' }] } }, name)
    t.match(await insert({ id: 4, n: 100 }), { error: { code: 'CHECK_VIOLATION', details: [{ path: '/data/n' }] } }, name)
    const updates: Array<[filters: object, data: object, error: object]> = [
      [{ id: 1 }, { n: 2 }, { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/n' }] }], [{ id: { $in: [1] } }, { n: 2 }, { code: 'UNIQUE_VIOLATION' }],
      [{ n: 1, id: { $gte: 0 } }, { id: 2 }, { code: 'UNIQUE_VIOLATION' }], [{ $and: [{ n: { $is: 1 } }, { id: { $ne: 7 } }] }, { n: 100 }, { code: 'CHECK_VIOLATION' }],
      [{ id: 1 }, { n: { $inc: 2147483647 } }, { code: 'VALUE_OUT_OF_RANGE' }]
    ]
    for (const [filters, data, error] of updates) {
      const update = { verb: 'update', data, filters }
      t.match((await post(name, update)).json, { error }, `${name}: ${JSON.stringify(update)}`)
      t.match((await post(name, { ...update, returning: ['id'] })).json, { error: { code: (error as { code: string }).code } }, `${name}: ${JSON.stringify(update)}, with "returning"`)
    }
    for (const filters of [{ id: { $gte: 2 } }, { id: { $in: [2, 3] } }, { $or: [{ id: 2 }, { id: 3 }] }, { $not: { id: 1 } }]) {
      t.match((await post(name, { verb: 'update', data: { n: 1 }, filters })).json, { error: { code: 'OUTCOME_UNKNOWN' } }, `${name}: ${JSON.stringify(filters)}`)
    }
    t.same(await sql(`select * from ${name} order by id`), before, 'nothing was changed')
    t.match(await insert({ id: 4, n: 4 }), { data: { inserted: 1 } })
  }
})

await onEachEngine(t, 'an operation that the storage engine does not support is reported and changes nothing', { schema: { mysql: ['create table kept (id int not null primary key auto_increment, n int null) engine = ARCHIVE', 'insert into kept values (1, 1)'], sqlite: [] }, only: ['mysql'] }, async (t, { post, sql }) => {
  for (const body of [{ verb: 'update', data: { n: 2 }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]) {
    isRefusal(t, await post('kept', body), { status: 422, code: 'NOT_SUPPORTED', why: body.verb })
  }
  t.match(await sql('select * from kept'), [{ id: 1, n: 1 }])
})

const slow: Schema = (engine) => ['InnoDB', ...enginesOf(engine)].flatMap((name) => [
  `create table ${name} (id int not null primary key, n int null) engine = ${name}`,
  `insert into ${name} values ${Array.from({ length: 40 }, (_, id) => `(${id}, 0)`).join()}`,
  `create trigger wait_${name} before update on ${name} for each row set @slept = sleep(0.05)`
])

await onEachEngine(t, 'a write that exceeds its time limit is reported as unchanged only if it was rolled back', { schema: slow, only: ['mariadb', 'mysql'], database: { statementTimeout: 300 } }, async (t, { post, sql, engine }) => {
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

await onEachEngine(t, 'rows of a table without transactions are not said to be locked', { schema, only: ['mariadb', 'mysql'] }, async (t, { operate, engine }) => {
  for (const table of enginesOf(engine)) {
    const select = { table, verb: 'select', filters: { id: 1 } }
    t.match(await operate([{ ...select, lock: true }]), { status: 422, json: { error: { code: 'NOT_SUPPORTED', details: [{ path: '/operations/0' }] } } }, table)
    t.match(await operate([select]), { status: 200 })
  }
})

const logged: Schema = {
  mysql: [
    'create table orders (id int not null primary key auto_increment, ref int not null unique)',
    'create table log (ref int not null primary key) engine = MyISAM',
    'create trigger noted after insert on orders for each row insert into log values (new.ref)',
    'create trigger renamed before update on orders for each row insert into log values (new.ref + 1000)',
    'insert into orders (ref) values (3), (4)'
  ],
  sqlite: []
}

await onEachEngine(t, 'a list once named the wrong row where a trigger had written to a table without transactions', { schema: logged, only: ['mariadb', 'mysql'] }, async (t, { post, operate, sql }) => {
  const list = (...refs: number[]) => ({ verb: 'insert', data: refs.map((ref) => ({ ref })) })
  const send = async (body: object) => {
    const { status, json } = await post('orders', body)
    return status === 200 ? json.data : [status, json.error.code, ...json.error.details.map(({ path }: { path: string }) => path)]
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
