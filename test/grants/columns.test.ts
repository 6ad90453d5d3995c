/**
 * Columns of a table: what a grant does not see does not exist, for documents neither. Writes to columns that it does
 * not see: the answer does not tell what was stored. What is refused before a statement is in
 * test/plan/bodies/grants.txt.
 */
import t from 'tap'
import { numberedId } from '../support/definitions.ts'
import { get } from '../support/documents.ts'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { DOCUMENTED, outcomeOf, tenants, tokenFor } from './support.ts'

const schema: Schema = (engine) => [
  `create table people (${numberedId(engine)}, name varchar(20) not null, email varchar(20) unique,
    wage int not null default 100, level int, boss int,
    constraint fair check (level < wage), foreign key (boss) references people (id))`,
  "insert into people (id, name, email, wage, level) values (1, 'Ann', 'a@x', 50, 1), (2, 'Bob', 'b@x', 70, 2)"
]

const tokens = [
  tokenFor('clerk', {
    people: {
      columns: {
        select: ['level', 'id', 'name'],
        insert: ['name', 'email', 'level', 'boss', 'wage'],
        update: ['level', 'wage']
      }
    }
  }),
  tokenFor('same', { people: { columns: { select: ['id', 'name', 'level'] } } }),
  tokenFor('form', { people: { columns: { insert: ['name', 'email'] } } }),
  tokenFor('hidden', { people: { columns: { select: ['level'], insert: ['level', 'name', 'email'] } } })
]

const test = sharedOnEachEngine(t, { schema, tokens })

await test('a column that a grant does not see does not exist for it', async (t, { post, sql }) => {
  const send = async (token: string, body: object) => outcomeOf(await post('people', body, { token }))
  const before = await sql('select * from people order by id')
  t.same(
    await send('clerk', { verb: 'select', filters: { id: 1 } }), { rows: [{ id: 1, name: 'Ann', level: 1 }], count: 1 },
    'in the order of the table'
  )
  t.same(await send('same', { verb: 'select', filters: { id: 1 } }), {
    rows: [{ id: 1, name: 'Ann', level: 1 }], count: 1
  })

  const insert = (data: object) => ({ verb: 'insert', data })
  const update = (data: object) => ({ verb: 'update', data, filters: { id: 1 } })
  const conflict = [409, 'UNIQUE_VIOLATION']
  t.same(await send('hidden', insert({ name: 'x', email: 'a@x' })), conflict, 'a key with a hidden column')
  t.same(await send('clerk', insert({ name: 'x', email: 'a@x' })), conflict, 'also if it may be written')
  t.same(await send('hidden', insert({ name: 'x', level: 100 })), [422, 'CHECK_VIOLATION'])
  t.same(await send('clerk', insert({ name: 'x', boss: 99 })), [409, 'FOREIGN_KEY_VIOLATION'])
  t.same(await send('clerk', update({ wage: 1 })), [422, 'CHECK_VIOLATION'])
  t.same(await sql('select * from people order by id'), before)

  t.match(await send('clerk', insert({ name: 'Cat', email: 'c@x', wage: 60, level: 3 })), { inserted: 1, id: Number })
  t.same(await send('hidden', insert({ name: 'Dan' })), { inserted: 1, id: null }, 'an id that is hidden')
  t.same(await send('hidden', insert([{ name: 'Eve' }, { name: 'Fay' }] as object)), { inserted: 2, id: null })
  t.same(await send('form', insert({ name: 'Gus' })), { inserted: 1, id: null })
  t.match(await send('clerk', { ...insert({ name: 'Hal' }), returning: '*' }), {
    inserted: 1, rows: [{ id: Number, name: 'Hal', level: null }]
  })
  t.same(await send('clerk', { ...update({ wage: 55, level: 4 }), returning: '*' }), {
    updated: 1, rows: [{ id: 1, name: 'Ann', level: 4 }]
  })
  t.same((await sql('select wage from people where id = 1')).map(({ wage }) => Number(wage)), [55])
})

const hiddenWritesSchema: Schema = (engine) => [
  `create table people (${numberedId(engine)}, tenant int not null default 7, code varchar(20) unique, note varchar(20),
    secret varchar(20), pin int default 5${engine === 'sqlite'
      ? ''
      : ', stamp timestamp(6) not null default current_timestamp(6) on update current_timestamp(6)'})`,
  `insert into people (id, code, note, secret, pin) values (1, 'a', 'x', 'red', null), (2, 'b', 'x', 'blue', 6),
    (3, 'c', 'y', 'red', 7)`
]

