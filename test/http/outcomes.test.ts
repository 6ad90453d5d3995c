/** `outcomes` of an upsert: what became of each row. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine, startService } from '../support/service.ts'

useEachEngine(t)

const schema = (engine: EngineName): string[] => {
  const id = engine === 'sqlite' ? 'id integer primary key' : 'id int auto_increment primary key'
  return [
    `create table goods (${id}, sku varchar(10) not null, price int, secret int, tenant int not null default 1)`,
    'create unique index sku on goods (sku)',
    "insert into goods (id, sku, price, secret, tenant) values (1, 'A', 1, 5, 1), (2, 'B', 2, 5, 1), (3, 'T', 3, 5, 2)",
    `create table watched (${id}, sku varchar(10) not null unique, n int, touched int)`, 'insert into watched (sku, ' +
      "n) values ('A', 1)", `create table two_keys (${id}, a int not null unique, b int not null unique, n int)`,
      'insert into two_keys (id, a, b, n) values (1, 1, 1, 1), (2, 2, 2, 2)'
  ]
}
const HIDDEN = 'token-that-does-not-see-secret-0123456789'
const TENANT = 'token-of-tenant-one-with-rules-0123456789'
const tokens = [tokenFor(HIDDEN, {
  goods: {
    columns: { select: ['id', 'sku', 'price'], insert: ['sku', 'price', 'secret'], update: ['price', 'secret'] }
  }
}), tokenFor(TENANT, { goods: { rows: { tenant: 1 } } })]

await onEachEngine(t, 'outcomes', { schema, tokens }, async (t, { url, engine, post, operate, sql }) => {
  const upsert = (data: unknown, more: object = {}, options: object = {}, table = 'goods') => post(table, {
    verb: 'insert', data, onConflict: { key: ['sku'] }, outcomes: true, dryRun: true, ...more
  }, options)
  const of = async (...args: Parameters<typeof upsert>): Promise<unknown> => {
    const { json } = await upsert(...args)
    return json.error === undefined ? json.data.outcomes : `${json.error.code} ${json.error.details[0]?.path}`
  }

  await t.test('says what became of each row, in the order of data', async (t) => {
    const { json } = await upsert([
      { sku: 'C', price: 1 }, { sku: 'A', price: 1 }, { sku: 'B', price: 9 }, { sku: 'C', price: 1 },
      { sku: 'C', price: 2 }
    ])
    t.same(json.data, {
      inserted: 1,
      updated: 2,
      unchanged: 2,
      id: null,
      outcomes: ['inserted', 'unchanged', 'updated', 'unchanged', 'updated'],
      dryRun: true
    })
    t.same(await of({ sku: 'A', price: 1 }), ['unchanged'])
    t.same(await of({ sku: 'A', price: 7 }), ['updated'])
    t.same(await of({ sku: 'Z' }), ['inserted'])
    t.same(await of([
      { sku: 'B', price: 9 }, { sku: 'Y' }, { sku: 'A', price: 9 }
    ], { onConflict: { key: ['sku'], set: [] } }), ['unchanged', 'inserted', 'unchanged'])
    t.same(await of([
      { sku: 'Y', price: 9 }, { sku: 'B', price: 9 }
    ], { onConflict: { key: ['sku'], set: { price: { $inc: 0 } } } }), ['inserted', 'unchanged'])
    t.same(await of([{ sku: 'Y', price: 9 }, { id: 2, sku: 'B2' }], { onConflict: { key: ['id'] } }), [
      'inserted', 'updated'
    ])
    const returned = await upsert([{ sku: 'Y', price: 9 }, { sku: 'A', price: 9 }], { returning: ['sku', 'price'] })
    t.match(returned.json.data, {
      outcomes: ['inserted', 'updated'], rows: [{ sku: 'Y', price: 9 }, { sku: 'A', price: 9 }]
    })
    const many = Array.from({ length: 300 }, (_, index) => ({ sku: index % 3 === 0 ? 'A' : `n${index}`, price: 1 }))
    t.same(await of(many), many.map(({ sku }) => sku === 'A' ? 'unchanged' : 'inserted'))
  })

  await t.test('without it nothing changes in the answer', async (t) => {
    for (const outcomes of [undefined, false]) {
      t.same(
        Object.keys((await upsert([{ sku: 'A' }], { outcomes })).json.data),
        ['inserted', 'updated', 'unchanged', 'id', 'dryRun']
      )
    }
  })

  await t.test('a row that collides in another key undoes all', async (t) => {
    t.match(await post('two_keys', {
      verb: 'insert', data: [{ a: 3, b: 3, n: 1 }, { a: 4, b: 1, n: 1 }], onConflict: { key: ['a'] }, outcomes: true
    }), { status: 409, json: { error: { code: 'UNIQUE_VIOLATION' } } })
    t.equal((await sql('select * from two_keys')).length, 2)
  })

  await t.test('is about rows that the grant sees', async (t) => {
    t.same(await of(
      [{ sku: 'A', price: 1, secret: 5 }, { sku: 'B', price: 2, secret: 6 }, { sku: 'N', secret: 1 }], {},
      { token: HIDDEN }
    ), ['updated', 'updated', 'inserted'], 'where a hidden column is written, every row that existed is updated')
    t.same(await of([{ sku: 'A', price: 1 }], {}, { token: HIDDEN }), ['unchanged'])
    t.match(
      await of([{ sku: 'A', price: 9 }, { sku: 'T', price: 9 }], {}, { token: TENANT }), /^UNIQUE_VIOLATION \/data\/1/
    )
    t.same(await of([{ sku: 'A', price: 9 }, { sku: 'U', price: 9 }], {}, { token: TENANT }), ['updated', 'inserted'])
  })

  await t.test('in operations', async (t) => {
    const { json } = await operate({
      operations: [
        {
          table: 'goods', verb: 'insert', data: [{ sku: 'A', price: 1 }], onConflict: { key: ['sku'] }, outcomes: true
        },
        {
          table: 'goods',
          verb: 'update',
          filters: { id: 2 },
          data: { sku: { $ref: '/0/outcomes/0' } },
          returning: ['sku']
        }
      ],
      dryRun: true
    })
    t.same(json.data?.results[1].rows, [{ sku: 'unchanged' }], JSON.stringify(json))
  })

  if (engine === 'sqlite') return
  await sql('create trigger touch before update on watched for each row set new.touched = coalesce(old.touched, 0) + 1')
  const { post: anew } = await startService(t, url, {})
  const { json } = await anew('watched', {
    verb: 'insert',
    data: [{ sku: 'A', n: 1 }, { sku: 'B', n: 1 }],
    onConflict: { key: ['sku'] },
    outcomes: true,
    dryRun: true
  })
  t.match(
    json.data, { updated: 1, outcomes: ['updated', 'inserted'] }, 'a trigger that writes every row makes it updated'
  )
})
