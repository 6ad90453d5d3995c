/** Tables that change while the service runs: what is asked again, and columns that have become another type. */
import t from 'tap'
import { freePort } from '../servers/free-port.ts'
import { isLost, untilStatus } from '../support/lost-tables.ts'
import { movableClock } from '../support/clock.ts'
import { tokenFor } from '../support/documents.ts'
import { createProxy } from '../support/recorder.ts'
import { type EngineName, onEachEngine, sharedOnEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select' }

await onEachEngine(t, 'a table that is created while the service runs can be used ' +
  'right after a refresh', { schema: shop }, async (t, { post, sql, server }) => {
  await sql('create table later (id int not null primary key)')
  t.equal((await post('later', select)).json.error.code, 'TABLE_NOT_FOUND')
  await server.rows.refresh()
  t.same((await post('later', { verb: 'insert', data: { id: 1 } })).json.data, { inserted: 1, id: 1 })
  t.same((await post('later', select)).json.data.rows, [{ id: 1 }])
})

await onEachEngine(t, 'a select that does not name a dropped column succeeds with the ' +
  'remaining columns', { schema: shop }, async (t, { post, sql }) => {
  await sql('alter table products drop column tags')
  await sql('alter table products add column spare int null')
  const { status, json } = await post('products', { verb: 'select', orderBy: 'sku', limit: 1 })
  t.equal(status, 200)
  t.same(json.data.rows, [{ sku: 'CUP-1', name: 'Cup', price: '5.00', spare: null }])
})

await onEachEngine(t, 'a write that is valid with the new catalog is not retried; the client ' +
  'must send it again', { schema: shop }, async (t, { post, sql }) => {
  await sql('create trigger audited after insert on orders for each row begin insert into audit values (1); end')
  const insert = () => post('orders', { verb: 'insert', data: { customer_id: 1 } })
  const { status, headers, json } = await insert()
  t.equal(status, 503, 'the trigger is new')
  t.equal(headers['retry-after'], '1')
  t.equal(json.error.code, 'DATABASE_UNAVAILABLE')
  t.equal((await sql('select id from orders')).length, 2, 'nothing was changed')
  await sql('create table audit (id int null)')
  t.equal((await untilStatus(200, insert)).json.data.inserted, 1)
})

/**
 * A grant that does not see the name of a customer, one whose rule needs it, and one whose rule names a column that was
 * never there.
 */
const narrow = [
  tokenFor('hidden', ['select'], { shop: { customers: { columns: { select: ['id', 'email'] } } } }),
  tokenFor('ruled', ['select'], { shop: { customers: { rows: { name: 'Ada' } } } }),
  tokenFor('broken', ['select'], { shop: { customers: { rows: { nope: 1 } } } }),
  tokenFor('elsewhere', ['select'], { shop: ['orders'] })
]

await onEachEngine(t, 'a table that is renamed for a moment while the catalog is read is 503, and there again ' +
  'with the next reading', { schema: shop, tokens: narrow }, async (t, { post, operate, sql, server }) => {
  await sql('alter table customers rename to away')
  await server.rows.refresh()
  isLost(t, await post('customers', select), 'a select')
  isLost(t, await post('customers', { verb: 'insert', data: { email: 'a', name: 'b' } }), 'an insert')
  isLost(t, await operate([{ verb: 'select', table: 'orders' }, { verb: 'select', table: 'customers' }]), 'operations')
  isLost(
    t, await post('customers', { verb: 'select', columns: ['id'] }, { token: 'hidden' }), 'a grant that sees the table'
  )
  t.match(
    await post('customers', { verb: 'select', columns: ['nope'] }), { status: 503 }, 'nothing is known of its columns'
  )
  for (const token of ['broken', 'elsewhere']) {
    t.match(await post('customers', select, { token }), { status: 404 }, `${token}: as before`)
  }
  t.match(await post('nope', select), { status: 404 })
  t.match(await post('orders', select), { status: 200 }, 'other tables work')
  await sql('alter table away rename to customers')
  await server.rows.refresh()
  t.equal((await post('customers', select)).json.data.count, 4)
})

await onEachEngine(t, 'a column that is renamed for a moment while the catalog is read is 503, and there again ' +
  'with the next reading', { schema: shop, tokens: narrow }, async (t, { post, operate, sql, server }) => {
  await sql('alter table customers rename column name to title')
  await server.rows.refresh()
  const named = { verb: 'select', columns: ['id', 'name'] }
  isLost(t, await post('customers', named), 'a select')
  isLost(t, await post('customers', { verb: 'insert', data: { email: 'a', name: 'b' } }), 'an insert')
  isLost(t, await post('customers', { verb: 'update', data: { note: 'x' }, filters: { name: 'Ada' } }), 'a filter')
  isLost(
    t, await operate([{ verb: 'select', table: 'customers', columns: ['id'] }, { ...named, table: 'customers' }]),
    'operations'
  )
  isLost(t, await post('customers', { verb: 'select', columns: ['id'] }, { token: 'ruled' }), 'a rule')
  for (const [token, column] of [['hidden', 'name'], [TOKEN, 'nope']] as const) {
    t.match(
      await post('customers', { verb: 'select', columns: [column] }, { token }),
      { status: 400, json: { error: { code: 'COLUMN_NOT_FOUND' } } }, `${column}: as before`
    )
  }
  t.match(await post('customers', select, { token: 'broken' }), { status: 404 }, 'as before')
  t.match(await post('customers', { verb: 'select', columns: ['id'] }), { status: 200 }, 'other columns work')
  await sql('alter table customers rename column title to name')
  await server.rows.refresh()
  t.equal((await post('customers', named)).json.data.count, 4)
  t.equal((await post('customers', { verb: 'select', columns: ['id'] }, { token: 'ruled' })).json.data.count, 1)
})

await onEachEngine(t, 'concurrent requests on a changed table share one ' +
  'read of the catalog', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { post, sql, proxy }) => {
  await sql('alter table products drop column tags')
  proxy?.statements.splice(0)
  const answers = await Promise.all(Array.from({ length: 20 }, () => post('products', select)))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  const readings = proxy?.statements.filter((sql) => sql.includes('`information_schema`.`TABLES`')).length ?? 0
  t.ok(readings >= 1 && readings <= 4, `${readings} readings for 20 requests`)
})

