/** Updates of many rows: a list of entries with a key, each with values of its own. */
import t from 'tap'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { isRefusal } from '../support/refusals.ts'
import { useEachEngine } from '../support/rotation.ts'
import { onEachEngine, sharedOnEachEngine } from '../support/service.ts'

useEachEngine(t)

const grantee = 'a-token-with-rules-and-hidden-columns-0123456789'
const blind = 'a-token-that-updates-only-0123456789abcdef'
const items = (engine: string): string[] => [
  'create table shelves (id integer primary key, tenant int not null)',
  `create table items (id ${engine === 'sqlite' ? 'integer' : 'bigint'} primary key,
    sku varchar(20) collate ${engine === 'sqlite' ? 'nocase' : 'utf8mb4_general_ci'} not null unique,
    other varchar(20) unique, stock ${engine === 'sqlite' ? 'int' : 'smallint'} not null, price decimal(10,2),
    tenant int not null, note varchar(20), changed datetime, shelf int, unique (tenant, sku),
    foreign key (shelf) references shelves (id), check (stock > -100))`,
  'insert into shelves values (1, 1), (2, 2)',
  "insert into items (id, sku, stock, price, tenant) values (1, 'a', 1, 1.00, 1), (2, 'b', 2, 2.00, 1), (3, 'c', 3, " +
    "3.00, 2), (4, 'd', 4, null, 1)"
]
const rules = { tenant: 1 }
const test = sharedOnEachEngine(t, {
  schema: items,
  tokens: [
    tokenFor(grantee, {
      items: {
        columns: { select: ['id', 'stock', 'price', 'tenant', 'shelf'], update: ['stock', 'note', 'tenant', 'shelf'] },
        rows: rules
      },
      shelves: { rows: rules }
    }),
    tokenOf(blind, { permissions: ['update'] })
  ]
})

const update = { verb: 'update', key: ['id'], filters: {} }

await test('each entry changes its row, in the order of data', async (t, { post, sql }) => {
  const data = [
    { id: 3, stock: 30 }, { id: 1, price: '9.99', note: 'x' }, { id: 2, stock: { $inc: -1 }, changed: { $now: true } },
    { id: 77, stock: 1 }, { id: 4, stock: 4 }
  ]
  const { status, json } = await post('items', { ...update, data, returning: ['id', 'stock', 'price', 'note'] })
  t.equal(status, 200)
  t.match(json.data, {
    updated: json.data.updated,
    rows: [{ id: 3, stock: 30, price: '3.00' }, { id: 1, stock: 1, price: '9.99', note: 'x' }, { id: 2, stock: 1 }, {
      id: 4, stock: 4
    }]
  })
  t.ok([3, 4].includes(json.data.updated), 'SQLite counts matched rows')
  t.equal(json.data.rows.length, 4, 'an entry without a row writes nothing')
  t.same((await sql('select id from items where changed is not null')).map(({ id }) => Number(id)), [2])
})

await test('keys are equal as the database compares them, and a row that two ' +
  'entries find is refused', async (t, { post, sql }) => {
  const bySku = { ...update, key: ['sku'] }
  t.match(await post('items', { ...bySku, data: [{ sku: 'B', stock: 20 }, { sku: 'a', stock: 10 }] }), {
    status: 200, json: { data: { updated: 2 } }
  })
  t.same((await sql('select stock from items order by id')).map(({ stock }) => Number(stock)), [10, 20, 3, 4])
  for (const data of [[{ sku: 'a', stock: 1 }, { sku: 'A', stock: 2 }], [
    { sku: 'a', stock: 1 }, { sku: 'gone', stock: 5 }, { sku: 'A', stock: 2 }
  ]]) {
    const refused = await post('items', { ...bySku, data })
    isRefusal(t, refused, { status: 400, code: 'INVALID_BODY', why: 'the same row' })
    t.match(refused.json.error.details, [{ path: `/data/${data.length - 1}` }])
  }
  t.match(await post('items', {
    ...update, key: ['sku', 'tenant'], data: [{ tenant: 1, sku: 'a', stock: 5 }, { tenant: 2, sku: 'a', stock: 6 }]
  }), { json: { data: { updated: 1 } } }, 'a key of two columns, in any order')
})

