/** No coercion: values that a column does not accept are refused in data and filters, before any SQL runs. */
import t from 'tap'
import { onEachEngine, type EngineName } from '../support/service.ts'

/** Values that most types refuse. */
const STRANGERS = [
  '[]', '{}', '[0]', '{"a":1}', '[[1]]', '""', '"abc"', '"0"', '" 1"', '"1 "', '"1e2"', '"0x10"', '"1,5"', '"NaN"',
  'true', 'false', '0', '1', '-1', '1.5', '1e400', '18446744073709551616', '-9223372036854775809'
]

interface Column {
  declaration: string
  /** Those of them that the type accepts, as JSON text. */
  takes: string[]
  /** Other values that it must refuse. */
  refuses?: string[]
  /** Those of them that are only too long: filters take them, and find no row. */
  long?: string[]
  only?: EngineName[]
}

/** Numbers that neither a 64-bit integer nor a double represents. */
const BIG = ['1e400', '18446744073709551616', '-9223372036854775809']
const UNFIT_JSON = ['"\\ud800"', '{"\\ud800":1}', '['.repeat(101) + ']'.repeat(101)]
const MYSQL: EngineName[] = ['mariadb', 'mysql']
const whole = ['"0"', '0', '1', '-1']
const columns: Column[] = [
  {
    declaration: 'varchar(5)',
    takes: ['""', '"abc"', '"0"', '" 1"', '"1 "', '"1e2"', '"0x10"', '"1,5"', '"NaN"'],
    refuses: ['"\\ud800"', '"\\udc00a"']
  },
  {
    declaration: 'varchar(2)',
    takes: ['""', '"0"', '" 1"', '"1 "', '"😀é"'],
    refuses: ['"😀éa"'],
    long: ['"abc"', '"1e2"', '"0x10"', '"1,5"', '"NaN"', '"😀éa"'],
    only: MYSQL
  },
  { declaration: 'text', takes: ['""', '"abc"', '"0"', '" 1"', '"1 "', '"1e2"', '"0x10"', '"1,5"', '"NaN"'] },
  {
    declaration: 'tinyint',
    takes: whole,
    refuses: ['128', '-129', '"128"', '1.0000000000000000001', '"1.0"'],
    only: MYSQL
  },
  { declaration: 'tinyint unsigned', takes: ['"0"', '0', '1'], refuses: ['256'], only: ['mariadb'] },
  // MySQL does not tell it from tinyint(1) unsigned
  {
    declaration: 'tinyint unsigned',
    takes: ['"0"', '0', '1', 'true', 'false'],
    refuses: ['256', '"true"'],
    only: ['mysql']
  },
  {
    declaration: 'tinyint(1) unsigned', takes: ['"0"', '0', '1', 'true', 'false'], refuses: ['256', '-1'], only: MYSQL
  },
  { declaration: 'bool', takes: [...whole, 'true', 'false'], refuses: ['"true"'], only: MYSQL },
  { declaration: 'int', takes: whole, refuses: ['2147483648', '-2147483649', '0.5'], only: MYSQL },
  { declaration: 'bigint', takes: whole, refuses: ['9223372036854775808', '"9223372036854775808"', '1e19', '1e-1'] },
  { declaration: 'bigint unsigned', takes: ['"0"', '0', '1'], refuses: ['18446744073709551616', '-0.5'], only: MYSQL },
  { declaration: 'year', takes: ['"0"', '0'], refuses: ['70', '1900', '2156', '"99"'], only: MYSQL },
  { declaration: 'bit(1)', takes: ['true', 'false'], only: MYSQL },
  { declaration: 'bit(3)', takes: ['"0"'], refuses: ['"1111"', '"102"', '5'], only: MYSQL },
  {
    declaration: 'decimal(5,2)',
    takes: [...whole, '1.5'],
    refuses: ['"1000"', '"1.234"', '1e3', '"1e1"', '"-"', '"."', '"١"', '0.001', '99999999999999999999999999']
  },
  {
    declaration: 'float',
    takes: ['0', '1', '-1', '1.5', '18446744073709551616', '-9223372036854775809'],
    refuses: ['"1.5"', '1e39'],
    only: MYSQL
  },
  {
    declaration: 'double',
    takes: ['0', '1', '-1', '1.5', '18446744073709551616', '-9223372036854775809'],
    refuses: ['"1.5"', '1e309']
  },
  { declaration: "enum('a', '2')", takes: ['""'], refuses: ['"A"', '"1"', '2', '"b"'], only: MYSQL },
  {
    declaration: "set('a', 'b')",
    takes: ['[]'],
    refuses: ['"a"', '["c"]', '["a", "a"]', '["a,b"]', '["A"]', '[null]'],
    only: MYSQL
  },
  {
    declaration: 'binary(4)',
    takes: ['""', '"0x10"'],
    refuses: ['"AAAAAAA="', '"AAA"', '"AA==x"', '"A-_="', '"AB=="', '" AA=="'],
    long: ['"AAAAAAA="'],
    only: MYSQL
  },
  { declaration: 'blob', takes: ['""', '"0x10"'], refuses: ['"AAA"', '"AB=="'] },
  {
    declaration: 'date',
    takes: [],
    refuses: [
      '"2026-02-30"', '"2026-13-01"', '"26-01-01"', '"2026-1-1"', '"2026-01-01T00:00:00"', '20260101', '"2026-01-01 "'
    ]
  },
  {
    declaration: 'time',
    takes: [],
    refuses: ['"24"', '"12:30"', '"839:00:00"', '"12:60:00"', '123000', '"1:00:00"', '"00:00:00.5"'],
    only: MYSQL
  },
  {
    declaration: 'datetime',
    takes: [],
    refuses: [
      '"2026-01-01"', '"2026-01-01T00:00:00Z"', '"2026-01-01T24:00:00"', '"2026-02-29T00:00:00"', '"2026-01-01T00:00"',
      '20260101000000'
    ]
  },
  { declaration: 'datetime(3)', takes: [], refuses: ['"2026-01-01T00:00:00.1234"'], only: MYSQL },
  {
    declaration: 'timestamp null',
    takes: [],
    refuses: [
      '"2026-01-01T00:00:00"', '"1969-12-31T23:59:59Z"', '"2038-01-19T03:14:08Z"', '"2026-01-01T00:00:00+25:00"',
      '1767225600'
    ]
  },
  // MariaDB stores JSON as text and accepts any number; the others would round these
  { declaration: 'json', takes: STRANGERS, refuses: UNFIT_JSON, only: ['mariadb'] },
  {
    declaration: 'json',
    takes: STRANGERS.filter((text) => !BIG.includes(text)),
    refuses: UNFIT_JSON,
    only: ['mysql', 'sqlite']
  },
  {
    declaration: 'point',
    takes: [],
    refuses: [
      '{"type":"Point"}', '{"type":"Point","coordinates":[1]}', '{"type":"Point","coordinates":[1,2,3]}',
      '{"type":"Point","coordinates":["1","2"]}', '{"type":"LineString","coordinates":[[1,2],[3,4]]}', '"POINT(1 2)"',
      '{"type":"Point","coordinates":[1,1e400]}'
    ],
    only: MYSQL
  },
  {
    declaration: 'vector(2)',
    takes: ['[0]'],
    refuses: ['[1,2,3]', '["1"]', '[null]', '[1e39]', '"[1,2]"'],
    only: ['mysql']
  },
  { declaration: 'inet6', takes: [], refuses: ['"::g"', '"1.2.3"', '"fe80::1%eth0"'], only: ['mariadb'] },
  { declaration: 'inet4', takes: [], refuses: ['"1.2.3.256"', '"::1"'], only: ['mariadb'] },
  {
    declaration: 'string',
    takes: ['""', '"abc"', '"0x10"', '"1,5"', '"NaN"'],
    refuses: ['"007"', '"\\t.5"', '"1."', '"\\ud800"'],
    only: ['sqlite']
  },
  { declaration: 'binary(4)', takes: ['""', '"0x10"'], refuses: ['"AAA"'], only: ['sqlite'] },
  {
    declaration: 'uuid',
    takes: [],
    refuses: ['"123e4567-e89b-12d3-a456-42665544000"', '"zzze4567-e89b-12d3-a456-426655440000"'],
    only: ['mariadb']
  }
]

