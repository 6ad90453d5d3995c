/** `expect`: the number of rows that a request must match, and the setting `limits.changed`. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { isRefusal } from '../support/refusals.ts'
import { type EngineName, onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const rows = Array.from({ length: 20 }, (_, id) => `(${id}, ${id % 2}, 0)`).join()
const schema: Schema = {
  mysql: ['create table parts (id int not null primary key, kind int not null, n int not null)', `insert into parts values ${rows}`],
  sqlite: ['create table parts (id int not null primary key, kind int not null, n int not null)', `insert into parts values ${rows}`]
}

/** expect -> whether it holds for ten rows. */
const expectations: Array<[expect: unknown, holds: boolean]> = [
  [10, true], [9, false], [11, false], [0, false],
  [{ $eq: 10 }, true], [{ $eq: 9 }, false], [{ $gt: 9 }, true], [{ $gt: 10 }, false], [{ $gte: 10 }, true], [{ $gte: 11 }, false],
  [{ $lt: 11 }, true], [{ $lt: 10 }, false], [{ $lte: 10 }, true], [{ $lte: 9 }, false], [{ $lt: 0 }, false],
  [{ $gte: 1, $lte: 10 }, true], [{ $gte: 1, $lt: 10 }, false], [{ $gt: 10, $lt: 10 }, false], [{ $eq: 10, $gte: 2 }, true], [{ $lte: 9007199254740991 }, true]
]

const test = sharedOnEachEngine(t, { schema })

await test('an update is done if the number of rows that it matches is as expected, else nothing is changed', async (t, { post, sql }) => {
  const sum = async () => Number((await sql('select sum(n) as n from parts'))[0].n)
  let done = 0
  for (const [expect, holds] of expectations) {
    for (const returning of [undefined, ['id', 'n']]) {
      const answer = await post('parts', { verb: 'update', data: { n: { $inc: 1 } }, filters: { kind: 1 }, expect, returning })
      if (holds) {
        t.equal(answer.status, 200, answer.text)
        t.equal(answer.json.data.updated, 10)
        t.equal(answer.json.data.rows?.length, returning && 10)
        done += 10
      } else {
        isRefusal(t, answer, { status: 412, code: 'EXPECTATION_FAILED', why: JSON.stringify(expect) })
        t.equal(answer.json.error.details[0].path, '/expect')
        t.equal(answer.headers['retry-after'], undefined)
      }
      t.equal(await sum(), done, JSON.stringify(expect))
    }
  }
})

await test('rows that have the values already match as well', async (t, { post }) => {
  const update = { verb: 'update', data: { kind: 1 }, filters: { id: { $lt: 4 } } }
  t.same((await post('parts', { ...update, expect: 4 })).json.data, { updated: 2 })
  t.same((await post('parts', { ...update, expect: 4 })).json.data, { updated: 0 })
  t.same((await post('parts', { ...update, expect: { $lte: 4 }, data: { kind: { $inc: 0 } } })).json.data, { updated: 0 })
  isRefusal(t, await post('parts', { ...update, expect: 0 }), { status: 412, code: 'EXPECTATION_FAILED', why: 'none' })
})

await test('the message tells how many rows there are, and does not count beyond the bound', async (t, { post }) => {
  const messageFor = async (filters: object, expect: unknown) => (await post('parts', { verb: 'delete', filters, expect })).json.error.message
  for (const [filters, expect, message] of [
    [{ id: 1 }, 2, 'there is 1 row'], [{ id: { $lt: 3 } }, 5, /there are \d rows/], [{ kind: 1 }, 1, 'there is more than 1 row'], [{ kind: 1 }, 3, 'there are more than 3 rows'], [{ id: 1 }, 0, 'there are more than 0 rows']
  ] as const) t.match(await messageFor(filters, expect), message)
})

await test('a delete is done if the number of rows that it matches is as expected, else nothing is deleted', async (t, { post, sql }) => {
  const count = async () => Number((await sql('select count(*) as n from parts'))[0].n)
  for (const [expect] of expectations.filter(([, holds]) => !holds)) {
    for (const returning of [undefined, '*']) {
      isRefusal(t, await post('parts', { verb: 'delete', filters: { kind: 1 }, expect, returning }), { status: 412, code: 'EXPECTATION_FAILED', why: JSON.stringify(expect) })
      t.equal(await count(), 20)
    }
  }
  t.same((await post('parts', { verb: 'delete', filters: { kind: 1 }, expect: 10 })).json.data, { deleted: 10 })
  t.same((await post('parts', { verb: 'delete', filters: { kind: 1 }, expect: 0 })).json.data, { deleted: 0 })
  t.equal((await post('parts', { verb: 'delete', filters: { kind: 0 }, expect: { $lt: 11, $gt: 9 }, returning: ['id'] })).json.data.rows.length, 10)
})