await onEachEngine(t, 'a failed refresh keeps the old catalog and ' +
  'rejects for its caller', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { post, server, proxy, log }) => {
  await proxy?.close()
  await t.rejects(server.rows.refresh(), { code: 'DATABASE_UNAVAILABLE' })
  t.equal((await post('customers', select)).status, 503)
  t.equal((await post('nope', select)).json.error.code, 'TABLE_NOT_FOUND', 'the tables are known still')
  t.equal((await post('customers', { verb: 'select', columns: ['nope'] })).json.error.code, 'COLUMN_NOT_FOUND')
  t.notOk(log.some((line) => line.includes('could not be read')))
})

await onEachEngine(t, 'requests are answered with 503 until a database that was down at the ' +
  'start is reachable', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const port = await freePort()
  const { post, log } = await startService(t, Object.assign(new URL(url), { port }).href)
  t.match(JSON.parse(log[0] as string), {
    database: 'shop', code: 'DATABASE_UNAVAILABLE', reason: 'ECONNREFUSED', msg: 'the catalog could not be read'
  })
  for (const [table, body] of [
    ['customers', select], ['nope', select], ['customers', { verb: 'insert', data: {} }]
  ] as const) {
    const { status, headers, json } = await post(table, body)
    t.equal(status, 503)
    t.equal(headers['retry-after'], '1')
    t.match(json, { success: false, data: {}, error: { code: 'DATABASE_UNAVAILABLE' } })
  }
  t.equal((await post('customers', { verb: 'nothing' })).status, 400, 'what needs no database is answered')
  const proxy = await createProxy(url, port)
  t.teardown(() => proxy.close())
  t.equal((await post('customers', select)).json.data.count, 4)
  t.equal((await post('nope', select)).status, 404)
})

