/** Selects that are answered with streams: which ones, with what, and what is refused. */
import t from 'tap'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { isRefusal } from '../support/refusals.ts'
import { type Answer, type Service, sharedOnEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen, request } from '../support/wire.ts'

const NDJSON = 'application/x-ndjson'
const CSV = 'text/csv'

/** Asks for a stream. */
const ask = (service: Pick<Service, 'post'>, table: string, body: object | string, {
  accept = NDJSON, token = TOKEN
} = {}): Promise<Answer> => service.post(table, body, { token, headers: { accept } })

/** What a JSON answer has as rows, each as a line: the bytes between its brackets. */
const linesOf = (text: string): string =>
  text.slice(text.indexOf('[') + 1, text.lastIndexOf('],"count"')).replaceAll('},{"id"', '}\n{"id"') + '\n'

const tokens = [
  tokenFor('reader', {
    customers: { permissions: ['select'], columns: { select: ['id', 'name', 'status'] }, rows: { status: 'new' } }
  }),
  tokenOf('writer', { permissions: ['insert'] })
]

const test = sharedOnEachEngine(t, {
  schema: (engine) => engine === 'sqlite'
    ? [...shop.sqlite, 'create table odd (id integer primary key, "a,b" text, "c""d" text)']
    : [...shop.mysql, 'create table odd (id int primary key, `a,b` mediumtext, `c"d` text)'],
  tokens
})

await test('a select is answered row by row where Accept asks for it', async (t, service) => {
  const { post, engine } = service
  const select = { verb: 'select', orderBy: 'id' }
  const whole = await post('customers', select)
  t.match(whole.headers, { vary: 'Accept' })
  const stream = await ask(service, 'customers', select)
  t.match(stream, {
    status: 200, headers: { 'content-type': NDJSON, vary: 'Accept', 'x-request-id': /./, 'cache-control': 'no-store' }
  })
  t.equal(stream.text, linesOf(whole.text), 'the lines are the rows of the JSON answer, byte for byte')

  const columns = ['id', 'email', 'credit', 'note', 'created_at']
  const csv = await ask(service, 'customers', { ...select, columns }, { accept: CSV })
  t.match(csv, { status: 200, headers: { 'content-type': 'text/csv; charset=utf-8; header=present', vary: 'Accept' } })
  t.equal(csv.text, [
    'id,email,credit,note,created_at',
    '1,ada@example.com,12.50,,2026-01-02T03:04:05',
    '2,grace@example.com,0.99,likes % and _,2026-02-02T03:04:05',
    '3,linus@example.com,-3.00,,2026-03-02T03:04:05',
    '4,zoë@example.com,1000000.01,rush it,2026-04-02T03:04:05'
  ].map((line) => `${line}\r\n`).join('').replaceAll(/(?<=\d\d:\d\d:\d\d)(?=\r)/g, engine === 'sqlite' ? '' : '.000'))

  for (const [accept, type] of [
    ['TEXT/CSV;charset=utf-8', CSV], ['text/csv;q=0.5, application/x-ndjson;q=0.9', NDJSON],
    ['application/json, text/csv', 'application/json'], ['text/csv, application/json', CSV],
    ['application/json;q=0.5, text/csv;q=0.6', CSV], ['text/csv;q=0', 'application/json'],
    ['text/csv;q=0, application/x-ndjson', NDJSON], ['text/*', 'application/json'], ['*/*', 'application/json'],
    ['text/html, */*;q=0.1', 'application/json'], ['application/ndjson', 'application/json'], ['text/csv; note="a, ' +
      'b"; q=0.2, application/x-ndjson;q=0.3', NDJSON], ['text/csvx', 'application/json'], ['*/*, text/csv;q=0.1', CSV]
  ] as const) {
    t.match((await ask(service, 'customers', select, { accept })).headers, {
      'content-type': new RegExp(`^${type}`), vary: 'Accept'
    }, accept)
  }
  t.match(
    (await ask(service, 'customers', { verb: 'update', data: { note: 'x' }, filters: { id: 99 } })).headers,
    { 'content-type': /^application\/json/, vary: 'Accept' }, 'another verb is answered in JSON'
  )
  t.match(
    (await service.operate([{ table: 'customers', verb: 'select' }], { headers: { accept: NDJSON } })).headers,
    { 'content-type': /^application\/json/ }, 'and so are operations'
  )

  t.equal((await ask(service, 'customers', { ...select, filters: { id: 99 } })).text, '', 'no rows are no lines')
  t.equal((await ask(service, 'customers', { ...select, columns: ['id', 'note'], filters: { id: 99 } }, {
    accept: CSV
  })).text, 'id,note\r\n', 'but the names')

  const seen = await ask(service, 'customers', { verb: 'select', orderBy: 'id' }, { token: 'reader' })
  t.equal(
    seen.text, '{"id":1,"name":"Ada","status":"new"}\n{"id":2,"name":"Grace","status":"new"}\n',
    'a grant sees its own columns and rows'
  )
  for (const [table, body, status, code] of [
    ['orders', {}, 404, 'TABLE_NOT_FOUND'], ['customers', { columns: ['email'] }, 400, 'COLUMN_NOT_FOUND'],
    ['customers', { include: { orders: {} } }, 404, 'TABLE_NOT_FOUND']
  ] as const) {
    const refused = await ask(service, table, { verb: 'select', ...body }, { token: 'reader' })
    t.match([refused.status, refused.text], [status, code], `${table} ${code}`)
  }
})

