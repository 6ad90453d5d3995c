/** The values of parameters: those of every SQL type by GET and by POST, and hostile ones in every place. */
import t from 'tap'
import { sharedOnEachEngine, TOKEN, type Answer, type EngineName, type Service } from '../support/service.ts'

const mysqlColumns = 'id int primary key, big bigint unsigned, dec_ decimal(30,10), f float, d double, b1 bit(1), b9 ' +
  "bit(9), tiny tinyint(1), y year, c char(5), v varchar(200), e enum('a','b,c'), s set('x','y','z'), bin " +
    'varbinary(50), da date, ti time(2), dt datetime(3), ts timestamp(2) null, j json'
const sqliteColumns = 'id integer primary key, big bigint, dec_ decimal(12,2), d double, b boolean, v varchar(200), ' +
  'bin blob, da date, dt datetime, j json'
const positions = 'create table positions (id int primary key, g geometry, tags '
const statements = (engine: EngineName) => ({
  mysql: [
    `${positions}set('x','null','12'))`,
    "insert into positions values (1, st_geomfromtext('POINT(1 2)'), 'x,null'), (2, null, '12')",
    ...engine === 'mysql'
      ? [
          'create table vectors (id int primary key, e vector(2))',
          "insert into vectors values (1, to_vector('[1, 2]'))"
        ]
      : [],
    `create table source (${mysqlColumns}) engine=innodb`,
    `create table copy (${mysqlColumns}) engine=innodb`,
    'insert into source values (1, 18446744073709551615, \'-12345678901234567890.1234567890\', 1.5, -1e300, b\'1\', ' +
      'b\'101\', 2, 2026, \'a b\', \' x, "y"\r\nü😀\\\\%&+=\', \'b,c\', \'x,z\', x\'00ff0d0a22\', \'2026-02-28\', ' +
        '\'-12:30:00.5\', \'2026-01-02 03:04:05.678\', \'2026-01-02 03:04:05.67\', \'{"$x":[1,"é",null]}\')',
    "insert into source values (2, 0, 0, 0, -0.0, b'0', b'0', 0, 2000, 'true', '12.50', 'a', 'y', x'01', " +
      "'1000-01-01', '00:00:00', '1000-01-01 00:00:00', null, '\"null\"')",
    "insert into source (id, v, j) values (3, 'null', '[1, {\"$gt\": 0}]'), (4, '', '{}'), (5, '0', " +
      "'12345678901234567890')"
  ],
  sqlite: [
    `${positions}varchar(20))`,
    `create table source (${sqliteColumns})`,
    `create table copy (${sqliteColumns})`,
    "insert into source values (1, 9223372036854775807, 12.5, -1e300, 1, ' x, \"y\"' || char(13, 10) || 'ü😀\\%&+=', " +
      "x'00ff0d0a22', '2026-02-28', '2026-01-02 03:04:05', '{\"$x\":[1,\"é\",null]}')",
    "insert into source values (2, 0, 0, 0.0, 0, '12.50', x'01', '1000-01-01', '1000-01-01 00:00:00', '\"null\"')",
    "insert into source (id, v, j) values (3, 'null', '[1, {\"$gt\": 0}]'), (4, '', '{}'), (5, '0', " +
      "'12345678901234567890')"
  ]
})
const schema = (engine: EngineName): string[] => statements(engine)[engine === 'sqlite' ? 'sqlite' : 'mysql']
const columns = [...new Set(
  Array.from(`${mysqlColumns}, ${sqliteColumns}`.matchAll(/(?:^|, )(\w+) [a-z]/g), ([, name]) => name as string)
)].filter((name) => name !== 'id')