const only: EngineName[] = ['mariadb', 'mysql']
const INJECTED = '1,"admin":true'
const numbers = (name: string): string[] => [
  `create table ${name} (id int not null primary key, n int null, m int null)`,
  `insert into ${name} values (1, 1, 1), (2, 2, 2)`
]
const becomesText = (name: string): string[] => [
  `alter table ${name} modify n varchar(100) null`, `insert into ${name} values (3, '${INJECTED}', 3), (4, 'abc', 4)`
]
const expected = [{ id: 1, n: '1' }, { id: 2, n: '2' }, { id: 3, n: INJECTED }, { id: 4, n: 'abc' }]

/** Each test has tables of its own, and leaves the clock as it is. */
const testOwn = sharedOnEachEngine(t, {
  schema: () => [
    ...['unread', 'selected', 'zeros', 'plain', 'written', 'lately'].flatMap(numbers),
    'create table small (id int not null primary key, small tinyint(4) null, year year null)',
    'create table moved (id int not null primary key)'
  ],
  only,
  keepsRows: true
})

for (const name of ['unread', 'selected']) {
  await testOwn(`a text in a former number column is a text (${name} before)`, async (t, { post, sql }) => {
    const select = { verb: 'select', columns: ['id', 'n'], orderBy: 'id' }
    for (let times = name === 'selected' ? 3 : 0; times > 0; times--) {
      t.same((await post(name, select)).json.data.rows, [{ id: 1, n: 1 }, { id: 2, n: 2 }])
    }
    for (const statement of becomesText(name)) await sql(statement)
    const { status, json } = await post(name, select)
    t.equal(status, 200)
    t.strictSame(json.data.rows, expected)
  })
}

await testOwn('a write compares no number with a former number column: the text abc is not equal to 0', async (
  t, { post, sql, server }
) => {
  const bodies = [
    { verb: 'delete', filters: { n: 0 } },
    { verb: 'update', data: { m: 9 }, filters: { n: 0 } },
    { verb: 'delete', filters: { $or: [{ id: 99 }, { $not: { n: { $ne: 0 } } }] } },
    { verb: 'select', columns: ['id'], filters: { n: 0 } }
  ]
  for (const body of bodies) {
    await sql('delete from zeros where id > 2')
    await sql('alter table zeros modify n int null')
    await server.rows.refresh()
    for (const statement of becomesText('zeros')) await sql(statement)
    const { status, json } = await post('zeros', body)
    t.equal(status, 400, JSON.stringify(body))
    t.match(json.error, { code: 'INVALID_VALUE', message: /"n": expected a string/ })
    t.same(
      await sql('select id, n, m from zeros order by id'), expected.map((row) => ({ ...row, m: row.id })),
      'nothing was changed'
    )
  }
})

await onEachEngine(t, 'a table whose columns a statement uses is confirmed at most once a second', {
  schema: () => [
    ...numbers('things'),
    'create table others (id int not null primary key, thing int null, foreign key (thing) references things (id))'
  ],
  only
}, async (t, { post, proxy }) => {
  /** The statements since the last call, including confirmations. */
  const statements = (): string[] => proxy?.statements.splice(0).map((sql) => sql.replaceAll('`', '')) ?? []
  const clock = movableClock(t)
  const update = (id: number) => post('things', { verb: 'update', data: { m: id }, filters: { id } })
  const confirmation = 'select * from things force index (PRIMARY) limit 0'
  statements()
  t.same((await update(1)).json.data, { updated: 0 })
  t.same(statements(), [confirmation, "update things set m = 1 where id = '1'"])
  await update(2)
  await post('things', { verb: 'select', columns: ['id'], filters: { n: 1 } })
  t.equal(statements().length, 2, 'the confirmation is valid for a second')
  clock.pass(1001)
  await post('things', { verb: 'insert', data: { id: 3 } })
  t.equal(statements().length, 1, 'an insert compares nothing')
  await post('others', { verb: 'select', filters: { $some: { things: { filters: { n: 1 } } } } })
  t.same(statements().slice(0, -1), ['select * from others force index (PRIMARY) limit 0', confirmation], 'each table')
})

await onEachEngine(t, 'an INVISIBLE column is confirmed too', {
  schema: () => ['create table things (id int not null primary key, n int null invisible)'],
  only
}, async (t, { post, sql }) => {
  const clock = movableClock(t)
  const remove = { verb: 'delete', filters: { n: [0, 1] } }
  t.match(await post('things', remove), { status: 200 })
  await sql('alter table things modify n varchar(20) null invisible')
  await sql("insert into things (id, n) values (1, 'abc')")
  clock.pass(1001)
  t.match(await post('things', remove), { status: 400, json: { error: { code: 'INVALID_VALUE' } } })
})