const seen = ['id', 'code', 'note']
const columns = { select: seen, insert: [...seen, 'secret', 'pin'], update: [...seen, 'secret', 'pin'] }
const hiddenWritesTokens = [
  tokenFor('plain', { people: { columns } }),
  tokenFor('tenant', {
    people: {
      columns: { ...columns, insert: [...columns.insert, 'tenant'], update: [...columns.update, 'tenant'] },
      rows: { tenant: 7 }
    }
  }),
  tokenFor('stamped', { people: { columns: { ...columns, select: [...seen, 'stamp'] } } })
]
const byCode = { key: ['code'] }

const testHidden = sharedOnEachEngine(t, { schema: hiddenWritesSchema, tokens: hiddenWritesTokens })

await testHidden('the counts of an update do not tell whether a column that is only ' +
  'written had the value', async (t, { post, operate, sql }) => {
  for (const token of ['plain', 'tenant']) {
    const update = async (data: object, rest: object = {}) =>
      outcomeOf(await post('people', { verb: 'update', filters: { note: 'x' }, data, ...rest }, { token }))
    const before = await sql('select * from people order by id')
    for (const secret of ['red', 'blue', 'other', null]) {
      for (const rest of [{}, { expect: 2 }, { expect: { $gte: 1 } }]) {
        t.same(
          await update({ secret }, { ...rest, dryRun: true }), { updated: 2, dryRun: true },
        `${secret} ${JSON.stringify(rest)}`
        )
      }
      t.same((await update({ secret }, { returning: ['id'], dryRun: true })).updated, 2)
      const operations = [{ table: 'people', verb: 'update', filters: { id: 1 }, data: { secret } }, {
        table: 'people', verb: 'select', columns: ['id'], filters: { id: { $ref: '/0/updated' } }
      }]
      t.same(
        outcomeOf(await operate({ dryRun: true, operations }, { token })),
        { dryRun: true, results: [{ updated: 1 }, { rows: [{ id: 1 }], count: 1 }] }, 'a reference to the count'
      )
    }
    t.same(await sql('select * from people order by id'), before)
    t.same(await update({ note: 'x' }), { updated: 0 }, 'the count of columns that are seen is as before')
    t.same(await update({ note: 'x', secret: 'red' }, { filters: { id: 1 } }), { updated: 1 })
    t.same(await update({ pin: null }, { filters: { id: [1, 99] } }), { updated: 1 })
    t.same(await update({ secret: 'red' }, { filters: { id: 99 } }), { updated: 0 })
    if (token === 'tenant') {
      t.same(await update({ tenant: 7 }), { updated: 0 }, 'the value of a column with an equality rule is known')
    }
  }
})

await testHidden('the counts of an upsert do not tell whether a column that is only ' +
  'written had the value', async (t, { post, sql }) => {
  for (const token of ['plain', 'tenant']) {
    const upsert = async (data: object, set?: unknown, rest: object = {}) => outcomeOf(await post('people', {
      verb: 'insert', data, onConflict: { ...byCode, ...set !== undefined && { set } }, ...rest
    }, { token }))
    const before = await sql('select * from people order by id')
    const updated = { inserted: 0, updated: 1, unchanged: 0, id: 1, dryRun: true }
    for (const secret of ['red', 'other', null]) {
      t.same(await upsert({ code: 'a', secret }, undefined, { dryRun: true }), updated, 'every given column')
      t.same(await upsert({ code: 'a', secret }, ['secret'], { dryRun: true }), updated, 'columns')
      t.same(await upsert({ code: 'a' }, { secret }, { dryRun: true }), updated, 'values')
      t.same(await upsert({ code: 'a', secret }, undefined, { returning: ['id'], dryRun: true }), {
        ...updated, rows: [{ id: 1 }]
      })
      t.same(await upsert(
        [{ code: 'a', secret }, { code: 'new', secret }, { code: 'b', secret: 'blue' }, { code: 'c' }], undefined,
        { dryRun: true }
      ),
      { inserted: 1, updated: 2, unchanged: 1, id: null, dryRun: true },
      'a row that gives the key alone writes nothing')
      t.same(await upsert([{ code: 'a', secret }, { code: 'b' }], { note: 'x', secret }, { dryRun: true }), {
        inserted: 0, updated: 2, unchanged: 0, id: null, dryRun: true
      })
    }
    for (const pin of [null, 5, 6]) {
      t.same(
        await upsert({ code: 'a', pin }, undefined, { dryRun: true }), updated,
        'null over null in a column with a default'
      )
    }
    t.same(await sql('select * from people order by id'), before)
    t.same(
      await upsert({ code: 'a', note: 'x' }), { inserted: 0, updated: 0, unchanged: 1, id: 1 },
      'the counts of columns that are seen are as before'
    )
    t.same(
      await upsert({ code: 'a', secret: 'green' }, []), { inserted: 0, updated: 0, unchanged: 1, id: 1 },
      'nothing is written'
    )
    t.same(await upsert([{ code: 'a', secret: 'red' }, { code: 'b', secret: 'blue' }]), {
      inserted: 0, updated: 2, unchanged: 0, id: null
    })
  }
})

