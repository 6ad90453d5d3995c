/** Imports: bodies of CSV and NDJSON, in one transaction or in batches. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { CSV, itemsOf, load, NDJSON } from '../support/load.ts'
import { anyEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'

const ITEMS = itemsOf('price decimal(10,2) default 1, stock int not null default 5, note varchar(100), meta json')
const schema = (engine: EngineName): string[] => [
  ...(engine === 'sqlite' ? CREATE.sqlite.split(';\n') : [CREATE.mysql]).filter((statement) => statement !== ''),
  ...ITEMS(engine),
  'create table nodes (id int primary key, parent int, foreign key (parent) references nodes (id))',
  'create table one (a int)',
  `create table loose (id int primary key, a int)${engine === 'sqlite' ? '' : ' engine=myisam'}`,
  'create view seen as select id from items',
  `create table trees (id int primary key, tenant int not null, parent int, twice int as (id * 2),
    foreign key (parent) references trees (id))`,
  'insert into trees (id, tenant) values (1, 1), (2, 2)'
]

const tenant = 'a-token-of-one-tenant-0123456789'
const tokens = [
  tokenOf('adder', { permissions: ['insert'] }), tokenOf('reader', { permissions: ['select'] }),
  tokenFor(tenant, {
    items: { columns: { select: ['id', 'sku', 'stock'], insert: ['sku', 'stock', 'price'] }, rows: { stock: [5, 6] } },
    trees: { rows: { tenant: 1 } }
  })
]

const test = sharedOnEachEngine(t, {
  schema, tokens, options: { limits: { importRow: 300_000, importRows: 1300 } }
})

const skus = async ({ sql }: Service): Promise<string[]> =>
  (await sql('select sku from items order by id')).map(({ sku }) => sku)

await test('the rows of a body are inserted, with NULL, texts and defaults', async (t, service) => {
  const csv = await load(
    service, 'items', 'sku,price,note,meta\r\na,1.50,,"{""$x"":1}"\r\n"b",,"",null\r\nc,2,"x, ""y""\r\nz",[1.50]\r\n'
  )
  t.match(csv, { status: 200, json: { success: true, data: { inserted: 3, updated: 0, unchanged: 0 } } })
  t.notOk('id' in csv.json.data)
  const rows = await service.post('items', {
    verb: 'select', columns: ['sku', 'price', 'stock', 'note', 'meta'], filters: { id: { $gt: 1 } }
  })
  t.equal(rows.text.slice(rows.text.indexOf('['), rows.text.lastIndexOf(']') +
    1).replaceAll(/("\$x"|"meta"): /g, '$1:'), JSON.stringify([
    { sku: 'a', price: '1.50', stock: 5, note: null, meta: { $x: 1 } },
    { sku: 'b', price: null, stock: 5, note: '', meta: null },
    { sku: 'c', price: '2.00', stock: 5, note: 'x, "y"\r\nz', meta: [1.5] }
  ]).replace('[1.5]', '[1.50]').replace('[1.50]', service.engine === 'mysql' ? '[1.5]' : '[1.50]'))
  t.strictSame(
    await service.sql("select sku from items where meta is null and sku in ('a', 'b', 'c')"), [],
    'the cell null is the JSON value null'
  )

  const lines = await load(service, 'items', '{"sku":"d","stock":7}\n\n{"note":"n","sku":"e"}\n', {
    type: `${NDJSON}; charset=utf-8`
  })
  t.match(lines.json.data, { inserted: 2 })
  t.strictSame(
    (await service.sql("select stock, note from items where sku in ('d', 'e') order by id")).map((row) => ({ ...row })),
    [{ stock: 7, note: null }, { stock: 5, note: 'n' }]
  )
  t.match(await load(service, 'one', 'a\n\n1\n'), { json: { data: { inserted: 2 } } })
})

await test('onConflict updates rows that exist, and set says which columns', async (t, service) => {
  t.match((await load(service, 'items', 'sku,price\nold,2\nnew,3\n', { query: '?onConflict=sku' })).json.data, {
    inserted: 1, updated: 1, unchanged: 0
  })
  t.match(
    (await load(service, 'items', 'sku,price,stock\nold,4,9\n', { query: '?onConflict=sku&set=stock' })).json.data,
    { inserted: 0, updated: 1, unchanged: 0 }
  )
  t.match((await load(service, 'items', 'sku,price\nold,5\n', { query: '?onConflict=sku&set=' })).json.data, {
    inserted: 0, updated: 0, unchanged: 1
  })
  t.strictSame((await service.sql("select price, stock from items where sku = 'old'")).map(
    ({ price, stock }) => [Number(price), stock]
  ), [[2, 9]])
  t.match(await load(service, 'items', 'sku\nold\n', { query: '?onConflict=note' }), {
    status: 400, json: { error: { code: 'INVALID_BODY' } }
  })
  t.match(await load(service, 'items', 'sku,price\nold,5\n', { query: '?onConflict=sku', token: 'adder' }), {
    status: 403
  })
  t.match(await load(service, 'items', 'sku,price\nx,5\n', { query: '?onConflict=sku&set=', token: 'adder' }), {
    status: 200
  })
})

await test('a dry run counts and changes nothing', async (t, service) => {
  const { json } = await load(service, 'items', 'sku\na\nb\n', { query: '?dryRun=true' })
  t.strictSame(json.data, { inserted: 2, updated: 0, unchanged: 0, dryRun: true })
  t.strictSame(await skus(service), ['old'])
})

await test('a transaction of the whole is all or nothing, and one for each batch says ' +
  'what is committed', async (t, service) => {
  const csv = ['sku', ...Array.from({ length: 1300 }, (_, index) => `s${index}`)]
  csv[1101] = 'old'
  const text = csv.join('\n')
  const whole = await load(service, 'items', text)
  t.match(whole, {
    status: 409, json: { error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/1100/sku', line: 1102 }] } }
  })
  t.notOk('committed' in whole.json.error)
  t.strictSame(await skus(service), ['old'])
  const batch = await load(service, 'items', text, { query: '?transaction=batch' })
  t.match(batch, {
    status: 409,
    json: {
      error: {
        code: 'UNIQUE_VIOLATION',
        committed: { rows: 1000, line: 1001 },
        details: [{ path: '/data/1100/sku', line: 1102 }]
      }
    }
  })
  t.equal((await skus(service)).length, 1001)
  csv[1101] = 'other'
  t.match(
    (await load(service, 'items', ['sku', ...csv.slice(1001)].join('\n'), { query: '?transaction=batch' })).json.data,
    { inserted: 300 }
  )
  t.match(await load(service, 'items', 'sku\na\n"b\n', { query: '?transaction=batch' }), {
    status: 400, json: { error: { code: 'INVALID_BODY', committed: { rows: 0, line: 0 }, details: [{ line: 3 }] } }
  })
})

await test('a row may name a row of its own or an earlier batch, and no other', async (t, service) => {
  const rows = Array.from({ length: 1100 }, (_, index) => `${index},${index === 0 ? '' : Math.floor(index / 2)}`)
  t.match(await load(service, 'nodes', `id,parent\n${rows.join('\n')}\n`), { json: { data: { inserted: 1100 } } })
  t.match(await load(service, 'nodes', 'id,parent\n9001,9000\n'), {
    status: 409, json: { error: { code: 'FOREIGN_KEY_VIOLATION' } }
  })
})

await test('under rules, a row may name a row of its own or an earlier batch, and none ' +
  'of another tenant', async (t, service) => {
  const rows = Array.from({ length: 1100 }, (_, index) => `${index + 10},1,${index === 0 ? 1 : index + 9}`)
  const send = (list: string[], query: string) => load(service, 'trees', `id,tenant,parent\n${list.join('\n')}\n`, {
    token: tenant, query
  })
  for (const [query, rest] of [['', 2], ['?transaction=batch', 1002]] as const) {
    t.match(await send(rows, query), { status: 200, json: { data: { inserted: 1100 } } }, query)
    await service.sql('update trees set parent = null')
    await service.sql('delete from trees where id > 2')
    t.match(await send(rows.with(1050, '1060,1,2'), query), {
      status: 409,
      json: { error: { code: 'FOREIGN_KEY_VIOLATION', details: [{ path: '/data/1050/parent', line: 1052 }] } }
    }, query)
    t.match(await service.sql('select count(*) as n from trees'), [{ n: new RegExp(`^${rest}n?$`) }], query)
  }
})

await test('generated columns are refused', async (t, service) => {
  t.match(await load(service, 'trees', 'id,tenant,twice\n10,1,20\n'), {
    status: 400, json: { error: { code: 'COLUMN_NOT_WRITABLE', details: [{ path: '/data/0/twice', line: 1 }] } }
  })
  t.match(await load(service, 'trees', '{"id":10,"tenant":1}\n{"id":11,"tenant":1,"twice":22}', { type: NDJSON }), {
    status: 400, json: { error: { code: 'COLUMN_NOT_WRITABLE', details: [{ path: '/data/1/twice', line: 2 }] } }
  })
})

await test('the rules of a grant hold for each row', async (t, service) => {
  t.match(await load(service, 'items', 'sku,stock\na,6\n', { token: tenant }), {
    status: 200, json: { data: { inserted: 1 } }
  })
  t.match(await load(service, 'items', 'sku,stock\nb,6\nc,7\n', { token: tenant }), {
    status: 403, json: { error: { details: [{ path: '/data/1', line: 3 }] } }
  })
  t.match(await load(service, 'items', 'sku,stock,note\nb,6,x\n', { token: tenant }), {
    status: 400, json: { error: { code: 'COLUMN_NOT_FOUND', details: [{ path: '/data/0/note', line: 1 }] } }
  })
  t.match(await load(service, 'items', 'sku,stock,id\nb,6,5\n', { token: tenant }), {
    status: 400, json: { error: { code: 'COLUMN_NOT_WRITABLE' } }
  })
  t.match(await load(service, 'items', 'sku\nb\n', { token: 'reader' }), {
    status: 403, json: { error: { code: 'PERMISSION_DENIED' } }
  })
  t.match(await load(service, 'seen', 'id\n1\n'), { status: 403 })
})

await test('what is refused names its place and line', async (t, service) => {
  for (const [body, status, code, details, options] of [
    ['sku,price\na,1\nb,x\n', 400, 'INVALID_VALUE', [{ path: '/data/1/price', line: 3 }]],
    ['sku,price,meta\na,x,1\nb,1,{\n', 400, 'INVALID_VALUE', [{ path: '/data/0/price', line: 2 }]],
    ['sku,stock\na,1e30\n', 400, 'INVALID_VALUE', [{ path: '/data/0/stock', line: 2 }]],
    ['sku,stock\na,\n', 422, 'NOT_NULL_VIOLATION', [{ path: '/data/0/stock', line: 2 }]],
    ['sku,stock\na,""\n', 400, 'INVALID_VALUE', [{ path: '/data/0/stock', line: 2 }]],
    ['sku,meta\na,"{""a"":1,""a"":2}"\n', 400, 'INVALID_VALUE', [{ path: '/data/0/meta', line: 2 }]],
    ['stock\n1\n', 400, 'MISSING_COLUMN', [{ path: '/data/0/sku', line: 2 }]],
    ['sku,nope\na,1\n', 400, 'COLUMN_NOT_FOUND', [{ path: '/data/0/nope', line: 1 }]],
    ['sku;stock\na;1\n', 400, 'COLUMN_NOT_FOUND', [
      { message: /cells seem to be separated by ";": send them with \?separator=;$/, line: 1 }
    ]],
    ['', 400, 'INVALID_BODY', [{ line: 1 }]],
    [`sku,note\na,${'x'.repeat(300_001)}\n`, 413, 'BODY_TOO_LARGE', [{ line: 2 }]],
    [`sku\n${'a\n'.repeat(1301)}`, 413, 'BODY_TOO_LARGE', [{ line: 1302 }], {
      query: '?dryRun=true&onConflict=sku&set='
    }],
    ['{"sku":"a"}\n{"sku":{"$inc":1}}\n', 400, 'INVALID_VALUE', [{ path: '/data/1/sku', line: 2 }], { type: NDJSON }],
    ['{"sku":"a"}\n{"sku":"b","nope":1}\n', 400, 'COLUMN_NOT_FOUND', [{ path: '/data/1/nope', line: 2 }], {
      type: NDJSON
    }],
    ['{"sku":"a"', 400, 'INVALID_JSON', [{ line: 1 }], { type: NDJSON }],
    ['{"sku":"a"}\n{"stock":1}\n', 400, 'MISSING_COLUMN', [{ path: '/data/1/sku', line: 2 }], { type: NDJSON }],
    ['{"sku":null}\n', 422, 'NOT_NULL_VIOLATION', [{ path: '/data/0/sku', line: 1 }], { type: NDJSON }],
    ['{"sku":"a"}\n\n\n{"sku":"b","price":"1.234"}', 400, 'INVALID_VALUE', [{ path: '/data/1/price', line: 4 }], {
      type: NDJSON
    }],
    ['sku\na\n', 415, 'UNSUPPORTED_MEDIA_TYPE', [], { type: 'text/csv; charset=latin1' }],
    ...[
      'text/csv; header=absent', 'text/csv;Header="absent"', 'text/csv; header=present; charset=latin1',
      'text/csv; charset=utf-8; charset=latin1', 'text/csv; charset=utf-16'
    ]
      .map((type) => ['sku\na\n', 415, 'UNSUPPORTED_MEDIA_TYPE', [], { type }]),
    ['sku\na\n', 415, 'UNSUPPORTED_MEDIA_TYPE', [], { headers: { 'content-encoding': 'br' } }],
    ['sku\na\n', 400, 'INVALID_BODY', [], { headers: { 'content-encoding': 'gzip' } }],
    [gzipSync('sku\na\n').subarray(0, 20), 400, 'INVALID_BODY', [], { headers: { 'content-encoding': 'gzip' } }]
  ] as Array<[string | Buffer, number, string, object[], Parameters<typeof load>[3]?]>) {
    const answer = await load(service, 'items', body, options)
    t.match(
      answer, { status, json: { success: false, error: { code, details } } },
      `${String(body).slice(0, 40)} ${answer.text}`
    )
  }
  t.strictSame(await skus(service), ['old'], 'nothing was written')
})

await test('a body without rows is refused for its header and its options as one with rows', async (t, service) => {
  for (const [header, row, query] of [
    ['nope\n', '1\n', ''], ['sku,nope\n', 'a,1\n', ''], ['sku\n', 'a\n', '?onConflict=nope'],
    ['sku\n', 'a\n', '?onConflict=sku&set=nope'], ['sku\n', 'a\n', '?onConflict=price']
  ] as const) {
    for (const more of ['', `${query === '' ? '?' : '&'}transaction=batch`]) {
      const alone = await load(service, 'items', header, { query: query + more })
      const { error } = (await load(service, 'items', header + row, { query: query + more })).json
      t.match(alone, { status: 400, json: { error } }, `${header}${query}${more} ${alone.text}`)
    }
  }
  for (const query of ['', '?transaction=batch', '?onConflict=sku']) {
    t.match(await load(service, 'items', 'stock\n', { query }), {
      status: 400,
      json: {
        error: {
          code: 'MISSING_COLUMN',
          message: 'The header is missing columns that have no default: "sku"',
          details: [{ path: '/data/0/sku', line: 1 }]
        }
      }
    }, 'a column that each row needs')
  }
  t.match(await load(service, 'items', '', { type: NDJSON, query: '?onConflict=nope' }), { status: 400 })
  t.match(await load(service, 'items', 'sku\n', { query: '?onConflict=sku&set=price' }), {
    status: 200, json: { data: { inserted: 0, updated: 0, unchanged: 0 } }
  })
  t.match(await load(service, 'items', '', { type: NDJSON }), { status: 200 })
})

await test('a refusal shows the cell, and says what file it is and how to save it', async (t, service) => {
  const long = 'x'.repeat(100)
  for (const [body, message, options] of [
    [
      'sku,price\na,"12,50"\n',
      /^Column "price": expected a decimal number; the cell is "12,50"; a number has a decimal point, not a comma$/
    ],
    ['sku,stock\na,"1.234,5"\n', /; the cell is "1\.234,5"; a number has a decimal point/],
    [`sku,stock\na,${long}\n`, /^Column "stock": expected an integer; the cell is "x{40}"…$/],
    ['sku,meta\na,{\n', /not valid JSON, line 1, column 2; the cell is "\{"$|not valid JSON.*; the cell is "\{"$/],
    ['sku,price\na,12,50\n', /^The row has 3 cells, and the header 2; a cell with "," in it must be in quotes$/],
    ['stock\n1\n', /^The header is missing columns that have no default: "sku"$/],
    [`{"sku":"a","price":"${long}"}\n`, /; the value is "x{39}…$/, { type: NDJSON }],
    ['{"sku":"a","stock":12345678901234567890.5}\n', /; the value is 12345678901234567890\.5$/, { type: NDJSON }],
    [Buffer.from('PK\x03\x04\x14\x00\x00\x00', 'latin1'), /XLSX or ZIP file: .*"CSV UTF-8"/],
    [Buffer.from('\ufeffsku\na\n', 'utf16le'), /UTF-16: save it in UTF-8/],
    [Buffer.from('sku\na\n', 'utf16le'), /UTF-16/],
    [Buffer.from('sku\na\n', 'utf16le').swap16(), /UTF-16/],
    [gzipSync('sku\na\n'), /gzip: send Content-Encoding: gzip/],
    [
      Buffer.from('sku\nJos\xe9\n', 'latin1'),
      /^The body is not UTF-8: it has the byte E9, which is "é" in Windows and Latin-1 files; .*"CSV UTF-8"$/
    ]
  ] as Array<[string | Buffer, RegExp, Parameters<typeof load>[3]?]>) {
    const { status, json } = await load(service, 'items', body, options)
    t.match([status, json.error?.message], [400, message])
  }
  t.match(await load(service, 'items', 'sku'), { status: 200 }, 'fewer bytes than the beginning of a file')
  t.strictSame(await skus(service), ['old'], 'nothing was written')
})

await test('options are in the query string, each once, and others are refused there', async (t, service) => {
  for (const query of [
    '?x=1', '?set=a', '?onConflict=', '?onConflict=sku,sku', '?dryRun=false', '?dryRun', '?transaction=none',
    '?separator=|', '?onConflict=sku&onConflict=sku', '?dryRun=true&transaction=batch'
  ]) {
    t.match(await load(service, 'items', 'sku\na\n', { query }), {
      status: 400, json: { error: { code: 'INVALID_BODY' } }
    }, query)
  }
  t.match(await load(service, 'items', '{"sku":"a"}', { query: '?separator=,', type: NDJSON }), { status: 400 })
  t.match(await load(service, 'items', '{"verb":"select"}', { query: '?dryRun=true', type: 'application/json' }), {
    status: 400, json: { error: { code: 'INVALID_BODY' } }
  })
  t.match(
    await load(service, 'nope', 'sku\na\n', { query: '?x=1' }), { status: 400 }, 'the options come before the table'
  )
  t.match(await load(service, 'nope', 'sku\na\n'), { status: 404 })
  t.strictSame(await skus(service), ['old'])
  t.match(await load(service, 'items', 'sku;price\na;"1.5"\n', { query: '?separator=;' }), { status: 200 })
  t.match(await load(service, 'items', 'sku\tprice\nb\t1.5\n', { query: '?separator=tab' }), { status: 200 })
})

await test('a body of gzip is decompressed', async (t, service) => {
  t.match(
    (await load(service, 'items', gzipSync('sku\na\nb\n'), { headers: { 'content-encoding': 'gzip' } })).json.data,
    { inserted: 2 }
  )
})

await test('other paths and methods have no imports', async (t, { post, operate }) => {
  const headers = { 'content-type': CSV }
  t.equal((await operate('a\n1\n', { headers })).status, 415)
  t.equal((await post('items', 'a\n1\n', { headers, method: 'QUERY' as 'POST' })).status, 415)
})

await test('415 names the media types that a path accepts', async (t, { server, post, operate }) => {
  const headers = { 'content-type': 'text/plain' }
  t.match(
    (await post('items', 'x', { headers })).json.error.message,
    /Content-Type: application\/json, or for an import text\/csv or application\/x-ndjson$/
  )
  t.match(
    (await post('items', 'x', { headers: { 'content-type': 'text/csv; charset=latin1' } })).json.error.message,
    /text\/csv/
  )
  t.match((await operate('x', { headers })).json.error.message, /Content-Type: application\/json$/)
  t.match(
    (await post('items', '{}', { headers, method: 'QUERY' as 'POST' })).json.error.message,
    /Content-Type: application\/json$/
  )
  const { statusCode, json } = await server.app.inject({
    method: 'POST',
    url: '/api/shop/items',
    headers: { authorization: 'Bearer test-token-that-may-do-everything-0123456789' }
  })
  t.match([statusCode, json().error.message], [415, /text\/csv/], 'without a type')
})

await test('a table without transactions takes only batches', async (t, service) => {
  t.match(await load(service, 'loose', 'id,a\n1,2\n'), { status: 422, json: { error: { code: 'NOT_SUPPORTED' } } })
  t.match(await load(service, 'loose', 'id,a\n1,2\n', { query: '?transaction=batch' }), { status: 200 })
}, ['mariadb', 'mysql'])

await test('an import with a key has one effect and the same answer, which its options ' +
  'and bytes identify', async (t, service) => {
  const key = { 'idempotency-key': 'import-1' }
  const first = await load(service, 'items', 'sku\na\nb\n', { headers: key })
  t.match(first, { status: 200, json: { data: { inserted: 2 } } })
  const again = await load(service, 'items', gzipSync('sku\na\nb\n'), {
    headers: { ...key, 'content-encoding': 'gzip' }
  })
  t.match(
    again, { status: 200, text: first.text, headers: { 'idempotency-replayed': 'true' } },
    'the hash is that of the bytes after decompression'
  )
  t.strictSame(await skus(service), ['old', 'a', 'b'])
  for (const [body, options] of [
    ['sku\na\nc\n', {}],
    ['sku\na\nb\n', { query: '?onConflict=sku' }],
    ['{"sku":"a"}', { type: NDJSON }]
  ] as const) {
    t.match(await load(service, 'items', body, { ...options, headers: key }), {
      status: 422, json: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } }
    })
  }
  t.match(await service.post('items', { verb: 'insert', data: { sku: 'd' } }, { headers: key }), { status: 422 })
  t.match(await load(service, 'items', 'sku\ne\n', { query: '?transaction=batch', headers: key }), {
    status: 400, json: { error: { code: 'INVALID_BODY' } }
  })
  t.match(await load(service, 'items', 'sku\ne\n', { query: '?dryRun=true', headers: key }), {
    status: 400, json: { error: { code: 'INVALID_BODY' } }
  })
  t.match(await load(service, 'items', 'sku\ne\n', { headers: { 'idempotency-key': 'a b' } }), {
    status: 400, json: { error: { code: 'INVALID_IDEMPOTENCY_KEY' } }
  })
  // a refusal is not kept
  const other = { 'idempotency-key': 'import-2' }
  t.match(await load(service, 'items', 'sku\nf\nold\n', { headers: other }), { status: 409 })
  t.match(await load(service, 'items', 'sku\nf\n', { headers: other }), { status: 200 })
  const key3 = { 'idempotency-key': 'import-3' }
  const both = await Promise.all([
    load(service, 'items', 'sku\ng\n', { headers: key3 }), load(service, 'items', 'sku\ng\n', { headers: key3 })
  ])
  // one caller has one import at a time
  t.strictSame(both.map(({ status }) => status).sort(), [200, 503])
  t.strictSame(await skus(service), ['old', 'a', 'b', 'f', 'g'])
})

await onEachEngine(t, 'triggers fire for each row in order, and what they write counts', {
  schema: (engine) => [
    engine === 'sqlite'
      ? 'create table log (n integer primary key, what varchar(20))'
      : 'create table log (n int auto_increment primary key, what varchar(20))',
    'create table items (id int primary key, sku varchar(20) not null unique, n int)',
    ...engine === 'sqlite'
      ? [
          "create trigger ti after insert on items begin insert into log (what) values ('new ' || new.sku); end",
          "create trigger tu after update on items begin insert into log (what) values ('old ' || new.sku); end"
        ]
      : [
          'create trigger ti after insert on items for each row insert into log (what) values ' +
            "(concat('new ', new.sku))",
          'create trigger tu after update on items for each row insert into log (what) values ' +
            "(concat('old ', new.sku))",
          'create trigger tb before insert on items for each row set new.n = new.id'
        ]
  ]
}, async (t, service) => {
  t.match(await load(service, 'items', 'id,sku\n2,b\n1,a\n'), { json: { data: { inserted: 2 } } })
  t.match(
    await load(service, 'items', 'id,sku,n\n3,c,5\n9,a,7\n', { query: '?onConflict=sku&set=n&transaction=batch' }),
    { json: { data: { inserted: 1, updated: 1 } } }
  )
  t.match(await load(service, 'items', 'id,sku\n8,a\n', { query: '?onConflict=sku&set=' }), {
    json: { data: { unchanged: 1 } }
  })
  t.strictSame((await service.sql('select what from log order by n')).map(({ what }) => what), [
    'new b', 'new a', 'new c', 'old a'
  ])
  t.strictSame((await service.sql('select n from items order by id')).map(({ n }) => n), service.engine === 'sqlite'
    ? [7, null, 5]
    : [9, 2, 3])
})

await onEachEngine(t, 'with a hook for writes there are no imports', {
  schema, options: { onWrite: () => {} } as never
}, async (t, service) => {
  for (const query of ['', '?transaction=batch']) {
    t.match(await load(service, 'items', 'sku\na\n', { query }), {
      status: 422, json: { error: { code: 'NOT_SUPPORTED', details: [{ message: /hook/ }] } }
    }, query)
  }
})

/** imports-heap-night.test.ts sends texts that are many times as long to a process with little memory. */
await onEachEngine(t, 'a header, the cells of a row and the names in a JSON text have limits', {
  schema: () => ['create table notes (id integer primary key, meta json)'], only: await anyEngine(t)
}, async (t, service) => {
  const names = Array.from({ length: 250_001 }, (_, index) => `"k${index}":1`)
  for (const [type, body, status, message] of [
    [CSV, 'id,'.repeat(350_000), 400, /header of the CSV has more than 1048576 characters/],
    [CSV, `"${'a\n'.repeat(525_000)}`, 400, /header of the CSV has more than 1048576 characters/],
    [CSV, `id\n${','.repeat(10_000)}\n`, 400, /The row has 10001 cells, and the header 1/],
    [NDJSON, `{"id":3,"meta":{${names.join()}}}\n`, 413, /more than 250000 names/]
  ] as const) {
    const answer = await load(service, 'notes', body, { type })
    t.match([answer.status, answer.json.error?.message], [status, message])
  }
  t.strictSame(await service.sql('select * from notes'), [])
})