await onEachEngine(t, 'a value is judged by the type that its column has got, also where the old one refuses it', {
  schema: () => ['create table typed (id int not null primary key, n varchar(20) null)']
}, async (t, { server, post, sql }) => {
  const clock = movableClock(t)
  const select = { verb: 'select', filters: { n: 5 } }
  t.match(await post('typed', select), { status: 400, json: { error: { code: 'INVALID_VALUE' } } })
  await server.rows.refresh() // no reading may overlap with the clock: see new-objects.test.ts
  await sql('alter table typed drop column n')
  await sql('alter table typed add column n int null')
  clock.pass(1001)
  t.match(await post('typed', select), { status: 200 })
  t.match(await post('typed', { verb: 'insert', data: { id: 1, n: 5 } }), { status: 200 })
  t.match((await post('typed', select)).json.data.rows, [{ id: 1, n: 5 }])
})

await testOwn('a plain write succeeds although a column that it does not name was dropped', async (
  t, { post, sql }
) => {
  await sql('alter table plain drop column n')
  t.match(await post('plain', { verb: 'update', data: { m: 5 }, filters: { id: 1 } }), {
    status: 200, json: { data: { updated: 1 } }
  })
})

await testOwn('a column that the account may only write is not confirmed', async (t, { url, sql, engine }) => {
  const { hostname, port, pathname } = new URL(url)
  const database = pathname.slice(1)
  const user = `w${database.slice(-20)}`
  await sql(`create user '${user}'@'%' identified by 'writer'`)
  try {
    await sql(`grant select (id, m), insert (id, n), update (n), delete on \`${database}\`.written to '${user}'@'%'`)
    const { post } = await startService(t, `mysql://${user}:writer@${hostname}:${port}/${database}`)
    t.match(await post('written', { verb: 'select', columns: ['id'], filters: { m: 1 } }), {
      status: 200, json: { data: { rows: [{ id: 1 }] } }
    }, engine)
    t.match(await post('written', { verb: 'update', data: { n: 5 }, filters: { id: 1 } }), { status: 200 })
  } finally {
    await sql(`drop user '${user}'@'%'`)
  }
})

await testOwn('within that second an integer is not equal to a text either', async (t, { post, sql }) => {
  const bodies = [
    { verb: 'delete', filters: { n: 0 } }, { verb: 'delete', filters: { n: [0, 5] } },
    { verb: 'update', data: { m: 9 }, filters: { n: 0 } }, { verb: 'select', columns: ['id'], filters: { n: [0] } }
  ]
  for (const body of bodies) t.equal((await post('lately', body)).status, 200, 'the confirmation is valid for a second')
  for (const statement of becomesText('lately')) await sql(statement)
  const answers = []
  for (const body of bodies) answers.push((await post('lately', body)).status)
  t.same(
    await sql('select id, n, m from lately order by id'), expected.map((row) => ({ ...row, m: row.id })),
    `nothing was changed (${answers.join()})`
  )
})

await testOwn('within that second the numbers of TINYINT(4) and YEAR are not equal to a text either', async (
  t, { post, sql }
) => {
  for (const column of ['small', 'year']) {
    const bodies = [{ [column]: 0 }, { [column]: [0, 0] }].map((filters) => ({ verb: 'delete', filters }))
    for (const body of bodies) {
      t.equal((await post('small', body)).status, 200, 'the confirmation is valid for a second')
    }
    await sql(`alter table small modify ${column} varchar(20) null`)
    await sql(`insert into small (id, ${column}) values (1, 'abc')`)
    for (const body of bodies) await post('small', body)
    t.match(await sql('select id from small'), [{ id: 1 }], `${column}: nothing was deleted`)
    await sql('delete from small')
  }
})