await testHidden('a column with ON UPDATE does not tell whether a column that is only ' +
  'written had the value', async (t, { post, sql }) => {
  await sql("update people set stamp = '2020-01-01'")
  const send = async (body: object) =>
    outcomeOf(await post('people', { dryRun: true, returning: ['stamp'], ...body }, { token: 'stamped' }))
  const isKept = async (body: object): Promise<boolean> => (await send(body)).rows[0].stamp < '2021'
  for (const secret of ['red', 'other']) {
    t.equal(await isKept({ verb: 'update', filters: { id: 1 }, data: { secret } }), false)
    for (const onConflict of [byCode, { ...byCode, set: ['secret'] }, { ...byCode, set: { secret } }]) {
      t.equal(await isKept({ verb: 'insert', data: { code: 'a', secret }, onConflict }), false)
    }
    t.equal(await isKept({ verb: 'insert', data: [{ code: 'a', secret }], onConflict: byCode }), false)
  }
  t.equal(
    await isKept({ verb: 'update', filters: { id: 1 }, data: { note: 'x' } }), true, 'not for columns that are seen'
  )
  t.equal(await isKept({ verb: 'insert', data: { code: 'a', note: 'x' }, onConflict: byCode }), true)
  t.same(await sql("select count(*) as n from people where stamp > '2021-01-01'"), [{ n: 0 }])
}, ['mariadb', 'mysql'])

await onEachEngine(t, 'a document has the columns that the token ' +
  'sees or may write', { schema: tenants, tokens: DOCUMENTED }, async (t, { server }) => {
  const clerk = await get(server, '/shop/openapi.json', { token: 'clerk' })
  const { components: { schemas }, paths } = clerk.json
  t.same(Object.keys(paths).sort(), ['/shop', '/shop/customers', '/shop/orders'])
  t.same(Object.keys(schemas.OrdersRow.properties), ['id', 'status', 'total'])
  t.same(schemas.OrdersColumn.enum, ['id', 'status', 'total'])
  t.same([Object.keys(schemas.OrdersInsert.properties), schemas.OrdersInsert.required], [
    ['status', 'total', 'secret'], ['total']
  ])
  t.same(Object.keys(schemas.OrdersUpdate.properties), ['status'])
  t.same(Object.keys(schemas.OrdersFilters.properties).filter((name) => !name.startsWith('$')), [
    'id', 'status', 'total'
  ])
  t.same(Object.keys(schemas.CustomersRow.properties), ['id'])
  t.notMatch(JSON.stringify({ paths, schemas }), /tenant|sku|customer_id/, 'nothing else is named')

  const twin = await get(server, '/shop/openapi.json', { token: 'twin' })
  t.equal(twin.headers['etag'], clerk.headers['etag'], 'the same document for a token that sees the same')
  const form = await get(server, '/shop/openapi.json', { token: 'form' })
  t.same(
    Object.keys(form.json.paths).sort(), ['/shop', '/shop/orders'], 'a table whose rules do not apply is not there'
  )
  t.same(Object.keys(form.json.components.schemas.OrdersInsert.properties), ['status'])
  t.notOk(form.json.components.schemas.OrdersRow)
  t.match(form.json.paths['/shop/orders'].post.requestBody.content['application/json'].examples, { insert: {} })
  t.same(Object.keys(form.json.paths['/shop/orders'].post.requestBody.content['application/json'].examples), ['insert'])

  const keys = (await get(server, '/shop/openapi.json', { token: 'keys' })).json.components.schemas.OrdersRow
  t.same(keys['x-unique-keys'].map((key: any) => key.columns).filter((each: string[]) => each.length > 1), [
    ['tenant', 'sku']
  ])
  t.notOk(keys['x-foreign-keys'], 'it would name a column of the other table')
})

