/**
 * `expect`: the number of rows that a request must match, and the setting `limits.changed`. `dryRun`: the same answer,
 * and nothing changed.
 */
import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { type EngineName, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const rows = Array.from({ length: 20 }, (_, id) => `(${id}, ${id % 2}, 0)`).join()
const servers = ['mariadb', 'mysql'] as const
const enginesOf = (engine: EngineName): string[] => engine === 'mariadb'
  ? ['MyISAM', 'MEMORY', 'Aria']
  : ['MyISAM', 'MEMORY']
const partsOf = (name: string, end = ''): string[] => [
  `create table ${name} (id int not null primary key, kind int not null, n int not null)${end}`,
  `insert into ${name} values ${rows}`
]

const self = (name: string, action: string): string =>
  `parent int null, foreign key (parent) references ${name} (id) on delete ${action}`

const selves = (engine: EngineName): string[] => [
  ...[['cascades', 'cascade'], ['nulls', 'set null']].flatMap(([name = '', action = '']) => [
    `create table ${name} (id int not null primary key, v varchar(9), ${self(name, action)})`,
    `insert into ${name} values (1, 'a', null), (2, 'a', 1), (3, 'a', 1), (4, 'b', null)`
  ]),
  'create table teams (id int not null primary key, head int null)',
  `create table members (id int not null primary key, team int null,
    foreign key (team) references teams (id) on delete cascade)`,
  ...engine === 'sqlite' ? [] : ['alter table teams add foreign key (head) references members (id) on delete cascade'],
  'insert into teams values (1, null)', 'insert into members values (1, 1)', 'insert into teams values (2, 1)'
]

/** The last tables have no transactions. */
const schema: Schema = (engine) => [
  ...partsOf('parts'),
  `create table tree (id int not null primary key, ${self('tree', 'cascade')})`,
  'insert into tree values (1, null), (2, 1), (3, 2)',
  ...selves(engine),
  ...engine === 'sqlite' ? [] : enginesOf(engine).flatMap((name) => partsOf(name, ` engine = ${name}`))
]

/** expect -> whether it holds for ten rows. */
const expectations: Array<[expect: unknown, holds: boolean]> = [
  [10, true], [9, false], [11, false], [0, false],
  [{ $eq: 10 }, true], [{ $eq: 9 }, false], [{ $gt: 9 }, true], [{ $gt: 10 }, false], [{ $gte: 10 }, true],
  [{ $gte: 11 }, false],
  [{ $lt: 11 }, true], [{ $lt: 10 }, false], [{ $lte: 10 }, true], [{ $lte: 9 }, false], [{ $lt: 0 }, false],
  [{ $gte: 1, $lte: 10 }, true], [{ $gte: 1, $lt: 10 }, false], [{ $gt: 10, $lt: 10 }, false],
  [{ $eq: 10, $gte: 2 }, true], [{ $lte: 9007199254740991 }, true]
]

/**
 * Each test has tables of its own. On the servers a trigger writes to a table without transactions, on SQLite a trigger
 * keeps a row.
 */
const triggered: Schema = (engine) => engine === 'sqlite'
  ? [
      'create table kept (id integer primary key, v text)', "insert into kept values (1, 'x'), (2, 'keep'), (3, 'y')",
      "create trigger keep before delete on kept when old.v = 'keep' begin select raise(ignore); end"
    ]
  : [
      'create table log_myisam (id int null) engine = MyISAM',
      'create table logged (id int not null primary key, n int null)',
      'insert into logged values (1, 1)',
      'create trigger log_insert after insert on logged for each row insert into log_myisam values (new.id)',
      'create trigger log_update after update on logged for each row insert into log_myisam values (new.id)',
      ...partsOf('watched'),
      'create table touched (id int not null) engine = MyISAM',
      'create trigger touch after update on watched for each row insert into touched values (new.id)'
    ]

const test = sharedOnEachEngine(t, { schema })
const testOwn = sharedOnEachEngine(t, { schema: triggered, keepsRows: true })
const testShop = sharedOnEachEngine(t, { schema: shop })

await test('an update is done if the number of rows that it matches is as expected, else ' +
  'nothing is changed', async (t, { post, sql }) => {
  const sum = async () => Number((await sql('select sum(n) as n from parts'))[0].n)
  let done = 0
  for (const [expect, holds] of expectations) {
    for (const returning of [undefined, ['id', 'n']]) {
      const answer = await post('parts', {
        verb: 'update', data: { n: { $inc: 1 } }, filters: { kind: 1 }, expect, returning
      })
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
  t.same((await post('parts', { ...update, expect: { $lte: 4 }, data: { kind: { $inc: 0 } } })).json.data, {
    updated: 0
  })
  isRefusal(t, await post('parts', { ...update, expect: 0 }), { status: 412, code: 'EXPECTATION_FAILED', why: 'none' })
})

await test('the message tells how many rows there are, and does not count beyond the bound', async (
  t, { post, operate }
) => {
  const counted = (there: string, expected: string): string =>
    `"expect" does not hold: there ${there} in "parts" for these filters, and ${expected}`
  for (const [filters, expect, message] of [
    [{ id: 99 }, 1, counted('are 0 rows', '1 is expected')],
    [{ id: 1 }, 2, counted('is 1 row', '2 are expected')],
    [{ id: [1, 2] }, { $gte: 5 }, counted('are 2 rows', 'at least 5 are expected')],
    [{ kind: 1 }, { $lte: 1 }, counted('is more than 1 row', 'at most 1 is expected')],
    [{ kind: 1 }, 3, counted('are more than 3 rows', '3 are expected')],
    [{ id: [1, 2] }, { $gt: 2, $lt: 5 }, counted('are 2 rows', '3 to 4 are expected')],
    [{ id: 1 }, 0, counted('are more than 0 rows', '0 are expected')],
    [{ id: 1 }, { $gt: 5, $lt: 5 }, counted('is 1 row', 'no number is within its bounds')]
  ] as const) t.equal((await post('parts', { verb: 'delete', filters, expect })).json.error.message, message)
  t.match((await operate([{ table: 'parts', verb: 'select', filters: { id: 99 }, expect: 1 }])).json.error, {
    message: counted('are 0 rows', '1 is expected'), details: [{ path: '/operations/0/expect' }]
  })
})

await test('a delete is done if the number of rows that it matches is as expected, else ' +
  'nothing is deleted', async (t, { post, sql }) => {
  const count = async () => Number((await sql('select count(*) as n from parts'))[0].n)
  for (const [expect] of expectations.filter(([, holds]) => !holds)) {
    for (const returning of [undefined, '*']) {
      isRefusal(t, await post('parts', { verb: 'delete', filters: { kind: 1 }, expect, returning }), {
        status: 412, code: 'EXPECTATION_FAILED', why: JSON.stringify(expect)
      })
      t.equal(await count(), 20)
    }
  }
  t.same((await post('parts', { verb: 'delete', filters: { kind: 1 }, expect: 10 })).json.data, { deleted: 10 })
  t.same((await post('parts', { verb: 'delete', filters: { kind: 1 }, expect: 0 })).json.data, { deleted: 0 })
  t.equal((await post('parts', {
    verb: 'delete', filters: { kind: 0 }, expect: { $lt: 11, $gt: 9 }, returning: ['id']
  })).json.data.rows.length, 10)
})

await test('an expectation is an optimistic lock: of several clients at the same ' +
  'time one succeeds', async (t, { post, sql }) => {
  const answers = await Promise.all(Array.from({ length: 8 }, (_, client) => post('parts', {
    verb: 'update', data: { kind: 100 + client, n: { $inc: 1 } }, filters: { id: 5, n: 0 }, expect: 1
  })))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 7 }, () => 412)])
  t.equal((await sql('select n from parts where id = 5'))[0].n, 1)
})