await test('filters restrict all entries, and expect counts those that found a row', async (t, { post, sql }) => {
  const data = [{ id: 1, stock: 100 }, { id: 3, stock: 300 }, { id: 9, stock: 9 }]
  t.match(await post('items', { ...update, filters: { tenant: 1 }, data, expect: 1, returning: ['id'] }), {
    status: 200, json: { data: { updated: 1, rows: [{ id: 1 }] } }
  })
  isRefusal(t, await post('items', { ...update, data, expect: 3 }), {
    status: 412, code: 'EXPECTATION_FAILED', why: 'two rows'
  })
  t.match(await post('items', { ...update, data, expect: { $gte: 2 }, dryRun: true }), {
    status: 200, json: { data: { dryRun: true } }
  })
  t.same((await sql('select stock from items order by id')).map(({ stock }) => Number(stock)), [100, 2, 3, 4])
})

await test('all of them happen or none, and an error names its entry', async (t, { post, sql, engine }) => {
  const taken = await post('items', { ...update, data: [{ id: 1, stock: 50 }, { id: 2, sku: 'C' }] })
  isRefusal(t, taken, { status: 409, code: 'UNIQUE_VIOLATION', why: 'taken' })
  t.match(taken.json.error.details[0].path, /^\/data\/1/)
  if (engine !== 'sqlite') {
    const large = await post('items', { ...update, data: [{ id: 1, stock: 50 }, { id: 2, stock: { $inc: 32767 } }] })
    isRefusal(t, large, { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'overflow' })
    t.match(large.json.error.details, [{ path: '/data/1/stock', message: 'column "stock"' }])
  }
  t.same((await sql('select stock from items order by id')).map(({ stock }) => Number(stock)), [1, 2, 3, 4])
  t.match(
    await post('items', { ...update, data: [{ id: 2, sku: 'z' }, { id: 3, sku: 'b' }, { id: 1, sku: 'c' }] }),
    { status: 200, json: { data: { updated: 3 } } }, 'a later entry takes what an earlier one released'
  )
})

await test('one statement writes rows of the same columns, where their ' +
  'order is not seen', async (t, { post, sql, statements }) => {
  const updates = () => statements().filter((sql) => /^update/.test(sql)).length
  const send = async (data: object[], key = ['id']) => {
    statements()
    return await post('items', { ...update, key, data })
  }
  const both = (column: string, values: unknown[]) => values.map((value, index) => ({ id: index + 1, [column]: value }))
  for (const [data, count, key] of [
    [[{ id: 3, stock: 30, note: 'x' }, { id: 1, note: null, stock: 1 }, { id: 77, stock: 1, note: '' }, {
      id: 2, stock: 2, note: "it's"
    }], 1],
    [both('changed', ['2026-01-01T00:00:00', null]), 1],
    [[{ id: 1, stock: 5 }, { id: 2, note: 'y' }], 2],
    [both('stock', [{ $inc: 1 }, { $inc: 2 }]), 2],
    [both('changed', [{ $now: true }, { $now: true }]), 1],
    [both('other', ['o', 'p']), 2],
    [both('shelf', [1, 2]), 2],
    [[{ sku: 'a', stock: 8 }, { sku: 'b', stock: 9 }], 2, ['sku']],
    [[{ id: 1, stock: 7 }], 1]
  ] as Array<[object[], number, string[]?]>) {
    t.equal((await send(data, key)).status, 200)
    t.equal(updates(), count, JSON.stringify(data))
  }
  t.strictSame((await sql('select note from items order by id')).map(({ note }) => note), [null, 'y', 'x', null])
  t.match(
    await send([{ id: 2, stock: 9 }, { id: 3, stock: 29 }, { id: 4, stock: 4 }]), { json: { data: { updated: 1 } } },
    'changed rows'
  )
  t.match(await send([{ id: 3, stock: 30 }, { id: 77, stock: 1 }]), { json: { data: { updated: 1 } } })

  const refused = await send([{ id: 1, stock: 1 }, { id: 2, stock: -100 }, { id: 3, stock: 3 }])
  t.match(
    refused.json.error, { code: 'CHECK_VIOLATION', details: [{ path: '/data/1' }] }, 'the error of the row by itself'
  )
  t.strictSame((await sql('select stock from items order by id')).map(({ stock }) => Number(stock)), [7, 9, 30, 4])
}, ['mariadb', 'mysql'])