const moved: Array<[was: string, is: string, value: string, shown: unknown]> = [
  ['varchar(20) null', 'int null', '7', 7], ['int null', 'int(8) zerofill null', '42', 42], [
    'int null', 'year null', '0', 0
  ], ['int null', 'decimal(10,2) null', '42', '42.00'], ['decimal(10,2) null', 'varchar(20) null', "'a\"b'", 'a"b'],
  ['varchar(20) null', 'varbinary(20) null', "'abc'", 'YWJj'], [
    'varbinary(20) null', 'varchar(20) null', "'abc'", 'abc'
  ], ['datetime null', 'timestamp null', "'2026-01-02 03:04:05'", '2026-01-02T03:04:05Z'],
  ['datetime null', 'varchar(20) null', "'a\"'", 'a"'], ['date null', 'varchar(20) null', "'a\"'", 'a"'],
  ['int null', 'json null', "'[1]'", [1]], ["enum('a','b') null", "set('a','b') null", "'a,b'", ['a', 'b']],
  ['bit(1) null', 'bit(3) null', '5', '101'], ['double null', 'varchar(20) null', "'}'", '}'], [
    'text null', 'point null', 'point(1,2)', { type: 'Point', coordinates: [1, 2] }
  ], ['int null', 'double null', '1.5', 1.5]
]

await testOwn('a column whose type has changed is read with its new type', async (
  t, { post, sql, server, engine }
) => {
  await sql("set session sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00'")
  for (const [was, is, value, shown] of moved) {
    await sql(`alter table moved add column c ${was}`)
    await server.rows.refresh()
    t.equal((await post('moved', { verb: 'select' })).status, 200)
    await sql(`alter table moved modify c ${is}`)
    await sql(`insert into moved values (1, ${value})`)
    const { json } = await post('moved', { verb: 'select' })
    t.strictSame(json.data.rows, [{ id: 1, c: shown }], `${was} to ${is} (${engine})`)
    await sql('delete from moved')
    await sql('alter table moved drop column c')
  }
})

/**
 * What an ALTER changes of a table of rows 1 and 2; the rows that are added then; and a request, with its answer by the
 * new definitions. `refused`: by the former ones, so that another request must come first.
 */
const redefined: Array<{
  was: string, change: string, rows?: string, refused?: true, body: object, data?: object, left?: number[]
}> = [
  {
    was: 'c datetime not null',
    change: 'modify c datetime null',
    rows: '(3, null), (4, null)',
    body: { verb: 'delete', filters: { id: { $gte: 3 }, c: { $null: false } } },
    data: { deleted: 0 },
    left: [1, 2, 3, 4]
  },
  {
    was: 'c datetime not null',
    change: 'modify c datetime null',
    rows: '(3, null)',
    body: { verb: 'delete', filters: { c: null } },
    data: { deleted: 1 },
    left: [1, 2]
  },
  {
    was: 'c datetime not null',
    change: 'modify c datetime null',
    rows: '(3, null)',
    body: { verb: 'select', filters: { c: null }, columns: ['id'] },
    data: { rows: [{ id: 3 }], count: 1 }
  },
  {
    was: 'c varchar(5) not null',
    change: 'modify c varchar(9) not null',
    rows: "(3, 'longer')",
    refused: true,
    body: { verb: 'delete', filters: { c: 'longer' } },
    data: { deleted: 1 },
    left: [1, 2]
  },
  {
    was: 'c decimal(5,2) not null',
    change: 'modify c decimal(7,4) not null',
    rows: '(3, 1.25), (4, 1.2501)',
    refused: true,
    body: { verb: 'delete', filters: { c: { $gte: '1.2501' } } },
    data: { deleted: 1 },
    left: [1, 2, 3]
  },
  {
    was: 'c json not null',
    change: 'modify c longtext not null',
    rows: "(3, 'open'), (4, '\"open\"')",
    body: { verb: 'delete', filters: { c: 'open' } },
    data: { deleted: 1 },
    left: [1, 2, 4]
  },
  {
    was: 'c int not null, unique key u (c)',
    change: 'drop key u',
    refused: true,
    body: { verb: 'insert', data: { id: 1, c: 1 }, onConflict: { key: ['c'] } }
  }
]