const on = (engine: EngineName): Column[] => columns.filter(({ only }) => only === undefined || only.includes(engine))

await onEachEngine(t, 'a value that does not fit its column is refused before any SQL runs', {
  schema: (engine) => [
    `create table typed (id integer not null primary key, name varchar(20) not null,
      ${on(engine).map(({ declaration }, index) =>
        `c${index} ${declaration}${declaration.endsWith('null') ? '' : ' null'}`).join(', ')})`,
    "insert into typed (id, name) values (1, 'abc'), (2, '0'), (3, '1x')"
  ]
}, async (t, { engine, post, statements, sql }) => {
  statements()
  for (const [index, { declaration, takes, refuses = [], long = [] }] of on(engine).entries()) {
    const name = `c${index}`
    const wrong: string[] = []
    for (const [place, text] of [...STRANGERS.filter((stranger) => !takes.includes(stranger)), ...refuses].entries()) {
      // a list would mean $in in a filter, so it is sent under $eq
      const filter = text.startsWith('[') ? `{"$eq":${text}}` : text
      // the same function reads a value at each place: each value has one of them, each column all
      const bodies = [
        `{"verb":"insert","data":{"id":9,"name":"x","${name}":${text}}}`,
        `{"verb":"update","data":{"${name}":${text}},"filters":{"id":1}}`,
        `{"verb":"delete","filters":{"${name}":${filter}}}`, `{"verb":"select","filters":{"${name}":{"$in":[${text}]}}}`
      ]
      const body = bodies[(index + place) % (long.includes(text) ? 2 : bodies.length)] as string
      const { json } = await post('typed', body)
      if (json.error?.code !== 'INVALID_VALUE') wrong.push(`${body} -> ${JSON.stringify(json)}`)
    }
    t.same(wrong, [], `${declaration} refuses what it does not take`)
    t.same(statements(), [], `${declaration}: no statement was sent`)
  }
  t.equal((await sql('select count(*) as n from typed'))[0].n, 3, 'no row was added or removed')
})

await onEachEngine(t, 'a number never matches the texts that MySQL would convert to it', {
  schema: (engine) => [
    'create table names (id integer not null primary key, name varchar(20) not null)',
    "insert into names values (1, 'abc'), (2, '0'), (3, '1x')"
  ].concat(engine === 'sqlite' ? [] : [])
}, async (t, { post, sql, statements }) => {
  statements()
  for (const value of [
    0, false, [], {}, [0], { a: 1 }, [[]], { $eq: 0 }, { $in: [0] }, { $between: [0, 1] }, { $ne: 0 }
  ]) {
    const { status, json } = await post('names', { verb: 'delete', filters: { name: value } })
    t.equal(status, 400, JSON.stringify(value))
    t.match(json.error.code, /INVALID_VALUE|INVALID_BODY/)
    t.same(statements(), [])
  }
  t.equal((await sql('select count(*) as n from names'))[0].n, 3)
})
