/** `dryRun`: the same answer, and nothing changed. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('a dry run has the answer of the write with "dryRun", and changes nothing', async (t, { post, sql }) => {
  const before = await sql('select * from order_items order by line')
  const customers = await sql('select * from customers order by id')
  const writes: Array<[table: string, body: object, data: object]> = [
    ['customers', { verb: 'insert', data: { id: 50, email: 'new@example.com', name: 'New' } }, { inserted: 1, id: 50 }],
    ['customers', { verb: 'insert', data: { id: 50, email: 'new@example.com', name: 'New' }, returning: ['login', 'credit'] }, { rows: [{ login: 'NEW@EXAMPLE.COM', credit: '0.00' }], inserted: 1, id: 50 }],
    ['customers', { verb: 'update', data: { name: 'x' }, filters: { status: 'new' } }, { updated: 2 }],
    ['customers', { verb: 'update', data: { name: 'Ada' }, filters: { id: 1 } }, { updated: 0 }],
    ['customers', { verb: 'update', data: { credit: { $inc: 1 } }, filters: { id: 1 }, returning: ['credit'], expect: 1 }, { rows: [{ credit: '13.50' }], updated: 1 }],
    ['order_items', { verb: 'delete', filters: { order_id: 1 } }, { deleted: 2 }],
    ['order_items', { verb: 'delete', filters: { order_id: 1, line: 2 }, returning: ['product_sku'], expect: { $gte: 1 } }, { rows: [{ product_sku: 'CUP-1' }], deleted: 1 }]
  ]
  for (const [table, body, data] of writes) {
    t.strictSame((await post(table, { ...body, dryRun: true })).json, { success: true, data: { ...data, dryRun: true } }, JSON.stringify(body))
    t.same(await sql('select * from order_items order by line'), before)
    t.same(await sql('select * from customers order by id'), customers)
  }
  t.strictSame((await post('customers', { verb: 'update', data: { name: 'x' }, filters: { status: 'new' }, dryRun: false })).json.data, { updated: 2 }, 'false is as if it were left out')
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
  for (const [body, status, code] of cases) isRefusal(t, await post('customers', { ...body, dryRun: true }), { status, code, why: JSON.stringify(body) })
  t.same(await sql('select * from customers order by id'), before)
})

await testShop('AUTO_INCREMENT may leave a gap, and no id is given to two rows', async (t, { post, sql }) => {
  const insert = { verb: 'insert', data: { level: 5 } }
  const { json } = await post('settings', { ...insert, dryRun: true })
  t.same(json.data, { inserted: 1, id: 1, dryRun: true })
  t.equal((await sql('select * from settings')).length, 0)
  t.ok((await post('settings', insert)).json.data.id >= 1)
})

await testShop('an invalid "dryRun" is rejected', async (t, { post, statements }) => {
  statements()
  for (const dryRun of [1, 'true', null, {}, []]) {
    isRefusal(t, await post('customers', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, dryRun }), { status: 400, code: 'INVALID_BODY', why: JSON.stringify(dryRun) })
  }
  const select = await post('customers', { verb: 'select', dryRun: true })
  isRefusal(t, select, { status: 400, code: 'INVALID_BODY', why: 'select' })
  t.match(select.json.error.message, /"dryRun" is not allowed with select/)
  isRefusal(t, await post('order_lines', { verb: 'delete', filters: { line: 1 }, dryRun: true }), { status: 403, code: 'PERMISSION_DENIED', why: 'a view' })
  t.same(statements(), [])
})

const tokens = [{ name: 'writes', sha256: hashToken('token-that-writes-0123456789-0123456789'), permissions: ['insert' as const, 'update' as const, 'delete' as const] }]

await onEachEngine(t, 'a dry run of an update or delete needs the permission select; one of an insert does not', { schema: shop, tokens }, async (t, { post }) => {
  const writes = { token: 'token-that-writes-0123456789-0123456789' }
  for (const body of [{ verb: 'update', data: { name: 'x' }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 99 } }]) {
    const answer = await post('customers', { ...body, dryRun: true }, writes)
    isRefusal(t, answer, { status: 403, code: 'PERMISSION_DENIED', why: body.verb })
    t.match(answer.json.error.message, /"dryRun" needs the permission select/)
    t.equal((await post('customers', { ...body, dryRun: false }, writes)).status, 200)
  }
  t.equal((await post('settings', { verb: 'insert', data: {}, dryRun: true }, writes)).status, 200)
})

const engines: Schema = (engine) => [
  ...['MyISAM', 'MEMORY', ...engine === 'mariadb' ? ['Aria'] : []].map((name) => `create table ${name} (id int not null primary key, n int null) engine = ${name}`),
  'create table log_myisam (id int null) engine = MyISAM',
  'create table logged (id int not null primary key, n int null)',
  'insert into logged values (1, 1)',
  'create trigger log_insert after insert on logged for each row insert into log_myisam values (new.id)',
  'create trigger log_update after update on logged for each row insert into log_myisam values (new.id)'
]

const testEngines = sharedOnEachEngine(t, { schema: engines, only: ['mariadb', 'mysql'] })

await testEngines('a table without transactions is not supported', async (t, { post, engine, statements }) => {
  statements()
  for (const name of ['MyISAM', 'MEMORY', ...engine === 'mariadb' ? ['Aria'] : []]) {
    for (const body of [{ verb: 'insert', data: { id: 1 } }, { verb: 'update', data: { n: 1 }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]) {
      const answer = await post(name, { ...body, dryRun: true })
      isRefusal(t, answer, { status: 422, code: 'NOT_SUPPORTED', why: `${name} ${body.verb}` })
      t.equal(answer.json.error.details[0].path, '/dryRun')
    }
    isRefusal(t, await post(name, { verb: 'insert', data: { nope: 1 }, dryRun: true }), { status: 400, code: 'COLUMN_NOT_FOUND', why: 'errors of the request come first' })
  }
  t.same(statements(), [])
})

await testEngines('where a trigger has written to a table without transactions, the outcome is unknown', async (t, { post, sql }) => {
  for (const body of [{ verb: 'insert', data: { id: 2 } }, { verb: 'update', data: { n: 2 }, filters: { id: 1 } }, { verb: 'update', data: { n: 2 }, filters: { id: 1 }, returning: '*' }]) {
    const answer = await post('logged', { ...body, dryRun: true })
    isRefusal(t, answer, { status: 502, code: 'OUTCOME_UNKNOWN', why: JSON.stringify(body) })
    t.equal(answer.headers['retry-after'], undefined)
  }
  t.match(await sql('select * from logged'), [{ id: 1, n: 1 }])
  t.equal((await sql('select * from log_myisam')).length, 3)
  isRefusal(t, await post('logged', { verb: 'update', data: { n: 5 }, filters: { id: 1 }, expect: { $gte: 2 } }), { status: 502, code: 'OUTCOME_UNKNOWN', why: 'an expectation that does not hold' })
})
