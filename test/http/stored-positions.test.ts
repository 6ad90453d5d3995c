/**
 * What `next` holds is accepted as `after` and finds the next row, also for values that no client may write. By day, of
 * all types and directions one in three.
 */
import t from 'tap'
import { sharedOnEachEngine, type EngineName } from '../support/service.ts'
import { oneIn } from '../support/rotation.ts'
import { readPages } from '../support/pages.ts'

interface Stored {
  readonly declaration: string
  /** SQL of the values, in any order. */
  readonly values: readonly string[]
  readonly only?: readonly EngineName[]
  /** Set if the order by the column is refused with `after`. */
  readonly isRefused?: true
}

const MYSQL = ['mysql', 'mariadb'] as const
const days = [
  '0000-00-00', '2026-00-00', '2026-02-00', '2026-02-28', '2026-02-29', '2026-02-30', '2026-02-31', '2026-03-00',
  '2026-03-01', '2026-04-31', '2024-02-30', '0999-02-30', '0007-11-31', '9999-12-31', '2026-12-31', '2100-02-29',
  '0000-02-29'
]
const quoted = (values: readonly string[]): string[] => values.map((value) => `'${value}'`)
const wholeNumbers = (unsigned: boolean, bits: bigint): string[] => unsigned
  ? ['0', '1', String((1n << bits) - 1n)]
  : [String(-(1n << (bits - 1n))), '-1', '0', String((1n << (bits - 1n)) - 1n)]

const onServers: Stored[] = [
  ...['tinyint', 'smallint', 'mediumint', 'int'].flatMap((name, index) => [
    { declaration: name, values: wholeNumbers(false, [8n, 16n, 24n, 32n][index] as bigint) },
    { declaration: `${name} unsigned zerofill`, values: wholeNumbers(true, [8n, 16n, 24n, 32n][index] as bigint) }
  ]),
  { declaration: 'bigint', values: ['-9007199254740991', '0', '9007199254740991'] },
  { declaration: 'decimal(5,2)', values: ['-999.99', '0', '0.01', '999.99'] }, {
    declaration: 'decimal(65,30) unsigned',
    values: [
      '0', '99999999999999999999999999999999999.999999999999999999999999999999', '0.000000000000000000000000000001'
    ]
  },
  { declaration: 'float', values: ['0.1', '-3.4028234e38', '1e-45', '16777217'] },
  { declaration: 'float(7,3)', values: ['0.1', '9999.999', '-9999.999', '1.0005'] },
  { declaration: 'double', values: ['0.1', '1.7976931348623157e308', '5e-324', '-0.0', '9007199254740993'] },
  { declaration: 'double(10,2)', values: ['0.1', '99999999.99', '-0.01'] },
  { declaration: 'year', values: ['0', '1901', '2155', '2026'] },
  { declaration: 'year(2)', values: ["'70'", "'99'", "'00'", "'26'", "'69'"], only: ['mariadb'], isRefused: true },
  { declaration: 'bit(1)', values: ["b'0'", "b'1'"] },
  { declaration: 'bit(64)', values: ["b'0'", "b'1'", '18446744073709551615'] },
  { declaration: 'date', values: quoted(days) }, {
    declaration: 'datetime', values: quoted(days.map((day) => `${day} 10:15:00`))
  }, {
    declaration: 'datetime(6)',
    values: quoted(days.flatMap((day) => [`${day} 10:15:00.000001`, `${day} 00:00:00.999999`]))
  },
  {
    declaration: 'timestamp(3) null',
    values: quoted(['0000-00-00 00:00:00', '1970-01-01 00:00:01', '2038-01-19 03:14:07.999'])
  },
  {
    declaration: 'time(6)', values: quoted(['-838:59:59', '-00:00:00.000001', '00:00:00', '838:59:59', '100:00:00.5'])
  },
  { declaration: "enum('b', 'a', 'é')", values: quoted(['b', 'a', 'é', 'no member']) },
  { declaration: "enum('b', '')", values: quoted(['b', '', 'no member']), isRefused: true },
  { declaration: "set('b', 'a')", values: quoted(['', 'b,a']), isRefused: true },
  { declaration: 'json', values: quoted(['1', '[]']), isRefused: true },
  { declaration: 'char(5)', values: quoted(['', 'a ', 'a', 'A', 'é', '😀']) }, {
    declaration: 'varchar(20) character set latin1', values: quoted(['', 'a ', 'a', 'ÿ', '€'])
  }, { declaration: 'text', values: quoted(['', 'a\\0', 'a', '{"$text":"a"}', '1']) },
  { declaration: 'binary(3)', values: ["''", "x'00ff'", "x'ffffff'"] },
  { declaration: 'blob', values: ["''", "x'00'", "x'0000'", "x'ff'"] },
  {
    declaration: 'uuid',
    values: quoted(['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-1fff-bfff-ffffffffffff']),
    only: ['mariadb']
  }, {
    declaration: 'inet6', values: quoted(['::', '::ffff:1.2.3.4', 'ffff::']), only: ['mariadb']
  }, { declaration: 'inet4', values: quoted(['0.0.0.0', '255.255.255.255']), only: ['mariadb'] }
]