await test('the fields of a select work in a stream', async (t, shared) => {
  const service = { ...shared, ...await startService(t, shared.url, { options: { limits: { offset: 10 } } }) }
  const ids = async (body: object): Promise<string> => {
    const { status, text } = await ask(service, 'customers', { verb: 'select', columns: ['id'], ...body }, {
      accept: CSV
    })
    return status === 200 ? text.trim().split('\r\n').slice(1).join() : JSON.parse(text).error.code
  }
  await service.sql(
    `insert into customers (email, name)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < 900)
      select ${service.engine === 'sqlite' ? "'c' || i" : "concat('c', i)"}, 'x' from n`
  )
  t.equal((await ids({})).split(',').length, 904, 'without a limit, every row')
  t.equal((await ids({ limit: 5000 })).split(',').length, 904, 'the limit may be any number')
  t.equal(await ids({ limit: 2, orderBy: 'id' }), '1,2')
  t.equal((await ids({ limit: 1e15 })).split(',').length, 904)
  t.equal((await ids({ limit: 1e300 })).split(',').length, 904)
  t.equal(await ids({ limit: 2, orderBy: 'id DESC', after: { id: 4 } }), '3,2')
  t.equal(
    await ids({ columns: ['name'], limit: 2, orderBy: 'id', after: { id: 1 } }), 'Grace,Linus',
    'the position needs no column of the answer'
  )
  t.equal(await ids({ limit: 2, orderBy: 'id', after: null }), '1,2')
  t.equal(await ids({ orderBy: 'id', offset: 2, limit: 3 }), '3,4,5')
  t.equal(await ids({ filters: { name: { $startsWith: 'A' } } }), '1')
  t.equal(await ids({ orderBy: 'id', offset: 11 }), 'INVALID_BODY')
  t.equal(await ids({ offset: 1, after: null }), 'INVALID_BODY')
  for (const limit of [0, -1]) t.equal(await ids({ limit }), 'LIMIT_OUT_OF_RANGE', `limit ${limit}`)
  for (const limit of [1.5, '5', null, true]) t.equal(await ids({ limit }), 'INVALID_BODY', `limit ${limit}`)
  for (const body of [
    { total: true }, { expect: 1 }, { foo: 1 }, { include: { orders: {} } }, { include: { orders: { as: 'object' } } },
    { include: { n: { table: 'orders', aggregates: { n: { $count: '*' } } } } }
  ]) t.equal(await ids(body), 'INVALID_BODY', JSON.stringify(body))
  t.match(JSON.parse(
    (await ask(service, 'orders', { verb: 'select', include: { customers: { include: { orders: {} } } } })).text
  ).error.details, [{ path: '/include/customers/include/orders' }])
  t.match(JSON.parse((await ask(service, 'orders', { verb: 'select', include: { customers: { as: 'list' } } })).text)
    .error, { code: 'INVALID_BODY', message: /"as"/, details: [{ path: '/include/customers' }] })
  t.equal((await ask(service, 'customers', '{"verb":"select"', {})).status, 400)

  t.equal((await ask(service, 'customers', {
    verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' } }, having: { n: { $lt: 10 } }
  })).text, '{"status":"old","n":2}\n')
  t.equal((await ask(
    service, 'customers',
    { verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' }, most: { $max: 'credit' } }, orderBy: 'n' },
    { accept: CSV }
  )).text, 'status,n,most\r\nold,2,1000000.01\r\nnew,902,12.50\r\n')

  const include = { customer: { table: 'customers', as: 'object', orderBy: 'name', columns: ['id', 'name'] } }
  const whole = await service.post('orders', { verb: 'select', orderBy: 'id', include })
  t.equal((await ask(service, 'orders', { verb: 'select', orderBy: 'id', include })).text, linesOf(whole.text))
  t.equal(
    (await ask(service, 'orders', { verb: 'select', columns: ['note'], orderBy: 'id', include }, { accept: CSV })).text,
    'note,customer\r\nfirst,"{""id"":1,""name"":""Ada""}"\r\n,"{""id"":2,""name"":""Grace""}"\r\n'
  )
  const none = {
    customer: {
      table: 'customers',
      columns: ['name'],
      filters: { status: 'old' },
      include: { same: { table: 'customers', on: { id: 'id' }, columns: ['id'] } }
    }
  }
  t.equal(
    (await ask(service, 'orders', { verb: 'select', columns: ['id'], include: none, limit: 1 }, { accept: CSV })).text,
    'id,customer\r\n1,\r\n', 'a member that is not there is nothing'
  )
})

await test('limits.streamRows bounds the rows', async (t, shared) => {
  const service = { ...shared, ...await startService(t, shared.url, { options: { limits: { streamRows: 3 } } }) }
  const select = { verb: 'select', columns: ['id'], orderBy: 'id' }
  t.match(JSON.parse((await ask(service, 'customers', { ...select, limit: 4 })).text), {
    error: { code: 'LIMIT_OUT_OF_RANGE', message: '"limit" must be from 1 to 3' }
  })
  t.equal(
    (await ask(service, 'customers', { ...select, limit: 3 })).text, '{"id":1}\n{"id":2}\n{"id":3}\n',
    'a limit may leave rows out'
  )
  t.equal((await ask(service, 'orders', select)).text, '{"id":1}\n{"id":2}\n')
  const wire = await listen(service)
  const socket = await wire.open()
  socket.write(
    request({ start: 'POST /api/shop/customers HTTP/1.1', with: [`Accept: ${NDJSON}`], body: JSON.stringify(select) })
  )
  const text = String(Buffer.concat(await Array.fromAsync(socket)))
  t.match(text, /^HTTP\/1.1 200 /)
  t.match(text, '{"id":1}\n{"id":2}\n{"id":3}\n', 'the rows before arrive')
  t.notMatch(text, /\r\n0\r\n/, 'and the connection ends without the last chunk')
  t.match(JSON.parse(service.log.findLast((line) => line.includes('"stream"')) as string), {
    msg: 'stream',
    rows: 3,
    bytes: 27,
    complete: false,
    reason: 'STREAM_ROWS',
    code: 'RESULT_TOO_LARGE',
    status: 200,
    verb: 'select',
    table: 'customers',
    token: 'everything'
  })
})

await test('a request of HTTP/1.0 is answered in JSON, and HEAD has no stream', async (t, service) => {
  const wire = await listen(service)
  const body = '{"verb":"select","columns":["id"],"limit":1}'
  const send = async (...starts: string[]): Promise<string> => {
    const socket = await wire.open()
    for (const [index, start] of starts.entries()) {
      socket.write(
        request({
          start, with: [`Accept: ${NDJSON}`], ...index < starts.length - 1 && { without: ['Connection'] }, body
        })
      )
    }
    return String(Buffer.concat(await Array.fromAsync(socket)))
  }
  const old = await send('POST /api/shop/customers HTTP/1.0')
  t.match(old, /content-type: application\/json/i)
  t.match(old, '{"success":true,"data":{"rows":[{"id":1}],"count":1}}')
  t.match(await send('HEAD /api/shop/customers HTTP/1.1'), /^HTTP\/1.1 405 /)
  const start = 'POST /api/shop/customers HTTP/1.1'
  const [before, ...answers] = (await send(start, start, start)).split('HTTP/1.1 200 OK')
  t.equal(before, '')
  t.equal(answers.length, 3, 'pipelined streams come one after the other')
  for (const answer of answers) t.match(answer, /\r\n\r\n9\r\n\{"id":1\}\n\r\n0\r\n\r\n$/)
})

await test('what a stream does not have is refused before the permission', async (t, { post }) => {
  for (const field of ['total', 'expect']) {
    const refused = await post('customers', { verb: 'select', [field]: 1 }, {
      token: 'writer', headers: { accept: 'text/csv' }
    })
    isRefusal(t, refused, { status: 400, code: 'INVALID_BODY', why: field })
    t.match(refused.json.error.details, [{ path: `/${field}` }])
  }
  isRefusal(t, await post('customers', { verb: 'select' }, { token: 'writer', headers: { accept: 'text/csv' } }), {
    status: 403, code: 'PERMISSION_DENIED', why: 'the select itself'
  })
})

await test('a stream and a page with the same columns have statements of their own', async (t, service) => {
  const page = { verb: 'select', columns: ['name'], orderBy: 'id', after: null, limit: 2 }
  for (const body of [page, { ...page, orderBy: 'email, id' }]) {
    const inJson = async (): Promise<void> => {
      t.match((await service.post('customers', body)).json, {
        data: { rows: [{ name: 'Ada' }, { name: 'Grace' }], next: { id: 2 } }
      })
    }
    const inStream = async (): Promise<void> => {
      t.equal((await ask(service, 'customers', body)).text, '{"name":"Ada"}\n{"name":"Grace"}\n')
      t.equal((await ask(service, 'customers', body, { accept: CSV })).text, 'name\r\nAda\r\nGrace\r\n')
    }
    for (const read of body === page ? [inJson, inStream, inJson] : [inStream, inJson, inStream]) await read()
  }
})

await test('texts and names are quoted where they must be', async (t, { post }) => {
  const texts = [
    '', ' a', 'a ', ' ', 'a,b', 'a"b', '"', '""', 'a\rb', 'a\nb', '\r\n', 'a b', '\ta', "'", '=1+1', 'ü',
    `${'x'.repeat(70_000)}"`, 'x'.repeat(600)
  ]
  t.equal(
    (await post('odd', { verb: 'insert', data: texts.map((text, id) => ({ id, 'a,b': text, 'c"d': null })) })).status,
    200
  )
  const { text } = await post('odd', { verb: 'select', orderBy: 'id' }, { headers: { accept: CSV } })
  const cells = [
    '""', '" a"', '"a "', '" "', '"a,b"', '"a""b"', '""""', '""""""', '"a\rb"', '"a\nb"', '"\r\n"', 'a b', '\ta', "'",
    '=1+1', 'ü', `"${'x'.repeat(70_000)}"""`, 'x'.repeat(600)
  ]
  t.equal(text, `id,"a,b","c""d"\r\n${cells.map((cell, id) => `${id},${cell},\r\n`).join('')}`)
})
