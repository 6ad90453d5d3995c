/** Every type and operator that can use an index on the filtered column does so: no function is applied to the column. */
import t from 'tap'
import { type EngineName, sharedOnEachEngine } from '../support/service.ts'

interface Indexed {
  declaration: string
  /** SQL for the value of row n; values ascend with n. */
  fill: string
  /** JSON of two values near that of the last row. */
  low: unknown
  high: unknown
  key?: string
  only?: EngineName
  /** The type supports equality only. */
  unordered?: true
}

const ROWS = 2000
const day = (n: number): string => new Date(Date.UTC(2000, 0, 1 + n)).toISOString().slice(0, 10)
/** The offset of the day of row n. */
const daysSince = (n: number): number => -Math.round((Date.now() - Date.parse(day(n))) / 86_400_000)
const bytes = (n: number): string => Buffer.from(`b${String(n).padStart(5, '0')}`).toString('base64')
const texts = { fill: "concat('t', lpad(n, 5, '0'))", low: 't01998', high: 't01999' }

const columns: Indexed[] = [
  ...['smallint', 'mediumint unsigned', 'int', 'bigint', 'bigint unsigned'].map((declaration) => ({ declaration, fill: 'n', low: ROWS - 1, high: String(ROWS) })),
  ...['decimal(10,2)', 'decimal(65,30)'].map((declaration) => ({ declaration, fill: 'n + 0.5', low: '1999.5', high: '2000.50' })),
  { declaration: 'float', fill: 'n + 0.1', low: 1999.1, high: 2000.1 },
  { declaration: 'double', fill: 'n + 0.1', low: 1999.1, high: 2000.1 },
  { declaration: 'bit(20)', fill: 'n', low: (1999).toString(2), high: (2000).toString(2) },
  { declaration: 'year', fill: '1901 + floor(n / 8)', low: 2150, high: 2151 },
  { declaration: 'date', fill: "date_add('2000-01-01', interval n day)", low: day(1999), high: day(2000) },
  { declaration: 'datetime(3)', fill: "date_add('2000-01-01', interval n day)", low: `${day(1999)}T00:00:00`, high: `${day(2000)}T00:00:00` },
  { declaration: 'timestamp(6) null', fill: "date_add('2000-01-01', interval n day)", low: `${day(1999)}T00:00:00Z`, high: `${day(2000)}T02:00:00+02:00` },
  { declaration: 'time(2)', fill: 'sec_to_time(n)', low: '00:33:19', high: '00:33:20.00' },
  { declaration: 'char(10)', ...texts },
  { declaration: 'varchar(20)', ...texts },
  { declaration: 'varchar(20) character set latin1', ...texts },
  { declaration: 'varchar(20) collate utf8mb4_bin', ...texts },
  { declaration: 'text', ...texts, key: '(20)' },
  { declaration: `enum(${Array.from({ length: 200 }, (_, index) => `'m${index}'`).join(',')})`, fill: "concat('m', n mod 200)", low: 'm7', high: 'm8', unordered: true },
  { declaration: "set('a','b','c','d','e','f','g','h')", fill: '1 + n mod 200', low: ['a'], high: ['b'], unordered: true },
  { declaration: 'binary(6)', fill: "concat('b', lpad(n, 5, '0'))", low: bytes(1999), high: bytes(2000) },
  { declaration: 'varbinary(20)', fill: "concat('b', lpad(n, 5, '0'))", low: bytes(1999), high: bytes(2000) },
  { declaration: 'blob', fill: "concat('b', lpad(n, 5, '0'))", low: bytes(1999), high: bytes(2000), key: '(20)' },
  { declaration: 'inet4', fill: 'inet_ntoa(n)', low: '0.0.7.207', high: '0.0.7.208', only: 'mariadb' },
  { declaration: 'uuid', fill: "concat(lpad(n, 8, '0'), '-0000-1000-a000-000000000000')", low: '00001999-0000-1000-a000-000000000000', high: '00002000-0000-1000-a000-000000000000', only: 'mariadb', unordered: true }
]

const on = (engine: EngineName): Indexed[] => columns.filter(({ only }) => only === undefined || only === engine)

const schema = (engine: EngineName): string[] => {
  const list = on(engine)
  const numbers = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${ROWS}) select n, ${list.map(({ fill }) => fill).join(', ')} from numbers`
  return [
    "set session time_zone = '+00:00'",
    `set session ${engine === 'mysql' ? 'cte_max_recursion_depth' : 'max_recursive_iterations'} = 10000`,
    `create table indexed (id int not null primary key, ${list.map(({ declaration }, index) => `c${index} ${declaration}`).join(', ')}, ${list.map(({ key = '' }, index) => `key i${index} (c${index}${key})`).join(', ')})`,
    `insert into indexed ${numbers}`,
    'analyze table indexed'
  ]
}

const test = sharedOnEachEngine(t, { schema, only: ['mariadb', 'mysql'] })

await test('an index is used', async (t, { engine, post, sql, statements }) => {
  for (const [index, { declaration, low, high, unordered }] of on(engine).entries()) {
    const filters: unknown[] = [{ $eq: high }, { $is: high }, { $in: [low, high] }]
    if (unordered === undefined) filters.push({ $gt: low }, { $gte: high }, { $between: [low, high] })
    if (/char|^text/.test(declaration)) filters.push({ $startsWith: 't0199' }, { $like: 't0199%' })
    if (/^(date|timestamp)/.test(declaration)) filters.push({ $gt: { $now: { days: daysSince(1990) } } }, { $between: [{ $now: { days: daysSince(1990) } }, { $now: { months: 1 } }] })
    for (const filter of filters) {
      statements()
      const { json } = await post('indexed', { verb: 'select', filters: { [`c${index}`]: filter } })
      const statement = statements().at(-1) // before it the columns may have been confirmed
      const [plan] = await sql(`explain format=json ${statement}`)
      const what = `${declaration.slice(0, 40)} ${JSON.stringify(filter)}`
      t.match(plan.EXPLAIN, new RegExp(`"key": "i${index}"|using i${index}\\b`), what)
      t.ok(json.data.count > 0, `${what} finds rows`)
    }
  }
})

await test('a list of 10,000 ids is written as plain digits in one statement', async (t, { post, statements }) => {
  const ids = Array.from({ length: 10_000 }, (_, index) => index * 2)
  statements()
  const { json } = await post('indexed', { verb: 'select', columns: ['id'], limit: 1000, filters: { id: ids } })
  t.equal(json.data.count, ROWS / 2)
  const sent = statements()
  t.equal(sent.length, 1)
  t.ok(sent[0]?.includes(`in (${ids.map((id) => `'${id}'`).join(', ')})`))
})