await testOwn('with an upper bound no more than one row beyond it is changed', async (t, { post, sql }) => {
  // the trigger tells, although its table without transactions makes the outcome unknown
  isRefusal(
    t, await post('watched', { verb: 'update', data: { n: 5 }, filters: { id: { $gte: 0 } }, expect: { $lte: 3 } }),
    { status: 502, code: 'OUTCOME_UNKNOWN', why: 'four rows' }
  )
  t.equal((await sql('select id from touched')).length, 4)
  t.equal((await sql('select id from watched where n = 5')).length, 0)
}, servers)

await test('on a select the expectation is held against count', async (t, { post }) => {
  for (const [expect, holds] of expectations) {
    const answer = await post('parts', { verb: 'select', filters: { kind: 1 }, expect })
    if (holds) t.equal(answer.json.data.count, 10, JSON.stringify(expect))
    else isRefusal(t, answer, { status: 412, code: 'EXPECTATION_FAILED', why: JSON.stringify(expect) })
  }
  t.equal(
    (await post('parts', { verb: 'select', limit: 5, expect: 5 })).json.data.count, 5,
    'rows of the answer, not of the table'
  )
  t.match((await post('parts', { verb: 'select', filters: { id: 1 }, expect: 1, total: true })).json.data, {
    count: 1, total: 1
  })
  isRefusal(t, await post('parts', { verb: 'select', filters: { id: 99 }, expect: { $gte: 1 }, after: null }), {
    status: 412, code: 'EXPECTATION_FAILED', why: 'a page'
  })
})