await onEachEngine(t, 'a second after a column has another definition, requests are judged by it: NULL, lengths, ' +
  'digits, JSON and keys', { schema: shop, only }, async (t, { post, sql, server }) => {
  const clock = movableClock(t)
  await sql("set session sql_mode = ''")
  for (const { was, change, rows, refused, body, data, left } of redefined) {
    await sql(`create table redefined (id int not null primary key, ${was})`)
    await sql("insert into redefined values (1, '0'), (2, '1')")
    await server.rows.refresh()
    await post('redefined', { verb: 'select', filters: { id: 1 } })
    await sql(`alter table redefined ${change}`)
    if (rows !== undefined) await sql(`insert into redefined values ${rows}`)
    clock.pass(1100)
    if (refused === true) await post('redefined', { verb: 'select', filters: { id: 1 } })
    const why = `${was}: ${change}`
    if (data === undefined) t.equal((await untilStatus(400, () => post('redefined', body))).status, 400, why)
    else t.match((await post('redefined', body)).json.data, data, why)
    if (left !== undefined) t.same((await sql('select id from redefined order by id')).map(({ id }) => id), left, why)
    await sql('drop table redefined')
  }
})

await onEachEngine(t, 'a FLOAT that has become text is confirmed once a second, because selects use a cast', {
  schema: () => [
    'create table floats (id int not null primary key, f float null)', 'insert into floats values (1, 1.5)'
  ],
  only
}, async (t, { post, sql }) => {
  const clock = movableClock(t)
  t.same((await post('floats', { verb: 'select' })).json.data.rows, [{ id: 1, f: 1.5 }])
  await sql('alter table floats modify f varchar(20) null')
  await sql("update floats set f = 'abc'")
  clock.pass(1001)
  t.same((await post('floats', { verb: 'select' })).json.data.rows, [{ id: 1, f: 'abc' }])
})

await onEachEngine(t, 'selects from a view with any kind of expression are read as information_schema describes them', {
  schema: () => [
    `create table base (i int, s varchar(20), d decimal(10,2), e enum('a'), t datetime, f double, b blob, r float,
      y year, x text, j json)`,
    "insert into base values (1, 'a', 1.5, 'a', '2026-01-02 03:04:05', 1.5, 'b', 1.5, 2026, 'x', '[1]')",
    `create view views as select i, s, d, e, t, f, b, r, y, x, j, 1 as one, i + 1.5 as sum, i / 3 as quotient,
      concat(s, s) as pair, s is null as missing, now() as moment, curdate() as day, null as nothing, i > 3 as more,
      year(t) as part, hex(b) as digits, r * 2 as twice, date_format(t, '%Y') as year, cast(i as unsigned) as positive,
      repeat(x, 3) as thrice, floor(d) as low, point(1, 2) as place, unhex('41') as bytes, sec_to_time(i) as duration,
      i & 1 as bit, e + 0 as number, ifnull(j, 1) as some, ifnull(r, 0) as ratio, x'41' as a from base`,
    'create view grouped as select count(*) as n, sum(i) as total, max(e) as e, max(t) as t, max(y) as y, ' +
    'group_concat(s) as list, avg(f) as mean, max(b) as b, max(j) as j, max(r) as r from base'
  ],
  only
}, async (t, { post, proxy }) => {
  for (const view of ['views', 'grouped']) {
    proxy?.statements.splice(0)
    const { status, json } = await post(view, { verb: 'select' })
    t.equal(status, 200)
    t.equal(json.data.count, 1)
    t.notOk(proxy?.statements.some((sql) => sql.includes('information_schema')), 'the catalog is not read again')
  }
})

await onEachEngine(t, 'a write whose columns cannot be confirmed in time changes nothing', {
  schema: () => numbers('things'),
  only,
  database: { statementTimeout: 300 }
}, async (t, { post, sql }) => {
  await sql('lock tables things write')
  const { status, json } = await post('things', { verb: 'delete', filters: { n: 1 } })
  t.equal(status, 504)
  t.equal(json.error.code, 'QUERY_TIMEOUT')
  await sql('unlock tables')
  t.equal((await sql('select id from things')).length, 2, 'nothing was changed')
  t.same((await post('things', { verb: 'delete', filters: { n: 1 } })).json.data, { deleted: 1 })
})

const rebuilt = [
  'create table codes (id integer primary key, code int)', 'insert into codes values (1, 1)',
  'create table keyed (id integer primary key, v int)', 'insert into keyed values (1, 1), (2, 2)'
]