const triggered: Schema = (engine) => [
  'create table reviews (id int not null primary key, n int, reviewed int)',
  'insert into reviews values (1, 1, 0), (2, 1, 1)',
  engine === 'sqlite'
    ? 'create trigger reviewed after update of n on reviews begin update reviews set reviewed = 0 ' +
      'where id = new.id; end'
    : 'create trigger reviewed before update on reviews for each row set new.reviewed = 0'
]

await onEachEngine(t, 'counts do not tell what a hidden column held that a trigger writes', {
  schema: triggered,
  tokens: [tokenFor('clerk', { reviews: { columns: { select: ['id', 'n'] } } })]
}, async (t, { engine, post }) => {
  const answersOf = async (id: number) => {
    const send = async (body: object) => ({
      ...await outcomeOf(await post('reviews', { ...body, dryRun: true }, { token: 'clerk' })), id: 0
    })
    const upsert = { verb: 'insert', data: { id, n: 1 }, onConflict: { key: ['id'] } }
    return [
      await send({ verb: 'update', filters: { id }, data: { n: 1 } }),
      await send({ verb: 'update', key: ['id'], filters: {}, data: [{ id, n: 1 }] }),
      await send({ ...upsert, outcomes: true }),
      await send({ ...upsert, onConflict: { key: ['id'], set: [] } })
    ]
  }
  const answers = await answersOf(1)
  t.same(answers, await answersOf(2))
  // a trigger of SQLite writes the row again, and is not counted
  t.match(answers.map(({ updated }) => updated), engine === 'sqlite' ? [0, 0, 0, 0] : [1, 1, 1, 0])
})

await onEachEngine(t, 'a default does not tell what is in a hidden column that it is computed from', {
  only: ['mariadb', 'mysql'],
  schema: () => [
    'create table staff (id int primary key, `wa``ge` int not null, level int not null, k varchar(5) unique, ' +
      'from_wage int default (1 + `WA``GE`), from_level int default (level * 2), noted int default (`wa``ge` div ' +
        '100), plain int default 5)',
    "insert into staff values (1, 50, 1, 'a', 0, 0, 0, 0), (2, 2147483647, 2, 'b', 0, 0, 0, 0)"
  ],
  tokens: [tokenFor('clerk', {
    staff: {
      columns: {
        select: ['id', 'level', 'k', 'from_wage', 'from_level', 'plain'],
        update: ['from_wage', 'from_level', 'plain', 'noted'],
        insert: ['id', 'k', 'level', 'from_wage']
      }
    }
  })]
}, async (t, { post, operate, sql }) => {
  const before = await sql('select * from staff order by id')
  const toDefault = { $default: true }
  for (const column of ['from_wage', 'noted']) {
    const data = { [column]: toDefault }
    const refused: Array<[object, string]> = [
      [{ verb: 'update', filters: { id: [1, 2] }, data }, `/data/${column}`],
      [{ verb: 'update', filters: { id: 2 }, data: { plain: 1, ...data }, dryRun: true }, `/data/${column}`],
      [
        { verb: 'update', key: ['id'], filters: {}, data: [{ id: 1, plain: 1 }, { id: 2, ...data }] },
        `/data/1/${column}`
      ],
      [
        { verb: 'insert', data: { id: 1, k: 'a', level: 1 }, onConflict: { key: ['id'], set: data } },
        `/onConflict/set/${column}`
      ]
    ]
    for (const [body, path] of refused) {
      t.same(
        outcomeOf(await post('staff', body, { token: 'clerk' })), [400, 'COLUMN_NOT_WRITABLE', path],
        JSON.stringify(body)
      )
      t.same(
        outcomeOf(await operate([{ table: 'staff', ...body, dryRun: undefined }], { token: 'clerk' })),
        [400, 'COLUMN_NOT_WRITABLE', `/operations/0${path}`], 'in operations'
      )
    }
  }
  t.same(await sql('select * from staff order by id'), before, 'nothing was changed')
  const seen = {
    verb: 'update',
    filters: { id: 2 },
    data: { from_level: toDefault, plain: toDefault },
    returning: ['from_level', 'plain']
  }
  t.same(
    outcomeOf(await post('staff', seen, { token: 'clerk' })), { updated: 1, rows: [{ from_level: 4, plain: 5 }] },
    'defaults of what it sees'
  )
  t.equal(
    (await post('staff', { verb: 'update', filters: { id: 1 }, data: { from_wage: toDefault } })).status, 200,
    'a grant that sees every column'
  )
})