await test('an expectation is an optimistic lock: of several clients at the same time one succeeds', async (t, { post, sql }) => {
  const answers = await Promise.all(Array.from({ length: 8 }, (_, client) => post('parts', { verb: 'update', data: { kind: 100 + client, n: { $inc: 1 } }, filters: { id: 5, n: 0 }, expect: 1 })))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 7 }, () => 412)])
  t.equal((await sql('select n from parts where id = 5'))[0].n, 1)
})

await onEachEngine(t, 'with an upper bound no more than one row beyond it is changed', {
  schema: (engine: EngineName) => [...(engine === 'sqlite' ? schema.sqlite : schema.mysql), 'create table touched (id int not null)', engine === 'sqlite'
    ? 'create trigger touch after update on parts begin insert into touched values (new.id); end'
    : 'create trigger touch after update on parts for each row set @touched = coalesce(@touched, 0) + sleep(0.05)'],
  only: ['mariadb', 'mysql'],
  database: { statementTimeout: 700 }
}, async (t, { post }) => {
  // all twenty rows would take a second
  isRefusal(t, await post('parts', { verb: 'update', data: { n: 5 }, filters: { id: { $gte: 0 } }, expect: { $lte: 3 } }), { status: 412, code: 'EXPECTATION_FAILED', why: 'four rows' })
})

await test('on a select the expectation is held against count', async (t, { post }) => {
  for (const [expect, holds] of expectations) {
    const answer = await post('parts', { verb: 'select', filters: { kind: 1 }, expect })
    if (holds) t.equal(answer.json.data.count, 10, JSON.stringify(expect))
    else isRefusal(t, answer, { status: 412, code: 'EXPECTATION_FAILED', why: JSON.stringify(expect) })
  }
  t.equal((await post('parts', { verb: 'select', limit: 5, expect: 5 })).json.data.count, 5, 'rows of the answer, not of the table')
  t.match((await post('parts', { verb: 'select', filters: { id: 1 }, expect: 1, total: true })).json.data, { count: 1, total: 1 })
  isRefusal(t, await post('parts', { verb: 'select', filters: { id: 99 }, expect: { $gte: 1 }, after: null }), { status: 412, code: 'EXPECTATION_FAILED', why: 'a page' })
})

await test('an invalid "expect" is rejected before a statement is sent', async (t, { post, statements }) => {
  statements()
  for (const expect of [-1, 1.5, '1', true, null, [1], {}, { $gt: -1 }, { $gte: '1' }, { $ne: 1 }, { $in: [1] }, { $eq: null }, 9007199254740992]) {
    for (const body of [{ verb: 'update', data: { n: 1 }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }, { verb: 'select' }]) {
      const answer = await post('parts', { ...body, expect })
      isRefusal(t, answer, { status: 400, code: 'INVALID_BODY', why: `${body.verb} ${JSON.stringify(expect)}` })
      t.match(answer.json.error.details[0].path, /^\/expect/)
    }
  }
  const insert = await post('parts', { verb: 'insert', data: { id: 30, kind: 1, n: 1 }, expect: 1 })
  isRefusal(t, insert, { status: 400, code: 'INVALID_BODY', why: 'insert' })
  t.match(insert.json.error.message, /"expect" is not allowed with insert/)
  t.same(statements(), [])
  for (const [id, expect] of ['1.0', '1e0', '{"$lte": 1.0}', '{"$eq": 1e0}'].entries()) t.equal((await post('parts', `{"verb":"delete","filters":{"id":${id}},"expect":${expect}}`)).status, 200, expect)
})

const tokens = [{ name: 'writes', sha256: hashToken('token-that-writes-0123456789-0123456789'), permissions: ['update' as const, 'delete' as const] }]

