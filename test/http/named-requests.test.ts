/** Named requests over HTTP: who may call which, its parameters, its answers and its errors. */
import t from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import { tokenOf } from '../grants/support.ts'
import { callerOf, define, optional, param } from '../support/named-requests.ts'
import { type PostOptions, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const front = {
  for: 'requests' as const,
  permissions: [...VERBS],
  databases: {
    shop: {
      customers: { columns: { select: ['id', 'email', 'name', 'status', 'credit', 'note', 'created_at', 'login'] } },
      orders: { rows: { customer_id: { $claim: '/customer' } } },
      products: {},
      settings: {},
      codes: {}
    }
  }
}
/** With the rights of the role. */
const asFront = (table: string | undefined, body: object, parameters = {}, rest = {}) =>
  define(table, body, { as: 'front', parameters, ...rest })
const [id, x] = [param('id'), param('x')]
const level = { level: param('level') }
const shown = { returning: ['id', 'level', 'note'] }
const levels = { level: optional }

const requests = {
  find_customers: asFront('customers', {
    verb: 'select',
    columns: ['id', 'name'],
    orderBy: 'id DESC',
    limit: param('size'),
    after: param('after'),
    filters: {
      name: { $startsWith: param('name') },
      status: { $in: param('status') },
      id: { $in: param('ids') },
      created_at: { $gte: param('since') },
      $and: [{ credit: { $gte: param('credit') } }]
    }
  }, {
    name: { description: 'beginning of the name', ...optional },
    status: optional,
    ids: optional,
    credit: optional,
    since: { default: '2026-01-01T00:00:00' },
    size: { default: 20, maximum: 100 },
    after: { default: null }
  }, { description: 'Customers by their name', maxAge: 30 }),
  add_product: asFront('products', {
    verb: 'insert',
    data: { sku: param('sku'), name: param('name'), price: param('price'), tags: param('tags') },
    returning: ['sku', 'price', 'tags']
  }, { tags: optional }),
  rename: asFront('customers', {
    verb: 'update', filters: { id }, data: { name: param('name'), note: param('note') }
  }, { name: optional, note: optional }),
  remove_others: asFront('products', { verb: 'delete', filters: { sku: { $nin: param('keep') } } }),
  order: asFront(undefined, {
    operations: [
      { table: 'orders', verb: 'insert', data: { customer_id: param('customer'), note: param('note') } },
      { table: 'orders', verb: 'select', columns: ['customer_id', 'note'], filters: { id: { $ref: '/0/id' } } }
    ]
  }),
  own_products: define('products', { verb: 'select', columns: ['sku'], filters: { tags: param('tags') } }),
  locked: asFront(undefined, {
    operations: [{ table: 'customers', verb: 'select', columns: ['name'], filters: { id }, lock: true }]
  }),
  page: asFront('customers', { verb: 'select', columns: ['id'], orderBy: 'id', offset: param('from') }, {
    from: { maximum: 2 }
  }),
  two_tables: define('orders', {
    verb: 'select', columns: ['id'], filters: { id }, include: { customers: { columns: ['name'] } }
  }),
  broken: asFront('products', { verb: 'select', columns: ['sku'], filters: { colour: x } }),
  broken_write: asFront('customers', { verb: 'update', filters: { id: x }, data: { login: 'x' } }),
  broken_insert: asFront('products', { verb: 'insert', data: { sku: x, name: 'x' } }),
  broken_order: asFront('products', { verb: 'select', columns: ['sku'], filters: { sku: x }, orderBy: 'tags' }),
  broken_own: define('products', { verb: 'select', columns: ['sku', 'size'], filters: { sku: x } }),
  level: asFront('settings', { verb: 'insert', data: { id, ...level }, ...shown }, levels),
  levels: asFront('settings', {
    verb: 'insert', data: [{ id: 21, ...level }, { id: 22, level: 8 }], returning: ['id', 'level']
  }, levels),
  change_level: asFront('settings', {
    verb: 'update', filters: { id }, data: { ...level, note: 'new' }, ...shown
  }, levels),
  change_levels: asFront('settings', {
    verb: 'update', key: ['id'], filters: {}, data: [{ id: 1, ...level, note: 'new' }], ...shown
  }, levels),
  put_level: asFront('settings', {
    verb: 'insert', data: { id, ...level, note: 'new' }, onConflict: { key: ['id'] }, ...shown
  }, levels),
  put_customer: asFront('customers', {
    verb: 'insert', data: { email: param('email'), name: 'x' }, onConflict: { key: ['email'] }
  }),
  put_code: asFront('codes', { verb: 'insert', data: { code: param('code') }, onConflict: { key: ['code'] } }),
  put_listed: asFront('settings', {
    verb: 'insert', data: { id, ...level, note: 'new' }, onConflict: { key: ['id'], set: ['level'] }, ...shown
  }, levels)
}

const on = sharedOnEachEngine(t, {
  schema: {
    mysql: [...shop.mysql, 'create table codes (id int auto_increment primary key, code varchar(9) null unique)'],
    sqlite: [...shop.sqlite, 'create table codes (id integer primary key, code varchar(9) null unique)']
  },
  tokens: [
    callerOf('website', '*', { customer: 1 }),
    callerOf('one', ['add_product']),
    tokenOf('reader', { permissions: ['select'], databases: { shop: ['products'] } }),
    tokenOf('customers', { permissions: ['select'], databases: { shop: ['customers'] } })
  ],
  options: { roles: { front }, requests }
})
const website = { token: 'website' }

await on('a call gives parameters by GET and by POST', async (t, { call, log }) => {
  for (const [name, reason] of [
    ['broken', 'COLUMN_NOT_FOUND'], ['broken_write', 'COLUMN_NOT_WRITABLE'], ['broken_insert', 'MISSING_COLUMN'],
    ['broken_order', 'INVALID_ORDER_BY'], ['broken_own', 'COLUMN_NOT_FOUND']
  ] as const) {
    await until(`at the start, the log says what does not fit: ${name}`, async () =>
      log.some((line) => line.includes(`"request":"${name}"`) && line.includes(reason) &&
        line.includes('a named request does not fit')))
  }
  const find = async (given: string | object): Promise<any> => (typeof given === 'string'
    ? await call(`find_customers?${given}`, undefined, website)
    : await call('find_customers', given, website)).json.data
  const grace = { id: 2, name: 'Grace' }
  const zoe = { id: 4, name: 'Zoë' }
  for (const given of ['status=new&name=Gra', { status: ['new'], name: 'Gra' }]) {
    t.same(await find(given), { rows: [grace], count: 1, next: null })
  }
  t.same(await find('size=2'), { rows: [zoe, { id: 3, name: 'Linus' }], count: 2, next: { id: 3 } })
  for (const [given, rows] of [
    [`size=1&after=${encodeURIComponent('{"id":3}')}`, [grace]], [{ size: 1, after: { id: 3 } }, [grace]],
    ['credit=12.50&since=2026-02-01T00:00:00', [zoe]], [{ status: [] }, []], ['name=Zo%C3%AB&ids=4&ids=2', [zoe]]
  ] as const) t.same((await find(given)).rows, rows, JSON.stringify(given))
})

await on('a write stores the values, and an optional column is left out', async (t, { call, sql }) => {
  const send = async (name: string, given: object): Promise<any> => (await call(name, given, website)).json
  t.same(await send('add_product', { sku: 'A', name: 'Ä', price: '1.50', tags: { $inc: 1 } }), {
    success: true, data: { inserted: 1, id: 'A', rows: [{ sku: 'A', price: '1.50', tags: { $inc: 1 } }] }
  })
  t.same((await send('add_product', { sku: 'B', name: 'B', price: 2 })).data.rows, [
    { sku: 'B', price: '2.00', tags: null }
  ])
  t.same((await send('rename', { id: 1, note: 'x' })).data, { updated: 1 })
  t.same(await sql('select name, note from customers where id = 1'), [{ name: 'Ada', note: 'x' }])
  t.same((await send('rename', { id: 1, note: null })).data, { updated: 1 })
  t.match((await send('rename', { id: 1 })).error, { code: 'INVALID_BODY', details: [] })
  t.match((await send('rename', { id: 1, name: null })).error, {
    code: 'NOT_NULL_VIOLATION', details: [{ path: '/name' }]
  })
  t.match((await send('remove_others', { keep: [] })).error, { code: 'FILTERS_REQUIRED', details: [] })
  t.same((await send('order', { customer: 1, note: 'o' })).data.results[1].rows, [{ customer_id: 1, note: 'o' }])
  t.match((await send('order', { customer: 2, note: 'o' })).error, { code: 'PERMISSION_DENIED' })
})

await on('a column whose optional parameter is left out is as if it were not in the data', async (t, { call, sql }) => {
  const cases: Array<[string, object, object[], string]> = [
    ['level', { id: 9 }, [{ id: 9, level: 3, note: null }], 'an insert: its default'],
    ['level', { id: 9, level: 6 }, [{ id: 9, level: 6, note: null }], 'given'],
    ['levels', {}, [{ id: 21, level: 3 }, { id: 22, level: 8 }], 'one row of a list: its default'],
    ['change_level', { id: 1 }, [{ id: 1, level: 5, note: 'new' }], 'an update: the value stays'],
    ['change_level', { id: 1, level: 6 }, [{ id: 1, level: 6, note: 'new' }], 'given'],
    ['change_levels', {}, [{ id: 1, level: 5, note: 'new' }], 'an update by a key: the value stays'],
    ['put_level', { id: 1 }, [{ id: 1, level: 5, note: 'new' }], 'an upsert of a row that exists: the value stays'],
    ['put_level', { id: 9 }, [{ id: 9, level: 3, note: 'new' }], 'an upsert of a new row: its default'],
    ['put_level', { id: 1, level: 6 }, [{ id: 1, level: 6, note: 'new' }], 'given'],
    ['put_listed', { id: 1 }, [{ id: 1, level: 3, note: 'old' }], 'an upsert whose "set" names it: its default'],
    ['put_listed', { id: 1, level: 6 }, [{ id: 1, level: 6, note: 'old' }], 'given']
  ]
  for (const [name, given, rows, why] of cases) {
    await sql('delete from settings')
    await sql("insert into settings (id, level, note) values (1, 5, 'old')")
    t.same((await call(name, given, website)).json.data?.rows, rows, `${name}, ${why}`)
  }
})

await on('null as a column of onConflict.key is SQL\'s NULL, as in the body', async (t, { call, sql }) => {
  for (const code of ['A', null, null, 'A']) await call('put_code', { code }, website)
  t.same(await sql('select code from codes order by code'), [{ code: null }, { code: null }, { code: 'A' }])
  t.match((await call('put_customer', { email: null }, website)).json.error, {
    code: 'NOT_NULL_VIOLATION', details: [{ path: '/email' }]
  })
})

await on('an error leads into the parameters and names no column', async (t, { call }) => {
  const cases: Array<[name: string, given: object, code: string, path?: string, message?: string | RegExp]> = [
    ['find_customers', { ids: [1, 'x'] }, 'INVALID_VALUE', '/ids/1', /^Parameter "ids": expected an integer/],
    ['find_customers', { ids: [null] }, 'INVALID_VALUE', '/ids/0', 'Parameter "ids": null is not a value here'],
    ['find_customers', { ids: 1 }, 'INVALID_VALUE', '/ids'],
    ['find_customers', { name: '' }, 'INVALID_VALUE', '/name', 'Parameter "name": expected a text that is not empty'],
    ['find_customers', { name: 'x'.repeat(1001) }, 'INVALID_BODY', '/name',
      'Parameter "name": is longer than 1000 characters'],
    ['find_customers', { size: 101 }, 'LIMIT_OUT_OF_RANGE', '/size'],
    ['find_customers', { size: 1.5 }, 'INVALID_VALUE', '/size'],
    ['find_customers', { size: null }, 'INVALID_VALUE', '/size'],
    ['find_customers', { size: 0 }, 'LIMIT_OUT_OF_RANGE', '/size'],
    ['find_customers', { after: { name: 'x' } }, 'INVALID_BODY', '/after/name'],
    ['find_customers', { other: 1 }, 'INVALID_BODY', '/other'],
    ['add_product', { sku: 'A' }, 'INVALID_BODY', '/name'],
    ['add_product', { sku: 'MUG-1', name: 'x', price: 1 }, 'UNIQUE_VIOLATION', '/sku'],
    ['page', { from: 3 }, 'INVALID_BODY', '/from', 'Parameter "from": must be from 0 to 2'],
    ['page', { from: -1 }, 'INVALID_BODY', '/from'],
    ['broken', { x: 1 }, 'BROKEN_DEFINITION'],
    ['broken_write', { x: 1 }, 'BROKEN_DEFINITION'],
    ['broken_insert', { x: 'a' }, 'BROKEN_DEFINITION'],
    ['broken_order', { x: 'a' }, 'BROKEN_DEFINITION']
  ]
  for (const [name, given, code, path, message] of cases) {
    const { json, text } = await call(name, given, website)
    const why = `${name} ${JSON.stringify(given)}`
    t.equal(json.error?.code, code, why)
    t.same(json.error.details.map((detail: { path: string }) => detail.path), path === undefined ? [] : [path], why)
    if (message !== undefined) t.match(json.error.details[0].message, message)
    t.notMatch(text, /customers"|products"|created_at|colour|login|order|Column/, text)
  }
  t.match((await call('own_products', { tags: 'x' }, { token: 'customers' })).json.error, { code: 'REQUEST_NOT_FOUND' })
  t.match((await call('broken_own', { x: 'a' }, { token: 'reader' })).json.error, {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/body/columns/1' }]
  })
  t.match((await call('broken_own', { x: 1 })).json.error, { code: 'COLUMN_NOT_FOUND' })
})

await on('an unknown request, one that may not be called, and a method are ' +
  'refused in this order', async (t, { call }) => {
  const cases: Array<[path: string, options: PostOptions, given: unknown, status: number, code: string]> = [
    ['nothing', { token: 'wrong' }, undefined, 401, 'UNAUTHENTICATED'],
    ['nothing', website, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { token: 'one' }, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { token: TOKEN }, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { token: 'one' }, 'no json', 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { ...website, method: 'PUT' }, 'no json', 405, 'METHOD_NOT_ALLOWED'],
    ['add_product', website, undefined, 405, 'METHOD_NOT_ALLOWED'],
    ['add_product', { ...website, method: 'POST' }, undefined, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['add_product', { ...website, headers: { 'content-type': 'text/csv' } }, 'sku', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['add_product', website, '', 400, 'INVALID_JSON'],
    ['add_product', website, '[]', 400, 'INVALID_BODY'],
    ['add_product', website, '{"sku": 1, "sku": 2}', 400, 'INVALID_JSON'],
    ['add_product?sku=1', website, '{}', 400, 'INVALID_BODY'],
    ['locked', website, undefined, 405, 'METHOD_NOT_ALLOWED'],
    ['two_tables?id=1', { token: 'customers' }, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers?size=x', website, undefined, 400, 'INVALID_VALUE'],
    ['find_customers?ids=1&ids=x', website, undefined, 400, 'INVALID_VALUE'],
    ['find_customers?size=101', website, undefined, 400, 'LIMIT_OUT_OF_RANGE'],
    ['broken?x=1', website, undefined, 422, 'BROKEN_DEFINITION'],
    ['find_customers', { ...website, headers: { 'row-query-consistency': 'x' } }, undefined, 400, 'INVALID_BODY']
  ]
  for (const [path, options, given, status, code] of cases) {
    const answer = await call(path, given, options)
    t.same([answer.status, answer.json.error?.code], [status, code], `${path} ${answer.text}`)
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  const head = await call('find_customers?size=x', undefined, { ...website, method: 'HEAD' })
  t.same([head.status, head.text, head.headers['cache-control']], [400, '', 'no-store'])
  t.same((await call('find_customers?ids=1&ids=x', undefined, website)).json.error.details[0].path, '/ids/1')
  t.equal((await call('locked', { id: 1 }, website)).status, 200)
  t.match((await call('two_tables?id=1')).json.data.rows, [{ customers: { name: 'Ada' } }])
  for (const [name, allow] of [['find_customers', 'GET, HEAD, POST'], ['add_product', 'POST']] as const) {
    t.equal((await call(name, undefined, { ...website, method: 'DELETE' })).headers['allow'], allow)
  }
})

await on('an answer to GET has a tag and a time for caches, and is JSON whatever is accepted', async (t, { call }) => {
  const get = (path: string, options: PostOptions = {}) => call(path, undefined, { ...website, ...options })
  t.equal((await get('page?from=0')).headers['cache-control'], 'private, no-cache', 'without "maxAge"')
  for (const accept of ['text/csv', 'application/x-ndjson', 'text/html']) {
    for (const answer of [
      await get('page?from=3', { headers: { accept } }), await get('page?from=2', { headers: { accept } }),
      await call('page', { from: 2 }, { ...website, headers: { accept } })
    ]) t.match(answer.headers['content-type'], /^application\/json/, accept)
  }
  const { headers, text } = await get('find_customers')
  t.match(headers, { 'cache-control': 'private, max-age=30', vary: 'Authorization, Row-Query-Consistency' })
  const head = await get('find_customers', { method: 'HEAD' })
  t.same([head.status, head.text, head.headers['etag'], head.headers['content-length']], [
    200, '', headers['etag'], String(Buffer.byteLength(text))
  ])
  const again = await get('find_customers', { headers: { 'if-none-match': String(headers['etag']) } })
  t.same([again.status, again.text], [304, ''])
  t.equal((await call('find_customers', {}, website)).headers['etag'], undefined)
})
