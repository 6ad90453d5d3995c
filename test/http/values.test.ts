/** Values of columns: those that servers change in silence, those that the service cannot write, and JSON. */
import t from 'tap'
import { numberedId } from '../support/definitions.ts'
import { get } from '../support/documents.ts'
import { useEachEngine } from '../support/rotation.ts'
import { onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'

useEachEngine(t)

/**
 * A declaration, a value that the server stores as the largest one, a larger one that it refuses, and whether it can be
 * negative.
 */
const columns: Array<[declaration: string, largest: number, tooLarge: number]> = [
  ['float(8,2)', 999999.99, 1000000.1], ['float(8,2)', 999999.97, 1000001], [
    'float(8,2) unsigned', 999999.99, 1000000.1
  ], ['float(7,3)', 9999.999, 10000], ['float(10,0)', 9999999999, 10000000001],
  ['float(20,2)', 1e18, 1.1e18], ['float(5,5)', 0.99999, 1], ['double(8,2)', 999999.99, 1000000],
  ['double(17,2)', 1e15, 1000000000000001], ['double(20,2) unsigned', 1e18, 1.1e18]
]

const SERVERS = ['mariadb', 'mysql'] as const

/** Each test has tables of its own. */
const test = sharedOnEachEngine(t, {
  schema: (engine) => [
    'create table documents (id integer not null primary key, doc json null)',
    'create table strict_documents (id integer not null primary key, doc json not null)',
    'create table numbers (id integer not null primary key, whole bigint null, price decimal(6,2) null, ' +
      'ratio double null)',
    ...engine === 'sqlite'
      ? []
      : [
          'create table fixed (id int not null auto_increment primary key, amount double(10,2) null, ratio ' +
            'float(7,3) null, plain double null)',
          "create table chosen (id int not null auto_increment primary key, kind enum('a', 'b') not null, other " +
            "enum('a', '') not null default 'a')",
          ...columns.map(([declaration], index) =>
            `create table f${index} (${numberedId(engine)},
              k ${declaration} not null${index % 2 === 0 ? ', index (k)' : ''})`),
          'create table broken_places (id int not null primary key, g geometry null, h geometry null)',
          "insert into broken_places (id, h) values (1, st_geomfromtext('POINT(1 2)'))"
        ],
    ...engine === 'mariadb'
      ? [
          'create table filled_docs (id int not null primary key)', 'insert into filled_docs values (1), (2)',
          'alter table filled_docs add j json not null',
          'create table json_texts (id int not null primary key, j json null)',
          'create table filled_places (id int not null primary key)', 'insert into filled_places values (1), (2)',
          'alter table filled_places add p point not null', 'alter table filled_places add g geometry not null'
        ]
      : [],
    ...engine === 'mysql'
      ? [
          'create table filled_points (id int not null primary key)', 'insert into filled_points values (1), (2)',
          'alter table filled_points add v vector(3) not null',
          'create table broken_points (id int not null primary key, v vector(3) null)',
          'insert into broken_points values (1, null)'
        ]
      : []
  ],
  keepsRows: true,
  database: { pool: { size: 1 } }
})

await test('a number with more digits than DOUBLE(M,D) or FLOAT(M,D) stores is refused ' +
  'in data and filters', async (t, { post, statements }) => {
  t.match(await post('fixed', '{"verb":"insert","data":{"amount":99999999.99,"ratio":9999.999,"plain":1.005}}'), {
    status: 200
  })
  t.match(await post('fixed', '{"verb":"insert","data":{"amount":0.10,"ratio":1e0}}'), { status: 200 })
  statements()
  for (const [column, value] of [
    ['amount', '1.005'], ['amount', '100000000'], ['ratio', '0.0001'], ['ratio', '10000']
  ]) {
    for (const body of [
      `{"verb":"insert","data":{"${column}":${value}}}`,
      `{"verb":"update","data":{"${column}":${value}},"filters":{"id":1}}`,
      `{"verb":"select","filters":{"${column}":${value}}}`
    ]) {
      t.match((await post('fixed', body)).json, {
        error: { code: 'INVALID_VALUE', message: new RegExp(`^Column "${column}": can have at most \\d digits`) }
      }, body)
    }
  }
  t.same(statements(), [])
  for (const filters of ['{"amount":99999999.99}', '{"ratio":9999.999}', '{"amount":{"$gte":99999999.99}}']) {
    t.match(
      (await post('fixed', `{"verb":"select","filters":${filters}}`)).json.data,
      { count: 1, rows: [{ id: 1, amount: 99999999.99, ratio: 9999.999 }] }, filters
    )
  }
}, SERVERS)

await test('the empty string that an ENUM stores for an invalid member can be selected, filtered and, on ' +
  'MySQL, written again', async (t, { engine, post, sql }) => {
  await sql("set session sql_mode = ''")
  await sql("insert into chosen (kind) values ('zz')")
  await sql('set session sql_mode = default')
  const { rows: [row] } = (await post('chosen', { verb: 'select', filters: { kind: '' } })).json.data
  t.same(row, { id: 1, kind: '', other: 'a' })
  const again = await post('chosen', { verb: 'insert', data: { ...row, id: 2 } })
  const change = await post('chosen', { verb: 'update', data: { kind: '', other: '' }, filters: { id: 1 } })
  if (engine === 'mariadb') {
    for (const { json } of [again, change]) {
      t.match(json.error, { code: 'VALUE_OUT_OF_RANGE' }, 'in strict mode the server rejects it in every form')
    }
  } else {
    t.match([again, change], [{ status: 200 }, { status: 200 }])
    t.match(await sql('select kind + 0 as kind, other + 0 as other from chosen order by id'), [
      { kind: 0, other: 2 }, { kind: 0, other: 1 }
    ])
    t.match((await post('chosen', { verb: 'select', filters: { kind: '' } })).json.data, { count: 2 })
  }
  t.match((await post('chosen', { verb: 'insert', data: { kind: '0' } })).json.error, { code: 'INVALID_VALUE' })
}, SERVERS)

// FLOAT(M,D) and DOUBLE(M,D) at the ends of their ranges.

await test('the largest number of a FLOAT(M,D) or DOUBLE(M,D) that a select shows is taken everywhere, and so is ' +
  'what the server stores as this number', async (t, { post, sql, server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  for (const [index, [declaration, largest, tooLarge]] of columns.entries()) {
    for (const sign of declaration.endsWith('unsigned') ? [1] : [1, -1]) {
      const table = `f${index}`
      await sql(`truncate table ${table}`)
      await sql(`insert into ${table} (k) values (0), (${largest * sign})`)
      t.match(
        await post(table, { verb: 'insert', data: { k: largest * sign } }), { status: 200 },
        `${declaration}: ${largest * sign}`
      )
      const { rows } = (await post(table, { verb: 'select', orderBy: 'id' })).json.data
      const shown = rows[1].k
      t.match(await post(table, { verb: 'insert', data: { k: shown } }), { status: 200 }, `${declaration}: ${shown}`)
      t.match(await post(table, { verb: 'update', data: { k: shown }, filters: { id: 1 } }), {
        json: { data: { updated: 1 } }
      })
      t.match((await post(table, { verb: 'select', filters: { k: shown } })).json.data, {
        count: 4, rows: [{ k: shown }, { k: shown }, { k: shown }, { k: shown }]
      })
      const { next } = (await post(table, { verb: 'select', orderBy: 'k', after: null, limit: 3 })).json.data
      t.match((await post(table, { verb: 'select', orderBy: 'k', after: next })).json.data, {
        count: 1, rows: [{ id: 4 }]
      })
      t.same(await sql(`select distinct cast(k as double) as k from ${table}`).then(({ length }) => length), 1)
      for (const body of [
        { verb: 'insert', data: { k: tooLarge * sign } }, { verb: 'select', filters: { k: tooLarge * sign } }
      ]) t.match((await post(table, body)).json.error, { code: 'INVALID_VALUE' }, `${declaration}: ${tooLarge * sign}`)
      for (const name of [`F${index}Row`, `F${index}Insert`]) {
        const { minimum, maximum } = schemas[name].properties.k
        t.ok(minimum <= Math.min(shown, largest * sign) && maximum >= Math.max(shown, largest * sign) &&
          (tooLarge > maximum) && (minimum === 0 || -tooLarge < minimum), `${name}: from ${minimum} to ${maximum}`)
      }
    }
  }
}, SERVERS)

// Values that the service cannot write: those that ALTER TABLE fills in, and those that other programs have stored.

const select = { verb: 'select', orderBy: 'id' }

await test('an empty text that ALTER TABLE fills into a JSON column of MariaDB is a string', async (t, { post }) => {
  t.same((await post('filled_docs', { verb: 'update', data: { j: { a: 1 } }, filters: { id: 2 } })).json.data, {
    updated: 1
  })
  const { status, json } = await post('filled_docs', select)
  t.equal(status, 200)
  t.strictSame(json.data.rows, [{ id: 1, j: '' }, { id: 2, j: { a: 1 } }])
}, ['mariadb'])

const texts = [
  '1.', '1.e5', '"\\x41"', '"\\q"', '"\\ud800"', '[1,2]', '{"a": 1.50}', '"plain"', '1e400', `"${'x'.repeat(2000)}"`,
  `[${'['.repeat(200)}${']'.repeat(200)}]`, '{"a":1,"a":2}', '1,"admin":true'
]
await test('text that json_valid wrongly accepts as JSON is returned as a string', async (t, { post, sql }) => {
  await sql('set session check_constraint_checks = 0')
  for (const [id, text] of texts.entries()) await sql('insert into json_texts values (?, ?)', [id, text])
  const { text: answer, json } = await post('json_texts', select)
  t.strictSame(json.data.rows.slice(0, 5).map(({ j }: { j: unknown }) => j), texts.slice(0, 5))
  t.strictSame(json.data.rows[12].j, '1,"admin":true')
  for (const [id, text] of texts.slice(5, 12).entries()) {
    t.ok(answer.includes(`{"id":${id + 5},"j":${text}}`), text.slice(0, 20))
  }
}, ['mariadb'])

await test('an empty geometry from ALTER TABLE is null', async (t, { post }) => {
  const point = { type: 'Point', coordinates: [1, 2] }
  t.same(
    (await post('filled_places', { verb: 'update', data: { p: point, g: point }, filters: { id: 2 } })).json.data,
    { updated: 1 }
  )
  const { status, json } = await post('filled_places', select)
  t.equal(status, 200)
  t.strictSame(json.data.rows, [{ id: 1, p: null, g: null }, { id: 2, p: point, g: point }])
}, ['mariadb'])

await test('an empty VECTOR from ALTER TABLE is null', async (t, { post, sql }) => {
  await sql("update filled_points set v = to_vector('[1,2,3]') where id = 2")
  const { status, json } = await post('filled_points', select)
  t.equal(status, 200)
  t.strictSame(json.data.rows, [{ id: 1, v: null }, { id: 2, v: [1, 2, 3] }])
}, ['mysql'])

/** Invalid geometries: an SRID, a byte order and a type, followed by nothing or by too many bytes. */
const broken = [
  '000000000101000000', '00000000', '0000000001010000000000000000000000', '00000000010200000000FFFF7F',
  '0000000001E9030000000000000000F03F0000000000000040', '000000000101000000000000000000F07F0000000000000040'
]
await test('a geometry that cannot be decoded is an error that names its column, and the ' +
  'connection stays in use', async (t, { post, sql, proxy }) => {
  for (const hex of broken) {
    const stored = await sql(`update broken_places set g = x'${hex}' where id = 1`).then(() => true, () => false)
    if (!stored) continue
    proxy?.statements.splice(0)
    const { status, headers, json } = await post('broken_places', select)
    t.equal(status, 422, hex)
    t.match(json.error, { code: 'UNREADABLE_VALUE', message: /column "g"/, details: [] })
    t.equal(headers['retry-after'], undefined)
    t.equal(proxy?.statements.filter((sql) => !sql.endsWith('limit 0'))
      .length, 1, 'it is not sent again, and no connection is set up anew')
    t.same((await post('broken_places', { verb: 'select', columns: ['id', 'h'] })).json.data.rows, [
      { id: 1, h: { type: 'Point', coordinates: [1, 2] } }
    ])
  }
}, ['mariadb'])

await test('a VECTOR with an entry that is not a number names its column', async (t, { post, sql }) => {
  const stored = await sql("update broken_points set v = x'0000C07F0000803F' where id = 1").then(
    () => true, () => false
  )
  const { status, json } = await post('broken_points', select)
  t.equal(status, stored ? 422 : 200)
  if (stored) t.match(json.error, { code: 'UNREADABLE_VALUE', message: /column "v"/ })
}, ['mysql'])

// Values of JSON columns: numbers stay unchanged, and objects that look like operators are sent under `$eq`.

const insert = (id: number, doc: string, table = 'documents'): [string, string] => [
  table, `{"verb":"insert","data":{"id":${id},"doc":${doc}}}`
]
/** The text of the stored document in the response to a select. */
async function shown ({ post }: Service, id: number): Promise<string> {
  const { text } = await post('documents', { verb: 'select', columns: ['doc'], filters: { id } })
  return /"rows":\[{"doc":(.*)}\],"count"/.exec(text)?.[1] as string
}

const NUMBERS =
  '{"lat":52.0,"n":1e2,"list":[12.50,-0,0.0,1E+2,[1.5e-3],0.0000001],"big":18446744073709551615,"whole":52}'

await test('a number in JSON is stored as it is written: 52.0 is not 52', async (t, service) => {
  const { engine, post, sql } = service
  t.match(await post(...insert(501, NUMBERS)), { status: 200 })
  t.match(await post(...insert(502, '{}')), { status: 200 })
  t.match((await post('documents', `{"verb":"update","data":{"doc":${NUMBERS}},"filters":{"id":502}}`)).json, {
    data: { updated: 1 }
  })
  for (const id of [501, 502]) {
    if (engine !== 'mysql') t.equal(await shown(service, id), NUMBERS)
    // MySQL stores 64-bit integers and doubles, and sorts keys
    else {
      t.equal(
        (await shown(service, id)).replaceAll(' ', ''),
        '{"n":100.0,"big":18446744073709551615,"lat":52.0,"list":[12.5,0,0.0,100.0,[0.0015],0.0000001],"whole":52}'
      )
    }
  }
  if (engine === 'mysql') {
    t.same(
      await sql("select json_type(json_extract(doc, '$.lat')) as lat, json_type(json_extract(doc, " +
        "'$.whole')) as whole " +
      'from documents where id = 501'),
      [{ lat: 'DOUBLE', whole: 'INTEGER' }]
    )
  }
  t.match(
    (await post('documents', `{"verb":"select","filters":{"doc":${await shown(service, 501)}}}`)).json,
    { data: { count: 2 } }, 'and a filter finds it'
  )
})

await test('numbers with a decimal point or an exponent are accepted in every number column', async (t, { post }) => {
  t.match(await post('numbers', '{"verb":"insert","data":{"id":1.0,"whole":1e2,"price":12.50,"ratio":-0.0}}'), {
    status: 200
  })
  t.match((await post(
    'numbers',
    '{"verb":"select","filters":{"id":1.0,"whole":{"$in":[1.0e2,5.0]},"price":{"$between":[1e1,13.0]},' +
      '"ratio":{"$lte":0.0}},"limit":1e1}'
  )).json,
  { data: { rows: [{ id: 1, whole: 100, price: '12.50' }], count: 1 } })
  t.match((await post('numbers', '{"verb":"select","limit":1.50}')).json, { error: { code: 'INVALID_BODY' } })
  t.match((await post('numbers', '{"verb":"select","filters":{"whole":1.50}}')).json, {
    error: { code: 'INVALID_VALUE' }
  })
})

await onEachEngine(t, '-0 is a key of DOUBLE, which the engine may store as 0', {
  schema: () => ['create table floats (k double not null primary key, n int null)']
}, async (t, { post }) => {
  const send = async (body: string) => (await post('floats', body)).json.data
  t.match(await send('{"verb":"insert","data":{"k":-0},"returning":"*"}'), { rows: [{ n: null }], inserted: 1, id: 0 })
  t.match(await send('{"verb":"insert","data":{"k":-0,"n":1},"onConflict":{"key":["k"]},"returning":"*"}'), {
    rows: [{ n: 1 }], updated: 1, id: 0
  })
  t.match(await send('{"verb":"update","data":{"k":1},"filters":{"k":-0},"returning":"*"}'), { rows: [{ k: 1 }] })
  t.match(await send('{"verb":"update","data":{"k":-0},"filters":{"k":1},"returning":["n"]}'), { rows: [{ n: 1 }] })
})

await test('an object whose keys all begin with $ is a value of a JSON column under $eq alone', async (t, service) => {
  const { post, statements } = service
  const values = [
    '{"$x":1}', '{"$eq":{"$x":1}}', '{"$eq":null}', '{"$inc":1.50}', '[{"$x":1}]', '{"a":{"$x":1}}', '{"$x":1,"a":2}',
    '{}', '5', '"$x"', 'null'
  ]
  for (const [index, value] of values.entries()) {
    t.match(await post(...insert(index, `{"$eq":${value}}`)), { status: 200 }, value)
    const text = await shown(service, index)
    t.same(JSON.parse(text), JSON.parse(value))
    t.match(
      (await post('documents', `{"verb":"select","filters":{"id":${index},"doc":{"$eq":${text}}}}`)).json,
      { data: { count: 1 } }, `a filter finds ${value}`
    )
    t.match(await post(...insert(100 + index, `{"$eq":${text}}`)), { status: 200 }, `${value} is accepted again`)
    t.match((await post('documents', `{"verb":"update","data":{"doc":{"$eq":${value}}},"filters":{"id":0}}`)), {
      status: 200
    })
  }
  t.match(
    await post(...insert(1, '{"$eq":null}', 'strict_documents')), { status: 200 },
    "JSON's own null where the column takes no other"
  )
  t.match(
    await post(...insert(500, '{"$x":1,"a":2}')), { status: 200 }, 'one key that does not begin so makes it a value'
  )
  statements()
  for (const [value, key] of [
    ['{"$x":1}', '$x'], ['{"$eq":1,"$x":2}', '$x'], ['{"$ref":"/0/id"}', '$ref'], ['{"$inc":1}', '$inc']
  ] as const) {
    for (const body of [
      `{"verb":"insert","data":{"id":900,"doc":${value}}}`,
      `{"verb":"update","data":{"doc":${value}},"filters":{"id":1}}`
    ]) {
      t.match((await post('documents', body)).json.error, {
        code: 'INVALID_VALUE', message: `Column "doc": "${key}" is not allowed here`, details: [{ path: '/data/doc' }]
      }, body)
    }
    t.match(
      (await post('documents', `{"verb":"delete","filters":{"doc":${value}}}`)).json.error, { code: 'INVALID_VALUE' },
      'as in filters'
    )
  }
  t.match(
    (await post('documents', '{"verb":"select","filters":{"id":{"$x":1}}}')).json.error, { code: 'INVALID_BODY' },
    'what is no operator is one for no other column'
  )
  t.same(statements(), [])
})

await onEachEngine(t, 'a number of a view is shown with all digits that it is compared with, and a filter finds it', {
  schema: () => [
    'create table sizes (id int not null primary key, d double(8,2) not null, f float(8,2) not null)',
    'insert into sizes values (1, 1.1, 1.1), (2, 0.07, 0.07), (3, 99999.99, 99999.99)',
    'create view computed as select id, pi() as p, pi() * id as more, d, d * 3 as treble, d / 3 as third, f from sizes',
    'create view averages as select f, sum(d) as sum, max(d) as d from sizes group by f'
  ],
  only: ['mariadb', 'mysql']
}, async (t, { post }) => {
  const { rows } = (await post('computed', { verb: 'select', orderBy: 'id' })).json.data
  t.match(rows[0], { p: Math.PI, more: Math.PI, d: 1.1, treble: 3.3000000000000003, third: 1.1 / 3, f: 1.1 })
  for (const view of ['computed', 'averages']) {
    const columns = view === 'computed' ? ['p', 'more', 'd', 'treble', 'third', 'f'] : ['f', 'sum', 'd']
    const { rows } = (await post(view, { verb: 'select' })).json.data as { rows: Array<Record<string, number>> }
    for (const row of rows) {
      for (const column of columns) {
        const value = row[column] as number
        for (const filter of [value, { $is: value }, { $in: [value] }, { $gte: value, $lte: value }]) {
          const found = (await post(view, { verb: 'select', columns, filters: { [column]: filter } })).json.data.rows
          t.ok(found.some((each: object) => JSON.stringify(each) === JSON.stringify(
            Object.fromEntries(columns.map((name) => [name, row[name]]))
          )), `${view}.${column} ${JSON.stringify(filter)}`)
        }
      }
    }
  }
  const { json } = await post('computed', {
    verb: 'select', groupBy: ['p'], aggregates: { most: { $max: 'p' }, n: { $count: '*' } }, having: { most: Math.PI }
  })
  t.match(json.data.rows, [{ p: Math.PI, most: Math.PI, n: 3 }])
})
