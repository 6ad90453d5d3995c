/** Named requests over HTTP: who may call which, its parameters, its answers and its errors. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { sharedOnEachEngine, TOKEN, type Answer, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const front = {
  for: 'requests' as const,
  permissions: ['select', 'insert', 'update', 'delete'] as Array<'select' | 'insert' | 'update' | 'delete'>,
  databases: {
    shop: {
      customers: { columns: { select: ['id', 'email', 'name', 'status', 'credit', 'note', 'created_at', 'login'] } },
      orders: { rows: { customer_id: { $claim: '/customer' } } },
      products: {},
      settings: {}
    }
  }
}

const requests = {
  find_customers: {
    description: 'Customers by their name',
    database: 'shop',
    table: 'customers',
    as: 'front',
    maxAge: 30,
    parameters: {
      name: { description: 'beginning of the name', optional: true },
      status: { optional: true },
      ids: { optional: true },
      credit: { optional: true },
      since: { default: '2026-01-01T00:00:00' },
      size: { default: 20, maximum: 100 },
      after: { default: null }
    },
    body: {
      verb: 'select',
      columns: ['id', 'name'],
      orderBy: 'id DESC',
      limit: { $param: 'size' },
      after: { $param: 'after' },
      filters: {
        name: { $startsWith: { $param: 'name' } },
        status: { $in: { $param: 'status' } },
        id: { $in: { $param: 'ids' } },
        created_at: { $gte: { $param: 'since' } },
        $and: [{ credit: { $gte: { $param: 'credit' } } }]
      }
    }
  },
  add_product: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { sku: {}, name: {}, price: {}, tags: { optional: true } },
    body: {
      verb: 'insert',
      data: { sku: { $param: 'sku' }, name: { $param: 'name' }, price: { $param: 'price' }, tags: { $param: 'tags' } },
      returning: ['sku', 'price', 'tags']
    }
  },
  rename: {
    database: 'shop',
    table: 'customers',
    as: 'front',
    parameters: { id: {}, name: { optional: true }, note: { optional: true } },
    body: {
      verb: 'update',
      filters: { id: { $param: 'id' } },
      data: { name: { $param: 'name' }, note: { $param: 'note' } }
    }
  },
  remove_others: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { keep: {} },
    body: { verb: 'delete', filters: { sku: { $nin: { $param: 'keep' } } } }
  },
  order: {
    database: 'shop',
    as: 'front',
    parameters: { customer: {}, note: {} },
    body: {
      operations: [
        { table: 'orders', verb: 'insert', data: { customer_id: { $param: 'customer' }, note: { $param: 'note' } } },
        { table: 'orders', verb: 'select', columns: ['customer_id', 'note'], filters: { id: { $ref: '/0/id' } } }
      ]
    }
  },
  own_products: {
    database: 'shop',
    table: 'products',
    parameters: { tags: {} },
    body: { verb: 'select', columns: ['sku'], filters: { tags: { $param: 'tags' } } }
  },
  broken: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { x: {} },
    body: { verb: 'select', columns: ['sku'], filters: { colour: { $param: 'x' } } }
  },
  locked: {
    database: 'shop',
    as: 'front',
    parameters: { id: {} },
    body: {
      operations: [
        { table: 'customers', verb: 'select', columns: ['name'], filters: { id: { $param: 'id' } }, lock: true }
      ]
    }
  },
  page: {
    database: 'shop',
    table: 'customers',
    as: 'front',
    parameters: { from: { maximum: 2 } },
    body: { verb: 'select', columns: ['id'], orderBy: 'id', offset: { $param: 'from' } }
  },
  broken_write: {
    database: 'shop',
    table: 'customers',
    as: 'front',
    parameters: { x: {} },
    body: { verb: 'update', filters: { id: { $param: 'x' } }, data: { login: 'x' } }
  },
  broken_insert: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { x: {} },
    body: { verb: 'insert', data: { sku: { $param: 'x' }, name: 'x' } }
  },
  broken_order: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { x: {} },
    body: { verb: 'select', columns: ['sku'], filters: { sku: { $param: 'x' } }, orderBy: 'tags' }
  },
  two_tables: {
    database: 'shop',
    table: 'orders',
    parameters: { id: {} },
    body: {
      verb: 'select',
      columns: ['id'],
      filters: { id: { $param: 'id' } },
      include: { customers: { columns: ['name'] } }
    }
  },
  level: {
    database: 'shop',
    table: 'settings',
    as: 'front',
    parameters: { id: {}, level: { optional: true } },
    body: {
      verb: 'insert', data: { id: { $param: 'id' }, level: { $param: 'level' } }, returning: ['id', 'level', 'note']
    }
  },
  levels: {
    database: 'shop',
    table: 'settings',
    as: 'front',
    parameters: { level: { optional: true } },
    body: {
      verb: 'insert', data: [{ id: 21, level: { $param: 'level' } }, { id: 22, level: 8 }], returning: ['id', 'level']
    }
  },
  change_level: {
    database: 'shop',
    table: 'settings',
    as: 'front',
    parameters: { id: {}, level: { optional: true } },
    body: {
      verb: 'update',
      filters: { id: { $param: 'id' } },
      data: { level: { $param: 'level' }, note: 'new' },
      returning: ['id', 'level', 'note']
    }
  },
  change_levels: {
    database: 'shop',
    table: 'settings',
    as: 'front',
    parameters: { level: { optional: true } },
    body: {
      verb: 'update',
      key: ['id'],
      filters: {},
      data: [{ id: 1, level: { $param: 'level' }, note: 'new' }],
      returning: ['id', 'level', 'note']
    }
  },
  put_level: {
    database: 'shop',
    table: 'settings',
    as: 'front',
    parameters: { id: {}, level: { optional: true } },
    body: {
      verb: 'insert',
      data: { id: { $param: 'id' }, level: { $param: 'level' }, note: 'new' },
      onConflict: { key: ['id'] },
      returning: ['id', 'level', 'note']
    }
  },
  put_listed: {
    database: 'shop',
    table: 'settings',
    as: 'front',
    parameters: { id: {}, level: { optional: true } },
    body: {
      verb: 'insert',
      data: { id: { $param: 'id' }, level: { $param: 'level' }, note: 'new' },
      onConflict: { key: ['id'], set: ['level'] },
      returning: ['id', 'level', 'note']
    }
  },
  broken_own: {
    database: 'shop',
    table: 'products',
    parameters: { x: {} },
    body: { verb: 'select', columns: ['sku', 'size'], filters: { sku: { $param: 'x' } } }
  }
}

const on = sharedOnEachEngine(t, {
  schema: shop,
  tokens: [
    { name: 'website', sha256: hashToken('website'), requests: '*', claims: { customer: 1 } },
    { name: 'one', sha256: hashToken('one'), requests: ['add_product'] },
    { name: 'reader', sha256: hashToken('reader'), permissions: ['select'], databases: { shop: ['products'] } },
    { name: 'customers', sha256: hashToken('customers'), permissions: ['select'], databases: { shop: ['customers'] } }
  ],
  options: { roles: { front }, requests }
})

interface Call {
  readonly token?: string,
  readonly headers?: Record<string, string>,
  readonly method?: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
}

async function send (
  { server }: Service, path: string, { token = 'website', headers = {}, method = 'GET' }: Call = {}, body?: unknown
): Promise<Answer> {
  const response = await server.app.inject({
    method,
    url: `/api/requests/${path}`,
    headers: {
      authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers
    },
    ...(body !== undefined &&
      { payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) })
  })
  const json = response.body.startsWith('{') ? JSON.parse(response.body) : undefined
  return { status: response.statusCode, headers: response.headers, text: response.body, json }
}
const post = (service: Service, name: string, body: unknown = {}, call: Call = {}) => send(service, name, {
  ...call, method: 'POST'
}, body)

await on('a call gives parameters by GET and by POST', async (t, service) => {
  for (const [name, reason] of [
    ['broken', 'COLUMN_NOT_FOUND'], ['broken_write', 'COLUMN_NOT_WRITABLE'], ['broken_insert', 'MISSING_COLUMN'],
    ['broken_order', 'INVALID_ORDER_BY'], ['broken_own', 'COLUMN_NOT_FOUND']
  ] as const) {
    await until(`at the start, the log says what does not fit: ${name}`, async () =>
      service.log.some((line) => line.includes(`"request":"${name}"`) && line.includes(reason) &&
        line.includes('a named request does not fit')))
  }
  const { json } = await send(service, 'find_customers?status=new&name=Gra')
  t.same(json, { success: true, data: { rows: [{ id: 2, name: 'Grace' }], count: 1, next: null } })
  t.same((await post(service, 'find_customers', { status: ['new'], name: 'Gra' })).json, json)
  const first = await send(service, 'find_customers?size=2')
  t.same(first.json.data, { rows: [{ id: 4, name: 'Zoë' }, { id: 3, name: 'Linus' }], count: 2, next: { id: 3 } })
  const next = encodeURIComponent(JSON.stringify(first.json.data.next))
  t.same((await send(service, `find_customers?size=1&after=${next}`)).json.data.rows, [{ id: 2, name: 'Grace' }])
  t.same((await post(service, 'find_customers', { size: 1, after: { id: 3 } })).json.data.rows, [
    { id: 2, name: 'Grace' }
  ])
  t.same((await send(service, 'find_customers?credit=12.50&since=2026-02-01T00:00:00')).json.data.rows, [
    { id: 4, name: 'Zoë' }
  ])
  t.same((await post(service, 'find_customers', { status: [] })).json.data.count, 0)
  t.same((await send(service, 'find_customers?name=Zo%C3%AB&ids=4&ids=2')).json.data.rows, [{ id: 4, name: 'Zoë' }])
})

await on('a write stores the values, and an optional column is left out', async (t, service) => {
  const { status, json } = await post(service, 'add_product', { sku: 'A', name: 'Ä', price: '1.50', tags: { $inc: 1 } })
  t.same([status, json], [
    200, { success: true, data: { inserted: 1, id: 'A', rows: [{ sku: 'A', price: '1.50', tags: { $inc: 1 } }] } }
  ])
  t.same((await post(service, 'add_product', { sku: 'B', name: 'B', price: 2 })).json.data.rows[0], {
    sku: 'B', price: '2.00', tags: null
  })
  t.same((await post(service, 'rename', { id: 1, note: 'x' })).json.data, { updated: 1 })
  t.same(await service.sql('select name, note from customers where id = 1'), [{ name: 'Ada', note: 'x' }])
  t.same((await post(service, 'rename', { id: 1, note: null })).json.data, { updated: 1 })
  t.match((await post(service, 'rename', { id: 1 })).json.error, { code: 'INVALID_BODY', details: [] })
  t.match((await post(service, 'rename', { id: 1, name: null })).json.error, {
    code: 'NOT_NULL_VIOLATION', details: [{ path: '/name' }]
  })
  t.match((await post(service, 'remove_others', { keep: [] })).json.error, { code: 'FILTERS_REQUIRED', details: [] })
  t.same((await post(service, 'order', { customer: 1, note: 'o' })).json.data.results[1], {
    rows: [{ customer_id: 1, note: 'o' }], count: 1
  })
  t.match((await post(service, 'order', { customer: 2, note: 'o' })).json.error, { code: 'PERMISSION_DENIED' })
})

await on('a column whose optional parameter is left out is as if it were not in the data', async (t, service) => {
  const fill = async (): Promise<void> => {
    await service.sql('delete from settings')
    await service.sql("insert into settings (id, level, note) values (1, 5, 'old')")
  }
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
  for (const [name, body, rows, why] of cases) {
    await fill()
    t.same((await post(service, name, body)).json.data?.rows, rows, `${name}, ${why}`)
  }
})

await on('an error leads into the parameters and names no column', async (t, service) => {
  const cases: Array<[string, unknown, string, unknown]> = [
    ['find_customers', { ids: [1, 'x'] }, 'INVALID_VALUE', [
      { path: '/ids/1', message: /^Parameter "ids": expected an integer/ }
    ]],
    ['find_customers', { ids: [null] }, 'INVALID_VALUE', [
      { path: '/ids/0', message: 'Parameter "ids": null is not a value here' }
    ]],
    ['find_customers', { ids: 1 }, 'INVALID_VALUE', [{ path: '/ids' }]],
    ['find_customers', { name: '' }, 'INVALID_VALUE', [
      { path: '/name', message: 'Parameter "name": expected a text that is not empty' }
    ]],
    ['find_customers', { name: 'x'.repeat(1001) }, 'INVALID_BODY', [
      { path: '/name', message: 'Parameter "name": is longer than 1000 characters' }
    ]],
    ['find_customers', { size: 101 }, 'LIMIT_OUT_OF_RANGE', [{ path: '/size' }]],
    ['find_customers', { size: 1.5 }, 'INVALID_VALUE', [{ path: '/size' }]],
    ['find_customers', { size: null }, 'INVALID_VALUE', [{ path: '/size' }]],
    ['find_customers', { after: { name: 'x' } }, 'INVALID_BODY', [{ path: '/after/name' }]],
    ['find_customers', { other: 1 }, 'INVALID_BODY', [{ path: '/other' }]],
    ['add_product', { sku: 'A' }, 'INVALID_BODY', [{ path: '/name' }]],
    ['add_product', { sku: 'MUG-1', name: 'x', price: 1 }, 'UNIQUE_VIOLATION', [{ path: '/sku' }]],
    ['page', { from: 3 }, 'INVALID_BODY', [{ path: '/from', message: 'Parameter "from": must be from 0 to 2' }]],
    ['page', { from: -1 }, 'INVALID_BODY', [{ path: '/from' }]],
    ['find_customers', { size: 0 }, 'LIMIT_OUT_OF_RANGE', [{ path: '/size' }]],
    ['broken', { x: 1 }, 'BROKEN_DEFINITION', []],
    ['broken_write', { x: 1 }, 'BROKEN_DEFINITION', []],
    ['broken_insert', { x: 'a' }, 'BROKEN_DEFINITION', []],
    ['broken_order', { x: 'a' }, 'BROKEN_DEFINITION', []]
  ]
  for (const [name, body, code, details] of cases) {
    const { json, text } = await post(service, name, body)
    t.match(json.error, { code }, `${name} ${JSON.stringify(body)}`)
    t.equal(json.error.details.length, (details as unknown[]).length)
    t.match(json.error.details, details)
    t.notMatch(text, /customers"|products"|created_at|colour|login|order|Column/, text)
  }
  t.match((await post(service, 'own_products', { tags: 'x' }, { token: 'customers' })).json.error, {
    code: 'REQUEST_NOT_FOUND'
  })
  t.match((await post(service, 'broken_own', { x: 'a' }, { token: 'reader' })).json.error, {
    code: 'COLUMN_NOT_FOUND', details: [{ path: '/body/columns/1' }]
  })
  t.match((await post(service, 'broken_own', { x: 1 }, { token: TOKEN })).json.error, { code: 'COLUMN_NOT_FOUND' })
})

await on('an unknown request, one that may not be called, and a method are ' +
  'refused in this order', async (t, service) => {
  const cases: Array<[string, Call, unknown, number, string]> = [
    ['nothing', { token: 'wrong' }, undefined, 401, 'UNAUTHENTICATED'],
    ['nothing', {}, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { token: 'one' }, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { token: TOKEN }, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { token: 'one', method: 'POST' }, 'no json', 404, 'REQUEST_NOT_FOUND'],
    ['find_customers', { method: 'PUT' }, 'no json', 405, 'METHOD_NOT_ALLOWED'],
    ['add_product', { method: 'GET' }, undefined, 405, 'METHOD_NOT_ALLOWED'],
    ['add_product', { method: 'POST' }, undefined, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['add_product', { method: 'POST', headers: { 'content-type': 'text/csv' } }, 'sku', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['add_product', { method: 'POST' }, '', 400, 'INVALID_JSON'],
    ['add_product', { method: 'POST' }, '[]', 400, 'INVALID_BODY'],
    ['add_product', { method: 'POST' }, '{"sku": 1, "sku": 2}', 400, 'INVALID_JSON'],
    ['add_product?sku=1', { method: 'POST' }, '{}', 400, 'INVALID_BODY'],
    ['locked', { method: 'GET' }, undefined, 405, 'METHOD_NOT_ALLOWED'],
    ['two_tables?id=1', { token: 'customers' }, undefined, 404, 'REQUEST_NOT_FOUND'],
    ['find_customers?size=x', {}, undefined, 400, 'INVALID_VALUE'],
    ['find_customers?ids=1&ids=x', {}, undefined, 400, 'INVALID_VALUE'],
    ['find_customers?size=101', {}, undefined, 400, 'LIMIT_OUT_OF_RANGE'],
    ['broken?x=1', {}, undefined, 422, 'BROKEN_DEFINITION'],
    ['find_customers', { headers: { 'row-query-consistency': 'x' } }, undefined, 400, 'INVALID_BODY']
  ]
  for (const [path, call, body, status, code] of cases) {
    const answer = await send(service, path, call, body)
    t.same([answer.status, answer.json.error?.code], [status, code], `${call.method} ${path} ${answer.text}`)
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  const head = await send(service, 'find_customers?size=x', { method: 'HEAD' })
  t.same([head.status, head.text, head.headers['cache-control']], [400, '', 'no-store'])
  t.same((await send(service, 'find_customers?ids=1&ids=x')).json.error.details[0].path, '/ids/1', 'in their order')
  t.equal((await post(service, 'locked', { id: 1 })).status, 200)
  t.match((await send(service, 'two_tables?id=1', { token: TOKEN })).json.data.rows, [{ customers: { name: 'Ada' } }])
  t.equal((await send(service, 'find_customers', { method: 'DELETE' })).headers['allow'], 'GET, HEAD, POST')
  t.equal((await send(service, 'add_product', { method: 'DELETE' })).headers['allow'], 'POST')
})

await on('an answer to GET has a tag and a time for caches, and is JSON whatever is accepted', async (t, service) => {
  t.equal((await send(service, 'page?from=0')).headers['cache-control'], 'private, no-cache', 'without "maxAge"')
  for (const accept of ['text/csv', 'application/x-ndjson', 'text/html']) {
    for (const answer of [
      await send(service, 'page?from=3', { headers: { accept } }),
      await send(service, 'page?from=2', { headers: { accept } }),
      await post(service, 'page', { from: 2 }, { headers: { accept } })
    ]) t.match(answer.headers['content-type'], /^application\/json/, accept)
  }
  const { headers, text } = await send(service, 'find_customers')
  t.equal(headers['cache-control'], 'private, max-age=30')
  t.equal(headers['vary'], 'Authorization, Row-Query-Consistency')
  const head = await send(service, 'find_customers', { method: 'HEAD' })
  t.same([head.status, head.text, head.headers['etag'], head.headers['content-length']], [
    200, '', headers['etag'], String(Buffer.byteLength(text))
  ])
  const again = await send(service, 'find_customers', { headers: { 'if-none-match': String(headers['etag']) } })
  t.same([again.status, again.text], [304, ''])
  t.equal((await post(service, 'find_customers')).headers['etag'], undefined)
})