await onEachEngine(t, '"expect" on an update or delete needs the permission select', { schema: shop, tokens }, async (t, { post, statements }) => {
  const writes = { token: 'token-that-writes-0123456789-0123456789' }
  statements()
  for (const body of [{ verb: 'update', data: { nope: 'x' }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]) {
    const answer = await post('customers', { ...body, expect: 1 }, writes)
    isRefusal(t, answer, { status: 403, code: 'PERMISSION_DENIED', why: body.verb })
    t.match(answer.json.error.message, /"expect" needs the permission select/)
  }
  t.same(statements(), [])
})

await onEachEngine(t, 'limits.changed is the most rows that an update or delete may match', { schema, options: { limits: { changed: 10 } } }, async (t, { post, sql }) => {
  const before = await sql('select * from parts order by id')
  for (const body of [{ verb: 'update', data: { n: 1 } }, { verb: 'delete' }]) {
    for (const more of [{}, { returning: ['id'] }, { expect: { $gte: 1 } }, { expect: 11 }, { expect: { $lte: 15 } }, { dryRun: true }]) {
      const answer = await post('parts', { ...body, ...more, filters: { id: { $gte: 0 } } })
      isRefusal(t, answer, { status: 422, code: 'RESULT_TOO_LARGE', why: JSON.stringify({ ...body, ...more }) })
      t.match(answer.json.error.message, /more than 10 rows/)
    }
    isRefusal(t, await post('parts', { ...body, filters: { id: { $gte: 0 } }, expect: 3 }), { status: 412, code: 'EXPECTATION_FAILED', why: 'fewer are expected' })
    isRefusal(t, await post('parts', { ...body, filters: { id: { $gte: 0 } }, expect: 10 }), { status: 412, code: 'EXPECTATION_FAILED', why: 'as many are expected' })
  }
  t.same(await sql('select * from parts order by id'), before)
  t.same((await post('parts', { verb: 'update', data: { n: 1 }, filters: { kind: 1 } })).json.data, { updated: 10 })
  t.same((await post('parts', { verb: 'delete', filters: { kind: 1 } })).json.data, { deleted: 10 })
  t.equal((await post('parts', { verb: 'select' })).json.data.count, 10, 'a select is not affected')
})

const cascade: Schema = {
  mysql: ['create table tree (id int not null primary key, parent int null, constraint up foreign key (parent) references tree (id) on delete cascade)', 'insert into tree values (1, null), (2, 1), (3, 2)'],
  sqlite: ['create table tree (id int not null primary key, parent int null references tree (id) on delete cascade)', 'insert into tree values (1, null), (2, 1), (3, 2)']
}

await onEachEngine(t, 'a delete returns rows that a foreign key of the table to itself has deleted as well', { schema: cascade }, async (t, { post, sql }) => {
  const { rows, deleted } = (await post('tree', { verb: 'delete', filters: { id: [1, 2, 3] }, returning: ['id'] })).json.data
  t.same(rows.map(({ id }: { id: number }) => id).sort(), [1, 2, 3])
  t.ok(deleted >= 1 && deleted <= 3)
  t.equal((await sql('select * from tree')).length, 0)
})

const self = (engine: EngineName, action: string) => engine === 'sqlite'
  ? `parent int null references NAME (id) on delete ${action}`
  : `parent int null, foreign key (parent) references NAME (id) on delete ${action}`

const selves: Schema = (engine) => [
  ...[['cascades', 'cascade'], ['nulls', 'set null']].flatMap(([name, action]) => [
    `create table ${name} (id int not null primary key, v varchar(9), ${self(engine, action as string).replace('NAME', name as string)})`,
    `insert into ${name} values (1, 'a', null), (2, 'a', 1), (3, 'a', 1), (4, 'b', null)`
  ]),
  'create table teams (id int not null primary key, head int null)',
  `create table members (id int not null primary key, team int null, ${engine === 'sqlite' ? 'constraint of_team ' : ''}foreign key (team) references teams (id) on delete cascade)`,
  ...engine === 'sqlite' ? [] : ['alter table teams add foreign key (head) references members (id) on delete cascade'],
  'insert into teams values (1, null)', 'insert into members values (1, 1)', 'insert into teams values (2, 1)'
]

const testSelves = sharedOnEachEngine(t, { schema: selves })

await testSelves('rows that foreign keys of the table delete or change count for what a delete expects', async (t, { post, sql, engine }) => {
  const cases: Array<[table: string, filters: object, matches: number]> = [['cascades', { v: 'a' }, 3], ['nulls', { $or: [{ id: 1 }, { parent: 1 }] }, 3], ...engine === 'sqlite' ? [] : [['teams', { id: [1, 2] }, 2] as [string, object, number]]]
  for (const [table, filters, matches] of cases) {
    const before = await sql(`select * from ${table} order by id`)
    const send = (expect: unknown, rest: object = {}) => post(table, { verb: 'delete', filters, expect, ...rest })
    for (const expect of [1, { $lte: matches - 1 }, { $gt: matches }]) isRefusal(t, await send(expect), { status: 412, code: 'EXPECTATION_FAILED', why: `${table} ${JSON.stringify(expect)}` })
    for (const expect of [matches, { $gte: matches }, { $lte: matches }]) t.equal((await send(expect, { dryRun: true })).status, 200, `${table} ${JSON.stringify(expect)}`)
    t.same(await sql(`select * from ${table} order by id`), before)
  }
})

await onEachEngine(t, 'rows that foreign keys of the table delete or change count for limits.changed', { schema: selves, options: { limits: { changed: 2 } } }, async (t, { post, sql }) => {
  isRefusal(t, await post('cascades', { verb: 'delete', filters: { v: 'a' } }), { status: 422, code: 'RESULT_TOO_LARGE', why: 'three rows' })
  t.equal((await sql('select * from cascades')).length, 4)
  t.equal((await post('cascades', { verb: 'delete', filters: { id: [3, 4] } })).json.data.deleted, 2)
})

await testSelves('a delete does not return rows that it has kept', async (t, { engine, post, sql }) => {
  const remove = async (table: string, filters: object) => await post(table, { verb: 'delete', filters, returning: ['id'] })
  const before = await sql('select id from nulls order by id')
  const answer = await remove('nulls', { $or: [{ id: 1 }, { parent: 1 }] })
  const after = await sql('select id from nulls order by id')
  if (answer.status === 200) t.same(answer.json.data.rows.map(({ id }: { id: number }) => id).sort(), before.map(({ id }) => id).filter((id) => !after.some((row) => row.id === id)))
  else {
    isRefusal(t, answer, { status: 422, code: 'NOT_SUPPORTED', why: engine })
    t.same(after, before)
  }
  t.match((await remove('cascades', { v: 'a' })).json.data.rows, { length: 3 })
})

const kept: Schema = { mysql: [], sqlite: ['create table kept (id integer primary key, v text)', "insert into kept values (1, 'x'), (2, 'keep'), (3, 'y')", "create trigger keep before delete on kept when old.v = 'keep' begin select raise(ignore); end"] }

await onEachEngine(t, 'a delete does not return rows that a trigger has kept', { schema: kept, only: ['sqlite'] }, async (t, { post, sql }) => {
  const remove = async (id: unknown) => await post('kept', { verb: 'delete', filters: { id }, returning: ['id'] })
  t.same((await remove(2)).json.data, { deleted: 0, rows: [] })
  isRefusal(t, await remove([1, 2]), { status: 422, code: 'NOT_SUPPORTED', why: 'one is kept' })
  t.equal((await sql('select * from kept')).length, 3)
  t.same((await remove([1, 3])).json.data, { deleted: 2, rows: [{ id: 1 }, { id: 3 }] })
})

const without: Schema = (engine) => ['MyISAM', 'MEMORY', ...engine === 'mariadb' ? ['Aria'] : []].flatMap((name) => [
  `create table ${name} (id int not null primary key, kind int not null, n int not null) engine = ${name}`, `insert into ${name} values ${rows}`
])

await onEachEngine(t, 'in a table without transactions rows are counted before they are changed', { schema: without, only: ['mariadb', 'mysql'] }, async (t, { post, sql, engine }) => {
  for (const name of ['MyISAM', 'MEMORY', ...engine === 'mariadb' ? ['Aria'] : []]) {
    const before = await sql(`select * from ${name} order by id`)
    for (const expect of [9, { $lt: 10 }, { $gt: 10 }]) {
      isRefusal(t, await post(name, { verb: 'update', data: { n: 1 }, filters: { kind: 1 }, expect }), { status: 412, code: 'EXPECTATION_FAILED', why: name })
      isRefusal(t, await post(name, { verb: 'delete', filters: { kind: 1 }, expect, returning: '*' }), { status: 412, code: 'EXPECTATION_FAILED', why: name })
    }
    t.same(await sql(`select * from ${name} order by id`), before)
    t.same((await post(name, { verb: 'update', data: { n: 1 }, filters: { kind: 1 }, expect: 10 })).json.data, { updated: 10 })
    t.equal((await post(name, { verb: 'update', data: { n: 2 }, filters: { kind: 1 }, expect: 10, returning: '*' })).json.data.rows.length, 10)
    t.same((await post(name, { verb: 'delete', filters: { kind: 1 }, expect: { $gte: 5 } })).json.data, { deleted: 10 })
  }
})