const v = { $param: 'v' }
const requests = Object.fromEntries(columns.flatMap((name) => [
  [`eq_${name}`, {
    database: 'shop',
    table: 'source',
    parameters: { v: {} },
    body: { verb: 'select' as const, columns: ['id', name], filters: { [name]: v }, orderBy: 'id' }
  }],
  [`ne_${name}`, {
    database: 'shop',
    table: 'source',
    parameters: { v: {} },
    body: { verb: 'select' as const, columns: ['id', name], filters: { $not: { [name]: { $eq: v } } }, orderBy: 'id' }
  }],
  [`in_${name}`, {
    database: 'shop',
    table: 'source',
    parameters: { v: {} },
    body: { verb: 'select' as const, columns: ['id', name], filters: { [name]: { $in: v } }, orderBy: 'id' }
  }],
  [`add_${name}`, {
    database: 'shop',
    table: 'copy',
    parameters: { v: {} },
    body: { verb: 'insert' as const, data: { id: 1, [name]: v }, returning: [name] }
  }]
]))
const text = (body: object, database = 'shop', table = 'source') => ({ database, table, parameters: { v: {} }, body })
const others = {
  starts: text({ verb: 'select', columns: ['id'], filters: { v: { $startsWith: v } }, orderBy: 'id' }),
  contains: text({ verb: 'select', columns: ['id'], filters: { v: { $contains: v } }, orderBy: 'id' }),
  between: text({ verb: 'select', columns: ['id'], filters: { big: { $between: [v, 5] } } }),
  some_of: text({ verb: 'select', columns: ['id'], filters: { big: [5, v] } }),
  is_row: text({ verb: 'select', columns: ['id'], filters: { $is: { v } } }),
  is_json: text({ verb: 'select', columns: ['id'], filters: { $is: { j: v } } }),
  part_of_json: text({ verb: 'select', columns: ['id'], filters: { j: ['a', v] } }),
  in_list: text({ verb: 'select', columns: ['id'], filters: { j: { $in: ['a', v] } }, orderBy: 'id' }),
  not_in_list: text({ verb: 'select', columns: ['id'], filters: { j: { $nin: [v, 'a'] } }, orderBy: 'id' }),
  part_in_operations: {
    database: 'shop',
    parameters: { v: {} },
    body: { operations: [{ table: 'source', verb: 'select', columns: ['id'], filters: { j: ['a', v] } }] }
  },
  at_point: text({ verb: 'select', columns: ['id', 'g'], filters: { g: v } }, 'shop', 'positions'),
  at_vector: text({ verb: 'select', columns: ['id', 'e'], filters: { e: v } }, 'shop', 'vectors'),
  has: text({ verb: 'select', columns: ['id'], filters: { tags: { $has: v } } }, 'shop', 'positions'),
  page: text({ verb: 'select', columns: ['id'], orderBy: 'id', limit: v }),
  skip: text({ verb: 'select', columns: ['id'], orderBy: 'id', offset: v }),
  behind: text({ verb: 'select', columns: ['id'], orderBy: 'id', after: v }),
  change: text({ verb: 'update', filters: { id: 1 }, data: { v }, returning: ['v'] }),
  remove: text({ verb: 'delete', filters: { v: { $eq: v } } }, 'shop', 'copy'),
  twice: {
    database: 'shop',
    parameters: { v: {} },
    body: {
      operations: [
        { table: 'source', verb: 'select', columns: ['id'], filters: { v } },
        { table: 'source', verb: 'select', columns: ['id'], filters: { big: v } }
      ]
    }
  }
}

const on = sharedOnEachEngine(t, { schema, options: { requests: { ...requests, ...others } } })

async function call ({ server }: Service, name: string, body: string | undefined, query = ''): Promise<Answer> {
  const response = await server.app.inject({
    method: body === undefined ? 'GET' : 'POST',
    url: `/api/requests/${name}${query}`,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { payload: body })
  })
  return { status: response.statusCode, headers: response.headers, text: response.body, json: response.json() }
}