await onEachEngine(t, 'a table that another program has rebuilt is known at once, with its ' +
  'types and its keys', { schema: () => rebuilt, only: ['sqlite'] }, async (t, { post, sql }) => {
  t.match(await post('codes', { verb: 'select', filters: { code: 1 } }), { json: { data: { count: 1 } } })
  const rebuild = async (table: string, columns: string): Promise<void> => {
    for (const statement of [
      `create table other ${columns}`, `insert into other select * from ${table}`, `drop table ${table}`,
      `alter table other rename to ${table}`
    ]) await sql(statement)
  }
  await rebuild('codes', '(id integer primary key, code text)')
  await sql("insert into codes values (3, '007'), (4, '7')")
  t.match(await post('codes', { verb: 'insert', data: { id: 5, code: '0042' } }), { status: 200 })
  t.match(await post('codes', { verb: 'select', filters: { code: '007' }, columns: ['id'] }), {
    status: 200, json: { data: { rows: [{ id: 3 }] } }
  })
  t.match(await post('codes', { verb: 'delete', filters: { code: '007' } }), {
    status: 200, json: { data: { deleted: 1 } }
  })
  t.same(await sql('select id, code from codes order by id'), [
    { id: 1, code: '1' }, { id: 4, code: '7' }, { id: 5, code: '0042' }
  ])
  await rebuild('keyed', '(id int, v int)')
  const { status } = await post('keyed', { verb: 'select', after: null })
  t.equal(status, 503, 'until a second reading has confirmed that the key is gone')
  await untilStatus(422, () => post('keyed', { verb: 'select', after: null }))
})

const keyed = ['upserted', 'returned'].flatMap((name) => [
  `create table ${name} (id integer not null primary key, a int not null, b int not null, v int null)`,
  `create unique index u_${name} on ${name} (a, b)`, `create index w_${name} on ${name} (a)`,
  `insert into ${name} values (1, 1, 1, 1)`
])
const dropKey = (name: string, engine: string): string =>
  `drop index u_${name}${engine === 'sqlite' ? '' : ` on ${name}`}`
let nextId = 100
const upsertOf = (rest: object) => ({
  verb: 'insert', data: { id: nextId++, a: 1, b: 1, v: 2 }, onConflict: { key: ['a', 'b'], set: ['v'] }, ...rest
})

await onEachEngine(t, 'a second after a unique index is dropped, an upsert by it writes nothing, also where another ' +
  'index has its first column', { schema: () => keyed }, async (t, { post, operate, sql, engine, server }) => {
  const clock = movableClock(t)
  const forms = [{}, { outcomes: true }, { returning: ['id'] }, { onConflict: { key: ['a', 'b'], set: [] } }]
  for (const form of [...forms, 'operations', 'list'] as const) {
    const send = async () => form === 'operations'
      ? await operate([{ table: 'upserted', ...upsertOf({}) }])
      : await post('upserted', form === 'list' ? { ...upsertOf({}), data: [upsertOf({}).data] } : upsertOf(form))
    await server.rows.refresh()
    t.match(await send(), { status: 200 })
    await sql(dropKey('upserted', engine))
    clock.pass(1100)
    t.match((await untilStatus(400, send)).json.error, { code: 'INVALID_BODY' }, JSON.stringify(form))
    t.same(await sql('select id from upserted'), [{ id: 1 }], JSON.stringify(form))
    await sql('create unique index u_upserted on upserted (a, b)')
  }
})

await onEachEngine(t, 'within that second an upsert returns no other row than it has written', {
  schema: () => keyed
}, async (t, { post, sql, engine }) => {
  const returning = { returning: ['id', 'v'] }
  t.match((await post('returned', upsertOf(returning))).json.data, { rows: [{ id: 1, v: 2 }] })
  await sql(dropKey('returned', engine))
  t.match((await post('returned', upsertOf(returning))).json.error?.code, /^(DATABASE_UNAVAILABLE|INVALID_BODY)$/)
  t.same(await sql('select id from returned'), [{ id: 1 }], 'nothing was written')
  t.match((await untilStatus(400, () => post('returned', upsertOf(returning)))).json.error, { code: 'INVALID_BODY' })
})