const testLimited = sharedOnEachEngine(t, { schema, options: { limits: { changed: 2 } } })

await testLimited('limits.changed is the most rows that an update or delete may match', async (t, { post, sql }) => {
  const before = await sql('select * from parts order by id')
  for (const body of [{ verb: 'update', data: { n: 1 } }, { verb: 'delete' }]) {
    for (const more of [
      {}, { returning: ['id'] }, { expect: { $gte: 1 } }, { expect: 3 }, { expect: { $lte: 5 } }, { dryRun: true }
    ]) {
      const answer = await post('parts', { ...body, ...more, filters: { id: { $gte: 0 } } })
      isRefusal(t, answer, { status: 422, code: 'RESULT_TOO_LARGE', why: JSON.stringify({ ...body, ...more }) })
      t.match(answer.json.error.message, /more than 2 rows/)
    }
    isRefusal(t, await post('parts', { ...body, filters: { id: { $gte: 0 } }, expect: 1 }), {
      status: 412, code: 'EXPECTATION_FAILED', why: 'fewer are expected'
    })
    isRefusal(t, await post('parts', { ...body, filters: { id: { $gte: 0 } }, expect: 2 }), {
      status: 412, code: 'EXPECTATION_FAILED', why: 'as many are expected'
    })
  }
  t.same(await sql('select * from parts order by id'), before)
  t.same((await post('parts', { verb: 'update', data: { n: 1 }, filters: { id: [1, 2] } })).json.data, { updated: 2 })
  t.same((await post('parts', { verb: 'delete', filters: { id: [1, 2] } })).json.data, { deleted: 2 })
  t.equal((await post('parts', { verb: 'select' })).json.data.count, 18, 'a select is not affected')
})

await test('a delete returns rows that a foreign key of the table to itself ' +
  'has deleted as well', async (t, { post, sql }) => {
  const { rows, deleted } = (await post('tree', {
    verb: 'delete', filters: { id: [1, 2, 3] }, returning: ['id']
  })).json.data
  t.same(rows.map(({ id }: { id: number }) => id).sort(), [1, 2, 3])
  t.ok(deleted >= 1 && deleted <= 3)
  t.equal((await sql('select * from tree')).length, 0)
})