await on('without "as" the answer has the bytes of the request with the value in place, ' +
  'for every SQL type', async (t, service) => {
  const { post, sql } = service
  const all = (await post('source', { verb: 'select', orderBy: 'id', limit: 1 })).json.data.rows[0]
  for (const name of columns.filter((each) => Object.hasOwn(all, each))) {
    for (let id = 1; id <= 3; id++) {
      const row = await post('source', { verb: 'select', columns: [name], filters: { id } })
      const value = /^\{"success":true,"data":\{"rows":\[\{"\w+":(.*)\}\],"count":1\}\}$/s.exec(row.text)?.[1] as string
      if (value === 'null') continue
      const isText = value.startsWith('"') && !['j'].includes(name)
      const query = `?v=${encodeURIComponent(isText ? JSON.parse(value) : value)}`
      const inPlace = async (filters: string): Promise<Answer> =>
        await post('source', `{"verb":"select","columns":["id","${name}"],"filters":${filters},"orderBy":"id"}`)
      const equal = await inPlace(`{"${name}":{"$eq":${value}}}`)
      t.match(equal.json, { data: { count: Number } }, `${name} ${value}: ${equal.text}`)
      t.ok(equal.json.data.rows.some((found: { id: number }) => found.id === id))
      t.equal((await call(service, `eq_${name}`, `{"v":${value}}`)).text, equal.text, `POST ${name} ${value}`)
      t.equal((await call(service, `eq_${name}`, undefined, query)).text, equal.text, `GET ${name} ${query}`)
      t.equal(
        (await call(service, `ne_${name}`, `{"v":${value}}`)).text,
        (await inPlace(`{"$not":{"${name}":{"$eq":${value}}}}`)).text
      )
      const several = await inPlace(`{"${name}":{"$in":[${value},${value}]}}`)
      t.equal((await call(service, `in_${name}`, `{"v":[${value},${value}]}`)).text, several.text)
      t.equal((await call(service, `in_${name}`, undefined, `${query}&${query.slice(1)}`)).text, several.text)
      const added = await call(service, `add_${name}`, `{"v":${value}}`)
      if (name === 'j') t.same(added.json.data.rows, [{ j: JSON.parse(value) }])
      else t.ok(added.text.includes(`"rows":[{"${name}":${value}}]`), added.text)
      await sql('delete from copy')
    }
  }
})

await on('a geometry and a vector are JSON in a query string, and a member of a SET is a text', async (t, service) => {
  const point = '{"type":"Point","coordinates":[1,2]}'
  const found = await call(service, 'at_point', `{"v":${point}}`)
  t.match(found.json, { data: { rows: [{ id: 1, g: { type: 'Point', coordinates: [1, 2] } }] } }, found.text)
  t.equal((await call(service, 'at_point', undefined, `?v=${encodeURIComponent(point)}`)).text, found.text)
  t.match((await call(service, 'at_point', undefined, '?v=POINT(1 2)')).json.error, {
    code: 'INVALID_VALUE', details: [{ path: '/v' }]
  })
  if (service.engine === 'mysql') {
    for (const found of [
      await call(service, 'at_vector', '{"v":[1,2]}'), await call(service, 'at_vector', undefined, '?v=%5B1%2C2%5D')
    ]) t.match(found.json, { data: { rows: [{ id: 1, e: [1, 2] }] } }, found.text)
    t.match((await call(service, 'at_vector', undefined, '?v=1')).json.error, {
      code: 'INVALID_VALUE', details: [{ path: '/v' }]
    })
  }
  const ofMembers = [[['x', 'null'], [1]], [['null'], [1]], [['12'], [2]], [['x', '12'], []], [['x'], [1]]] as const
  for (const [members, ids] of ofMembers) {
    const rows = ids.map((id) => ({ id }))
    t.same((await call(service, 'has', JSON.stringify({ v: members }))).json.data.rows, rows)
    t.same((await call(service, 'has', undefined, `?v=${members.join('&v=')}`)).json.data.rows, rows, members.join())
  }
  for (const [body, path] of [['{"v":["x",null]}', '/v/1'], ['{"v":[12]}', '/v/0'], ['{"v":"x"}', '/v']] as const) {
    t.match((await call(service, 'has', body)).json.error, { code: 'INVALID_VALUE', details: [{ path }] }, body)
  }
}, ['mariadb', 'mysql'])

await on('a parameter is no part of a JSON value, which a list is for a JSON column', async (t, service) => {
  for (const [name, path] of [
    ['part_of_json', '/body/filters/j'], ['part_in_operations', '/body/operations/0/filters/j']
  ] as const) {
    for (const value of ['"a"', '{}', 'null']) {
      t.match(
        (await call(service, name, `{"v":${value}}`)).json.error, { code: 'INVALID_BODY', details: [{ path }] },
      `${name} ${value}`
      )
    }
  }
})

await on('a parameter is a value of "$in" and "$nin" of a JSON column', async (t, service) => {
  for (const [name, operator] of [['in_list', '$in'], ['not_in_list', '$nin']] as const) {
    for (const value of ['"b"', '5', '[1]', '{"$gt":0}', '{"a":1}']) {
      const body = `{"verb":"select","columns":["id"],"filters":{"j":{"${operator}":["a",${value}]}},"orderBy":"id"}`
      const { status, text } = await service.post('source', body)
      t.equal(status, 200)
      t.equal((await call(service, name, `{"v":${value}}`)).text, text, `${name} ${value}`)
    }
  }
})