await test('a grant sees its own rows and keys, and writes its own columns', async (t, { post, sql }) => {
  const send = (body: object, token = grantee) => post('items', { ...update, ...body }, { token })
  t.match(
    await send({ data: [{ id: 1, stock: 11 }, { id: 3, stock: 33 }], returning: ['id', 'stock'] }),
    { status: 200, json: { data: { updated: 1, rows: [{ id: 1, stock: 11 }] } } }, "another tenant's row is not found"
  )
  for (const key of [['sku'], ['tenant', 'sku'], ['nothing']]) {
    const refused = await send({ key, data: [{ [key[0] as string]: 'a', stock: 1 }] })
    t.match(
      refused.json.error, { code: 'INVALID_BODY', details: [{ path: '/key' }] }, 'a hidden column makes the key none'
    )
  }
  t.match((await send({ data: [{ id: 1, price: '1.00' }] })).json.error, {
    code: 'COLUMN_NOT_WRITABLE', details: [{ path: '/data/0/price' }]
  })
  const moved = await send({ data: [{ id: 1, stock: 12 }, { id: 2, tenant: 2 }] })
  t.match(moved, { status: 403, json: { error: { code: 'PERMISSION_DENIED', details: [{ path: '/data/1' }] } } })
  const shelved = await send({ data: [{ id: 1, shelf: 1 }, { id: 2, shelf: 2 }] })
  t.match(
    shelved, { status: 409, json: { error: { code: 'FOREIGN_KEY_VIOLATION' } } },
    'a row of another tenant is like a missing one'
  )
  t.match(await send({ data: [{ id: 1, shelf: 1 }] }), { status: 200 })
  // whether a hidden column had the value already is not told
  await sql("update items set note = 'n'")
  t.match(await send({ data: [{ id: 1, note: 'n' }, { id: 2, note: 'm' }] }), { json: { data: { updated: 2 } } })
  t.match(await send({ data: [{ id: 1, stock: 1 }] }, blind), { status: 200 })
  for (const field of [{ expect: 1 }, { dryRun: true }, { returning: ['id'] }]) {
    t.equal((await send({ data: [{ id: 1, stock: 1 }], ...field }, blind)).status, 403, JSON.stringify(field))
  }
})

await test('in operations, with references as values and in keys', async (t, { operate }) => {
  const find = { table: 'items', verb: 'select', columns: ['id', 'other'], filters: { sku: 'b' } }
  const keyed = {
    table: 'items',
    ...update,
    data: [{ id: { $ref: '/0/rows/0/id' }, stock: 22 }, { id: 1, stock: { $ref: '/0/count' } }],
    returning: ['id', 'stock']
  }
  t.match(await operate({ operations: [find, keyed] }), {
    status: 200,
    json: { data: { results: [{}, { updated: /[12]/, rows: [{ id: 2, stock: 22 }, { id: 1, stock: 1 }] }] } }
  })
  const toNull = { table: 'items', ...update, data: [{ id: { $ref: '/0/rows/0/other' }, stock: 1 }] }
  t.match((await operate({ operations: [find, toNull] })).json.error, {
    code: 'INVALID_VALUE', details: [{ path: '/operations/1/data/0/id' }]
  })
})

await test('entries that find nothing are skipped, also where the rows are ' +
  'locked in several steps', async (t, { post, sql }) => {
  await sql('delete from items')
  const rows = Array.from({ length: 210 }, (_, index) => ({ id: index + 1, sku: `s${index}`, stock: 0, tenant: 1 }))
  t.match(await post('items', { verb: 'insert', data: rows }), { status: 200 })
  await sql('delete from items where id in (105, 110)')
  const data = rows.map(({ id }) => ({ id, stock: id })).reverse()
  t.match(await post('items', { ...update, data }), { status: 200, json: { data: { updated: 208 } } })
  t.match(await sql('select count(*) as n from items where id <> stock'), [{ n: /^0n?$/ }])
})

await onEachEngine(t, 'triggers fire for each entry in order', {
  schema: (engine) => [
    engine === 'sqlite'
      ? 'create table log (n integer primary key, entry int)'
      : 'create table log (n int auto_increment primary key, entry int)',
    'create table rows_ (id integer primary key, v int not null)',
    'insert into rows_ values (1, 0), (2, 0), (3, 0)',
    engine === 'sqlite'
      ? 'create trigger t after update on rows_ begin insert into log (entry) values (new.id); end'
      : 'create trigger t after update on rows_ for each row insert into log (entry) values (new.id)'
  ]
}, async (t, { post, sql }) => {
  t.match(await post('rows_', { ...update, data: [{ id: 3, v: 1 }, { id: 1, v: 2 }, { id: 2, v: 3 }] }), {
    status: 200, json: { data: { updated: 3 } }
  })
  t.same((await sql('select entry from log order by n')).map(({ entry }) => Number(entry)), [3, 1, 2])
})