await test('rows that foreign keys of the table delete or change count for ' +
  'what a delete expects', async (t, { post, sql, engine }) => {
  const cases: Array<[table: string, filters: object, matches: number]> = [
    ['cascades', { v: 'a' }, 3], ['nulls', { $or: [{ id: 1 }, { parent: 1 }] }, 3],
    ...engine === 'sqlite' ? [] : [['teams', { id: [1, 2] }, 2] as [string, object, number]]
  ]
  for (const [table, filters, matches] of cases) {
    const before = await sql(`select * from ${table} order by id`)
    const send = (expect: unknown, rest: object = {}) => post(table, { verb: 'delete', filters, expect, ...rest })
    for (const expect of [1, { $lte: matches - 1 }, { $gt: matches }]) {
      isRefusal(t, await send(expect), {
        status: 412, code: 'EXPECTATION_FAILED', why: `${table} ${JSON.stringify(expect)}`
      })
    }
    for (const expect of [matches, { $gte: matches }, { $lte: matches }]) {
      t.equal((await send(expect, { dryRun: true })).status, 200, `${table} ${JSON.stringify(expect)}`)
    }
    t.same(await sql(`select * from ${table} order by id`), before)
  }
})

await test('rows that match the filters only once a foreign key has set a column to NULL ' +
  'are bounded by what a delete expects, and returned', async (t, { post, sql, engine }) => {
  const before = await sql('select * from nulls order by id')
  const remove = (rest: object) => post('nulls', { verb: 'delete', filters: { parent: null, v: 'a' }, ...rest })
  // SQLite finds the rows first
  const isExact = engine === 'sqlite'
  const plain = await remove({ dryRun: true })
  t.same(plain.json.data.deleted, isExact ? 1 : 3, plain.text)
  for (const expect of [1, { $lte: 1 }, { $lte: 2 }]) {
    const answer = await remove({ expect, dryRun: true })
    if (isExact) t.same(answer.json.data.deleted, 1)
    else isRefusal(t, answer, { status: 412, code: 'EXPECTATION_FAILED', why: JSON.stringify(expect) })
  }
  for (const expect of [{ $gte: 1 }, { $lte: 3 }]) {
    t.same((await remove({ expect, dryRun: true })).json.data.deleted, isExact ? 1 : 3, JSON.stringify(expect))
  }
  t.match(await remove({ expect: 0 }), { status: 412 })
  const returned = await remove({ returning: ['id'], dryRun: true })
  if (isExact) t.same(returned.json.data.rows, [{ id: 1 }])
  else isRefusal(t, returned, { status: 422, code: 'NOT_SUPPORTED', why: 'other rows would be deleted' })
  t.same(await sql('select * from nulls order by id'), before)
})

await testLimited('rows that match the filters only once a foreign key has set a column to NULL count ' +
  'for limits.changed', async (t, { post, sql, engine }) => {
  const answer = await post('nulls', { verb: 'delete', filters: { parent: null, v: 'a' } })
  if (engine === 'sqlite') t.match(answer.json.data, { deleted: 1 })
  else {
    isRefusal(t, answer, { status: 422, code: 'RESULT_TOO_LARGE', why: 'three rows' })
    t.equal((await sql('select * from nulls')).length, 4)
  }
})

await testLimited('rows that foreign keys of the table delete or change count ' +
  'for limits.changed', async (t, { post, sql }) => {
  isRefusal(t, await post('cascades', { verb: 'delete', filters: { v: 'a' } }), {
    status: 422, code: 'RESULT_TOO_LARGE', why: 'three rows'
  })
  t.equal((await sql('select * from cascades')).length, 4)
  t.equal((await post('cascades', { verb: 'delete', filters: { id: [3, 4] } })).json.data.deleted, 2)
})

await test('a delete does not return rows that it has kept', async (t, { engine, post, sql }) => {
  const remove = async (table: string, filters: object) =>
    await post(table, { verb: 'delete', filters, returning: ['id'] })
  const before = await sql('select id from nulls order by id')
  const answer = await remove('nulls', { $or: [{ id: 1 }, { parent: 1 }] })
  const after = await sql('select id from nulls order by id')
  if (answer.status === 200) {
    t.same(
      answer.json.data.rows.map(({ id }: { id: number }) => id).sort(),
      before.map(({ id }) => id).filter((id) => !after.some((row) => row.id === id))
    )
  } else {
    isRefusal(t, answer, { status: 422, code: 'NOT_SUPPORTED', why: engine })
    t.same(after, before)
  }
  t.match((await remove('cascades', { v: 'a' })).json.data.rows, { length: 3 })
})

