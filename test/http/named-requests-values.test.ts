/** The values of parameters: those of every SQL type by GET and by POST, and hostile ones in every place. */
import t from 'tap'
import { define, param } from '../support/named-requests.ts'
import { sharedOnEachEngine, type Answer, type EngineName, type Service } from '../support/service.ts'

const mysqlColumns = `id int primary key, big bigint unsigned, dec_ decimal(30,10), f float, d double, b1 bit(1),
  b9 bit(9), tiny tinyint(1), y year, c char(5), v varchar(200), e enum('a','b,c'), s set('x','y','z'),
  bin varbinary(50), da date, ti time(2), dt datetime(3), ts timestamp(2) null, j json`
const sqliteColumns = 'id integer primary key, big bigint, dec_ decimal(12,2), d double, b boolean, v varchar(200), ' +
  'bin blob, da date, dt datetime, j json'
const positions = 'create table positions (id int primary key, g geometry, tags '
/** Texts that look like other values. */
const texts = `insert into source (id, v, j) values (3, 'null', '[1, {"$gt": 0}]'), (4, '', '{}'),
  (5, '0', '12345678901234567890')`
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
    texts
  ],
  sqlite: [
    `${positions}varchar(20))`,
    `create table source (${sqliteColumns})`,
    `create table copy (${sqliteColumns})`,
    `insert into source values (1, 9223372036854775807, 12.5, -1e300, 1,
      ' x, "y"' || char(13, 10) || 'ü😀\\%&+=', x'00ff0d0a22', '2026-02-28', '2026-01-02 03:04:05',
      '{"$x":[1,"é",null]}')`,
    "insert into source values (2, 0, 0, 0.0, 0, '12.50', x'01', '1000-01-01', '1000-01-01 00:00:00', '\"null\"')",
    texts
  ]
})
const schema = (engine: EngineName): string[] => statements(engine)[engine === 'sqlite' ? 'sqlite' : 'mysql']
const columns = [...new Set(
  Array.from(`${mysqlColumns}, ${sqliteColumns}`.matchAll(/(?:^|,\s+)(\w+) [a-z]/g), ([, name]) => name as string)
)].filter((name) => name !== 'id')

const v = param('v')
const ids = { verb: 'select', columns: ['id'], orderBy: 'id' }
const requests = Object.fromEntries(columns.flatMap((name) => {
  const shown = { verb: 'select', columns: ['id', name], orderBy: 'id' }
  return [
    [`eq_${name}`, define('source', { ...shown, filters: { [name]: v } })],
    [`ne_${name}`, define('source', { ...shown, filters: { $not: { [name]: { $eq: v } } } })],
    [`in_${name}`, define('source', { ...shown, filters: { [name]: { $in: v } } })],
    [`add_${name}`, define('copy', { verb: 'insert', data: { id: 1, [name]: v }, returning: [name] })]
  ]
}))
const others = {
  part_of_json: define('source', { ...ids, filters: { j: ['a', v] } }),
  part_in_operations: define(undefined, { operations: [{ table: 'source', ...ids, filters: { j: ['a', v] } }] }),
  in_list: define('source', { ...ids, filters: { j: { $in: ['a', v] } } }),
  not_in_list: define('source', { ...ids, filters: { j: { $nin: [v, 'a'] } } }),
  at_point: define('positions', { verb: 'select', columns: ['id', 'g'], filters: { g: v } }),
  at_vector: define('vectors', { verb: 'select', columns: ['id', 'e'], filters: { e: v } }),
  has: define('positions', { ...ids, filters: { tags: { $has: v } } }),
  page: define('source', { ...ids, limit: v }),
  skip: define('source', { ...ids, offset: v }),
  behind: define('source', { ...ids, after: v })
}

const on = sharedOnEachEngine(t, { schema, options: { requests: { ...requests, ...others } } })

const call = (service: Service, name: string, body: string | undefined, query = ''): Promise<Answer> =>
  service.call(name + query, body)

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
  for (const [name, query, found] of [
    ['eq_v', '?%76=+x%2C%20%22y%22%0D%0A%C3%BC%F0%9F%98%80%5C%25%26%2B%3D', { rows: [{ id: 1 }] }],
    ['eq_v', '?v', { rows: [{ id: 4 }] }], ['eq_v', '?&v=null&', { rows: [{ id: 3 }] }],
    ['behind', '?v=null', { count: 5 }], ['behind', `?v=${encodeURIComponent('{"id":3}')}`, { count: 2 }],
    ['page', '?v=2', { count: 2 }]
  ] as const) t.match((await call(service, name, undefined, query)).json.data, found, `${name}${query}`)
  const refused: Record<string, Record<string, string[]>> = {
    INVALID_VALUE: { eq_j: ['null', '{'], behind: ['3'], page: ['', '1.0', '1e0', '0x1', '+1', ' 1', '01'] },
    LIMIT_OUT_OF_RANGE: { page: ['0', '1001', '-1', '99999999999999999999'] },
    INVALID_BODY: { skip: ['-1', '100001'] }
  }
  for (const [code, requests] of Object.entries(refused)) {
    for (const [name, texts] of Object.entries(requests)) {
      for (const text of texts) {
        t.match((await call(service, name, undefined, `?v=${encodeURIComponent(text)}`)).json.error, {
          code, details: [{ path: '/v' }]
        }, `${name} ${text}`)
      }
    }
  }
})