await on('a text that is longer than its column is in no row, as one of the body, ' +
  'but no text to store', async (t, service) => {
  const long = 'x'.repeat(201)
  for (const [name, operator, value] of [
    ['eq_v', '$eq', long], ['in_v', '$in', [long, '12.50']], ['in_v', '$in', [long]]
  ] as const) {
    const inPlace = await service.post('source', {
      verb: 'select', columns: ['id', 'v'], filters: { v: { [operator]: value } }, orderBy: 'id'
    })
    t.equal(inPlace.status, 200)
    t.equal((await call(service, name, JSON.stringify({ v: value }))).text, inPlace.text, `${name} ${value.length}`)
  }
  const stored = await call(service, 'add_v', JSON.stringify({ v: long }))
  if (service.engine !== 'sqlite') t.match(stored.json.error, { code: 'INVALID_VALUE', details: [{ path: '/v' }] })
  await service.sql('delete from copy')
})

await on('a query string is UTF-8, and each name stands once', async (t, service) => {
  const cases: Array<[string, string, string]> = [
    ['eq_v', '', '/v'], ['eq_v', '?', '/v'], ['eq_v', '?v=1&v=2', '/v'], ['eq_v', '?v[]=1', '/v[]'],
    ['eq_v', '?v[$gt]=1', '/v[$gt]'], ['eq_v', '?v=1&w=2', '/w'],
    ['eq_v', '?v=%FF', '/v'], ['eq_v', '?v=%', '/v'], ['eq_v', '?v=%zz', '/v'], ['eq_v', '?v=%C3', '/v'], [
      'eq_v', '?v=%ED%A0%80', '/v'
    ], ['eq_v', '?v=1&__proto__=2', '/__proto__'], ['eq_v', '?%76%FF=1', '/%76%FF'], ['in_v', '', '/v']
  ]
  for (const [name, query, path] of cases) {
    t.match(
      (await call(service, name, undefined, query)).json.error, { code: 'INVALID_BODY', details: [{ path }] },
      `${name}${query}`
    )
  }
  t.match(
    (await call(service, 'eq_v', undefined, '?%76=+x%2C%20%22y%22%0D%0A%C3%BC%F0%9F%98%80%5C%25%26%2B%3D')).json,
    { data: { rows: [{ id: 1 }] } }
  )
  t.match((await call(service, 'eq_v', undefined, '?v')).json, { data: { rows: [{ id: 4 }] } })
  t.match((await call(service, 'eq_v', undefined, '?&v=null&')).json, { data: { rows: [{ id: 3 }] } })
  t.match((await call(service, 'eq_j', undefined, '?v=null')).json.error, {
    code: 'INVALID_VALUE', details: [{ path: '/v' }]
  })
  t.match((await call(service, 'eq_j', undefined, '?v={')).json.error, {
    code: 'INVALID_VALUE', details: [{ path: '/v' }]
  })
  t.match((await call(service, 'behind', undefined, '?v=null')).json, { data: { count: 5 } })
  t.match((await call(service, 'behind', undefined, `?v=${encodeURIComponent('{"id":3}')}`)).json, {
    data: { count: 2 }
  })
  t.match((await call(service, 'behind', undefined, '?v=3')).json.error, {
    code: 'INVALID_VALUE', details: [{ path: '/v' }]
  })
  t.match((await call(service, 'page', undefined, '?v=2')).json, { data: { count: 2 } })
  for (const text of ['', '1.0', '1e0', '0x1', '+1', ' 1', '01']) {
    t.match((await call(service, 'page', undefined, `?v=${encodeURIComponent(text)}`)).json.error, {
      code: 'INVALID_VALUE', details: [{ path: '/v' }]
    }, text)
  }
  for (const text of ['0', '1001', '-1', '99999999999999999999']) {
    t.match((await call(service, 'page', undefined, `?v=${text}`)).json.error, {
      code: 'LIMIT_OUT_OF_RANGE', details: [{ path: '/v' }]
    }, text)
  }
  for (const text of ['-1', '100001']) {
    t.match((await call(service, 'skip', undefined, `?v=${text}`)).json.error, {
      code: 'INVALID_BODY', details: [{ path: '/v' }]
    }, text)
  }
})