await testOwn('a delete does not return rows that a trigger has kept', async (t, { post, sql }) => {
  const remove = async (id: unknown) => await post('kept', { verb: 'delete', filters: { id }, returning: ['id'] })
  t.same((await remove(2)).json.data, { deleted: 0, rows: [] })
  isRefusal(t, await remove([1, 2]), { status: 422, code: 'NOT_SUPPORTED', why: 'one is kept' })
  t.equal((await sql('select * from kept')).length, 3)
  t.same((await remove([1, 3])).json.data, { deleted: 2, rows: [{ id: 1 }, { id: 3 }] })
}, ['sqlite'])

await test('in a table without transactions rows are counted ' +
  'before they are changed', async (t, { post, sql, engine }) => {
  for (const name of enginesOf(engine)) {
    const before = await sql(`select * from ${name} order by id`)
    for (const expect of [9, { $lt: 10 }, { $gt: 10 }]) {
      isRefusal(t, await post(name, { verb: 'update', data: { n: 1 }, filters: { kind: 1 }, expect }), {
        status: 412, code: 'EXPECTATION_FAILED', why: name
      })
      isRefusal(t, await post(name, { verb: 'delete', filters: { kind: 1 }, expect, returning: '*' }), {
        status: 412, code: 'EXPECTATION_FAILED', why: name
      })
    }
    t.same(await sql(`select * from ${name} order by id`), before)
    t.same((await post(name, { verb: 'update', data: { n: 1 }, filters: { kind: 1 }, expect: 10 })).json.data, {
      updated: 10
    })
    t.equal((await post(name, {
      verb: 'update', data: { n: 2 }, filters: { kind: 1 }, expect: 10, returning: '*'
    })).json.data.rows.length, 10)
    t.same((await post(name, { verb: 'delete', filters: { kind: 1 }, expect: { $gte: 5 } })).json.data, { deleted: 10 })
  }
}, servers)

await testShop('a dry run has the answer of the write with "dryRun", and changes nothing', async (t, { post, sql }) => {
  const before = await sql('select * from order_items order by line')
  const customers = await sql('select * from customers order by id')
  const writes: Array<[table: string, body: object, data: object]> = [
    ['customers', { verb: 'insert', data: { id: 50, email: 'new@example.com', name: 'New' } }, { inserted: 1, id: 50 }],
    [
      'customers',
      { verb: 'insert', data: { id: 50, email: 'new@example.com', name: 'New' }, returning: ['login', 'credit'] },
      { rows: [{ login: 'NEW@EXAMPLE.COM', credit: '0.00' }], inserted: 1, id: 50 }
    ],
    ['customers', { verb: 'update', data: { name: 'x' }, filters: { status: 'new' } }, { updated: 2 }],
    ['customers', { verb: 'update', data: { name: 'Ada' }, filters: { id: 1 } }, { updated: 0 }],
    [
      'customers',
      { verb: 'update', data: { credit: { $inc: 1 } }, filters: { id: 1 }, returning: ['credit'], expect: 1 },
      { rows: [{ credit: '13.50' }], updated: 1 }
    ],
    ['order_items', { verb: 'delete', filters: { order_id: 1 } }, { deleted: 2 }],
    [
      'order_items',
      { verb: 'delete', filters: { order_id: 1, line: 2 }, returning: ['product_sku'], expect: { $gte: 1 } },
      { rows: [{ product_sku: 'CUP-1' }], deleted: 1 }
    ]
  ]
  for (const [table, body, data] of writes) {
    t.strictSame(
      (await post(table, { ...body, dryRun: true })).json, { success: true, data: { ...data, dryRun: true } },
      JSON.stringify(body)
    )
    t.same(await sql('select * from order_items order by line'), before)
    t.same(await sql('select * from customers order by id'), customers)
  }
  t.strictSame((await post('customers', {
    verb: 'update', data: { name: 'x' }, filters: { status: 'new' }, dryRun: false
  })).json.data, { updated: 2 }, 'false is as if it were left out')
})