/** Every storage class, numbers that a double changes, and texts in other notations than that of the service. */
const anything = [
  '0', '1', '1.5', '-0.0', '1e300', '9007199254740991', '9007199254740993', '-9223372036854775808',
  '9223372036854775807', '9.223372036854775e18', '1.152921504606847e18', '1e19', '0.30000000000000004', '12.3456',
  ...quoted([
    '', 'soon', '12.345', '2026-02-31', '2026-02-28', '2026-02-31 10:15:00', '2026-02-28T10:15:00',
    '2026-02-28 10:15:00.5', '10:15:00', '99:99:99', '9007199254740993.5', '{"$number":"1"}'
  ]), "x''", "x'00ff'", 'true'
]
const onSqlite: Stored[] = [
  // a client that parses numbers as doubles cannot page in the order of larger integers
  {
    declaration: 'bigint',
    values: anything.filter((value) => !/^-?9(007199254740993|.?22337203685477)|e18$/.test(value))
  },
  ...[
    'boolean', 'decimal(10,2)', 'decimal', 'numeric(15,6)', 'real', 'text', 'varchar(5)', 'blob', 'date', 'time',
    'datetime', 'timestamp'
  ].map((declaration) => ({ declaration, values: anything })),
  { declaration: 'json', values: quoted(['[]']), isRefused: true }
]

const on = (engine: EngineName): Stored[] =>
  engine === 'sqlite' ? onSqlite : onServers.filter(({ only }) => only === undefined || only.includes(engine))

const schema = (engine: EngineName): string[] => [
  ...engine === 'sqlite' ? [] : ["set session sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'"],
  ...on(engine).flatMap(({ declaration, values }, index) => [
    `create table v${index} (id int primary key,
      v ${declaration}${engine !== 'sqlite' && !declaration.endsWith('null') ? ' null' : ''})`,
    ...declaration.startsWith('blob') || declaration === 'text' || declaration.startsWith('json')
      ? []
      : [`create index v${index}_v on v${index} (v)`],
    // each value twice, so that pages also begin between equal ones
    `insert into v${index} values ${[...values, ...values, 'null'].map((value, id) => `(${id}, ${value})`).join(', ')}`
  ])
]

const test = sharedOnEachEngine(t, { schema })
const isTested = oneIn(3)

await test('a walk gives each row once, whatever the column holds, to a client that parses ' +
  'numbers as doubles', async (t, service) => {
  for (const [index, { declaration, values, isRefused }] of on(service.engine).entries()) {
    if (isRefused === true) {
      t.match(
        await service.post(`v${index}`, { verb: 'select', orderBy: 'v', after: null }),
        { status: 400, json: { error: { code: 'INVALID_ORDER_BY' } } }, declaration
      )
      continue
    }
    for (const [direction, limit] of [['asc', 1], ['desc', 3]] as const) {
      if (!isTested()) continue
      const ids = (await service.sql(`select id from v${index} order by v ${direction}, id ${direction}`)).map(
        ({ id }) => id
      )
      t.equal(ids.length, 2 * values.length + 1)
      try {
        t.same((await readPages(service, `v${index}`, {
          columns: ['id'], orderBy: `v ${direction}`, limit
        })).map(({ id }) => id), ids, `${declaration} ${direction}`)
      } catch (error) {
        t.fail(`${declaration} ${direction}: ${String(error).slice(0, 300)}`)
      }
    }
  }
})

await test('what no client may write is accepted as a position only', async (t, { post, engine }) => {
  const index = on(engine).findIndex(({ declaration }) => declaration === 'date')
  const filters = [{ v: '2026-02-31' }, { v: { $gt: '2026-02-31' } }, { v: { $in: ['2026-02-31'] } }]
  for (const each of filters) {
    t.match(await post(`v${index}`, { verb: 'select', filters: each }), {
      status: 400, json: { error: { code: 'INVALID_VALUE' } }
    })
  }
  t.match(await post(`v${index}`, { verb: 'update', data: { v: '2026-02-31' }, filters: { id: 1 } }), {
    status: 400, json: { error: { code: 'INVALID_VALUE' } }
  })
  for (const v of ['2026-02-32', '2026-13-01', '2026-2-31', 'soon']) {
    t.match(
      await post(`v${index}`, { verb: 'select', orderBy: 'v', after: { v, id: 1 } }),
      { status: 400, json: { error: { code: 'INVALID_VALUE' } } }, v
    )
  }
})

await test('the page behind an invalid date is read by an index', async (t, { engine, post, statements, sql }) => {
  const index = on(engine).findIndex(({ declaration }) => declaration === 'date')
  statements()
  await post(`v${index}`, {
    verb: 'select', columns: ['id', 'v'], orderBy: 'v', after: { v: '2026-02-30', id: 1 }, limit: 2
  })
  const plan = JSON.stringify(await sql(`explain format=json ${statements().at(-1)}`))
  t.match(plan, /access_type[\\": ]+range|Index range scan|index_range_scan/i, plan)
  t.notMatch(plan, /filesort|Sort: /)
}, [...MYSQL])