await testShop('a dry run is refused as the write would be', async (t, { post, sql }) => {
  const before = await sql('select * from customers order by id')
  const cases: Array<[body: object, status: number, code: string]> = [
    [{ verb: 'insert', data: { email: 'ada@example.com', name: 'x' } }, 409, 'UNIQUE_VIOLATION'],
    [{ verb: 'insert', data: { email: 'x@example.com' } }, 400, 'MISSING_COLUMN'],
    [{ verb: 'update', data: { credit: -200 }, filters: { id: 1 } }, 422, 'CHECK_VIOLATION'],
    [{ verb: 'update', data: { name: 'x' }, filters: { id: 1 }, expect: 2 }, 412, 'EXPECTATION_FAILED'],
    [{ verb: 'delete', filters: { id: 1 } }, 409, 'FOREIGN_KEY_VIOLATION'],
    [{ verb: 'delete', filters: {} }, 400, 'FILTERS_REQUIRED']
  ]
  for (const [body, status, code] of cases) {
    isRefusal(t, await post('customers', { ...body, dryRun: true }), { status, code, why: JSON.stringify(body) })
  }
  t.same(await sql('select * from customers order by id'), before)
})

await testShop('AUTO_INCREMENT may leave a gap, and no id is given to two rows', async (t, { post, sql }) => {
  const insert = { verb: 'insert', data: { level: 5 } }
  const { json } = await post('settings', { ...insert, dryRun: true })
  t.same(json.data, { inserted: 1, id: 1, dryRun: true })
  t.equal((await sql('select * from settings')).length, 0)
  t.ok((await post('settings', insert)).json.data.id >= 1)
})

await test('a dry run of a table without transactions is not supported', async (t, { post, engine, statements }) => {
  statements()
  for (const name of enginesOf(engine)) {
    for (const body of [
      { verb: 'insert', data: { id: 50, kind: 1, n: 1 } }, { verb: 'update', data: { n: 1 }, filters: { id: 1 } },
      { verb: 'delete', filters: { id: 1 } }
    ]) {
      const answer = await post(name, { ...body, dryRun: true })
      isRefusal(t, answer, { status: 422, code: 'NOT_SUPPORTED', why: `${name} ${body.verb}` })
      const message = `the engine of table "${name}" has no transactions, so that nothing can be undone`
      t.same([answer.json.error.message, answer.json.error.details], [message, [{ path: '/dryRun', message }]])
    }
    isRefusal(t, await post(name, { verb: 'insert', data: { nope: 1 }, dryRun: true }), {
      status: 400, code: 'COLUMN_NOT_FOUND', why: 'errors of the request come first'
    })
  }
  t.same(statements(), [])
}, servers)

await testOwn('where a trigger has written to a table without transactions, the ' +
  'outcome is unknown', async (t, { post, sql }) => {
  for (const body of [{ verb: 'insert', data: { id: 2 } }, { verb: 'update', data: { n: 2 }, filters: { id: 1 } }, {
    verb: 'update', data: { n: 2 }, filters: { id: 1 }, returning: '*'
  }]) {
    const answer = await post('logged', { ...body, dryRun: true })
    isRefusal(t, answer, { status: 502, code: 'OUTCOME_UNKNOWN', why: JSON.stringify(body) })
    t.equal(answer.headers['retry-after'], undefined)
  }
  t.match(await sql('select * from logged'), [{ id: 1, n: 1 }])
  t.equal((await sql('select * from log_myisam')).length, 3)
  isRefusal(t, await post('logged', { verb: 'update', data: { n: 5 }, filters: { id: 1 }, expect: { $gte: 2 } }), {
    status: 502, code: 'OUTCOME_UNKNOWN', why: 'an expectation that does not hold'
  })
}, servers)
