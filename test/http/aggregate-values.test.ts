/** What aggregate functions return for columns of each type, and which columns make groups. */
import t, { type Test } from 'tap'
import { type Answer, onEachEngine, type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'

const selectFrom = ({ post }: Service, table = 'orders') => (body: object): Promise<Answer> => post(table, { verb: 'select', ...body })
const rowsOf = async (answer: Promise<Answer>): Promise<any[]> => (await answer).json.data.rows

/** Numbers as `number 1`, with all their digits. */
const parseExactly = (text: string): any => JSON.parse(text, (_key: string, value: unknown, { source }: { source?: string }) => typeof value === 'number' ? `number ${source}` : value)

async function refused (t: Test, answer: Promise<Answer>, [code, path]: readonly [string, string], why: string): Promise<void> {
  const { json } = await answer
  t.same([json.error?.code, json.error?.details[0]?.path], [code, path], why)
}

const large: Schema = (engine) => [
  `create table large (id int not null primary key, g int not null, b bigint null, p decimal(15,2) null, d double null${engine === 'sqlite' ? '' : ', bu bigint unsigned null, f float null, w decimal(65,0) null, x decimal(65,30) null'})`,
  ...[[1, 1, '9223372036854775807', '9999999999999.99', '1.7e308', '18446744073709551615', '0.1', '9'.repeat(65), `${'9'.repeat(35)}.${'9'.repeat(30)}`],
    [2, 1, '1', '0.01', '1.7e308', '18446744073709551615', '0.2', '1', '1'],
    [3, 2, '-9223372036854775808', '0.10', '1e-300', '18446744073709551615', '0.1', `-${'9'.repeat(65)}`, '0.000000000000000000000000000001'],
    [4, 2, '9223372036854775807', '0.20', '0.1', '0', '0.7', '0', '0.2']].map((values) => `insert into large values (${(engine === 'sqlite' ? values.slice(0, 5) : values).join(', ')})`)
]

await onEachEngine(t, 'sums are exact; one that is too large is VALUE_OUT_OF_RANGE', { schema: large }, async (t, service) => {
  const select = selectFrom(service, 'large')
  const isServer = service.engine !== 'sqlite'
  const tooLarge = async (aggregates: object, why: string, rest: object = { groupBy: ['g'] }): Promise<void> => { t.match((await select({ aggregates, ...rest })).json, { error: { code: 'VALUE_OUT_OF_RANGE' } }, why) }
  t.match((await select({ aggregates: { s: { $sum: 'p' }, a: { $avg: 'p' } } })).text, /\{"s":"10000000000000.30","a":"2500000000000.075000"\}/)
  t.same(await rowsOf(select({ aggregates: { s: { $sum: 'b' } }, filters: { g: 2 } })), [{ s: '-1' }])
  for (const rest of [{}, { groupBy: ['g'] }]) await tooLarge({ s: { $sum: 'd' } }, 'a double', rest)
  await tooLarge({ s: { $sum: 'd' } }, 'a double in having', { groupBy: ['g'], having: { s: { $gt: 0 } }, orderBy: 's' })
  await tooLarge({ s: { $avg: 'd' } }, 'an average of doubles whose sum is too large')
  t.same((await select({ aggregates: { s: { $sum: 'd' }, a: { $avg: 'd' } }, filters: { g: 2 } })).text, '{"success":true,"data":{"rows":[{"s":0.1,"a":0.05}],"count":1}}')
  if (!isServer) {
    for (const rest of [{}, { groupBy: ['g'] }]) await tooLarge({ s: { $sum: 'b' } }, 'an integer', rest)
    return
  }
  t.same(await rowsOf(select({ aggregates: { s: { $sum: 'b' }, u: { $sum: 'bu' }, a: { $avg: 'b' }, f: { $sum: 'f' } }, groupBy: ['g'], orderBy: 'g' })), [
    { g: 1, s: '9223372036854775808', u: '36893488147419103230', a: '4611686018427387904.0000', f: 0.30000000447034836 },
    { g: 2, s: '-1', u: '18446744073709551615', a: '-0.5000', f: 0.7999999895691872 }
  ])
  for (const rest of [{}, { groupBy: ['g'] }]) {
    for (const column of ['w', 'x']) for (const call of ['$sum', '$avg']) await tooLarge({ s: { [call]: column } }, `${call} of ${column}`, rest)
  }
  const [row] = await rowsOf(select({ aggregates: { w: { $sum: 'w' }, x: { $sum: 'x' }, wa: { $avg: 'w' }, xa: { $avg: 'x' } }, filters: { id: 1 } }))
  t.same(row, { w: '9'.repeat(65), x: `${'9'.repeat(35)}.${'9'.repeat(30)}`, wa: '9'.repeat(65), xa: `${'9'.repeat(35)}.${'9'.repeat(30)}` })
  t.same(await rowsOf(select({ aggregates: { s: { $sum: 'x' }, a: { $avg: 'x' } }, groupBy: ['g'], filters: { g: 2 }, having: { s: '0.200000000000000000000000000001' } })), [
    { g: 2, s: '0.200000000000000000000000000001', a: '0.100000000000000000000000000001' }
  ], 'the average is rounded by the server')
})

await onEachEngine(t, 'values that a DECIMAL of SQLite should not have are added as they are compared', { schema: large, only: ['sqlite'] }, async (t, service) => {
  const select = selectFrom(service, 'large')
  await service.sql('delete from large')
  const put = async (...values: unknown[]): Promise<any> => {
    for (const value of values) await service.sql('insert into large (id, g, p, b) select coalesce(max(id), 0) + 1, 1, ?, ? from large', [value, value])
    const { text, json } = await select({ aggregates: { s: { $sum: 'p' } } })
    await service.sql('delete from large')
    return json.error?.code ?? text.slice(37, -14)
  }
  t.equal(await put('abc', 1), '"1.00"')
  t.equal(await put(0.005, 0.004), '"0.01"', 'each is rounded to the scale')
  t.equal(await put(Buffer.from('x'), -0.5, -0.25), '"-0.75"')
  t.equal(await put(null), 'null')
  t.equal(await put(9e16), '"90000000000000000.00"')
  t.equal(await put(9.3e16), 'VALUE_OUT_OF_RANGE')
  t.equal(await put(1e300), 'VALUE_OUT_OF_RANGE')
  t.equal(await put(-Infinity), 'VALUE_OUT_OF_RANGE')
  await service.sql('insert into large (id, g, b) values (1, 1, 1.5), (2, 1, 9), (3, 1, 1e30)')
  t.equal((await select({ aggregates: { s: { $sum: 'b' }, a: { $avg: 'b' } }, filters: { id: { $lt: 3 } } })).text, '{"success":true,"data":{"rows":[{"s":"10.5","a":"5.2500"}],"count":1}}')
  t.equal((await select({ aggregates: { s: { $sum: 'b' } } })).text, '{"success":true,"data":{"rows":[{"s":"1000000000000000000000000000000"}],"count":1}}')
  await service.sql('update large set b = 9e999')
  t.match((await select({ aggregates: { s: { $sum: 'b' } } })).json.error, { code: 'UNREADABLE_VALUE', message: /column "s"/ }, 'infinity is no JSON number')
})

const typed: Schema = {
  mysql: [
    `create table typed (id int not null primary key, tiny tinyint(1), big bigint unsigned, y year, num decimal(10,2) unsigned zerofill, f float, fd double(10,2), day date, moment timestamp(3) null, clock time(3),
      txt longtext, bin varbinary(10), en enum('z', 'a'), st set('x', 'y'), bits bit(5), flag bit(1), doc json, place point)`,
    `insert into typed values (1, 1, 18446744073709551615, 2026, '1.50', 0.1, 0.10, '2026-01-02', '2026-01-02 03:04:05.006', '-12:30:00.5', 'ä"', 'a\\0b', 'z', 'x,y', b'10101', b'1', '{"a": 1}', point(1, 2)),
      (2, 0, 0, 0, '0.00', -0.1, 0.20, '0000-00-00', '1970-01-01 00:00:01', '838:59:59', '', '', 'a', '', b'0', b'0', 'null', point(0, 0)), (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null)`
  ],
  sqlite: [
    'create table typed (id integer primary key, tiny tinyint(1), big bigint, y year, num decimal(10,2), f float, fd double, day date, moment timestamp, clock time, txt text, bin blob, doc json, what)',
    `insert into typed values (1, 1, 9223372036854775807, 2026, 1.5, 0.5, 0.1, '2026-01-02', '2026-01-02 03:04:05.006', '-12:30:00.5', 'ä"', x'610062', '{"a": 1}', 1),
      (2, 0, 0, 0, 0, -0.5, 0.2, '0000-00-00', '1970-01-01 00:00:01', '838:59:59', '', x'', 'null', 2), (3, null, null, null, null, null, null, null, null, null, null, null, null, null)`
  ]
}

const testTyped = sharedOnEachEngine(t, { schema: typed })

await testTyped('least and greatest are as their column; other types have none', async (t, service) => {
  const select = selectFrom(service, 'typed')
  const isServer = service.engine !== 'sqlite'
  const ranked = ['tiny', 'big', 'y', 'num', 'f', 'fd', 'day', 'moment', 'clock', 'txt', 'bin']
  const { rows } = parseExactly((await service.post('typed', { verb: 'select', columns: ranked, orderBy: 'id', limit: 2 })).text).data
  for (const column of ranked) {
    const { text } = await select({ aggregates: { low: { $min: column }, high: { $max: column } } })
    const [row] = parseExactly(text).data.rows
    const inOrder = ['clock'].includes(column) ? [rows[0], rows[1]] : [rows[1], rows[0]]
    const expected = column === 'fd' ? [rows[0], rows[1]] : inOrder
    t.same(row, { low: expected[0][column], high: expected[1][column] }, column)
  }
  for (const column of isServer ? ['en', 'st', 'bits', 'flag', 'doc', 'place'] : ['doc', 'what']) {
    for (const call of ['$min', '$max', '$sum', '$avg']) await refused(t, select({ aggregates: { n: { [call]: column } } }), ['INVALID_VALUE', `/aggregates/n/${call}`], `${call} of ${column}`)
    t.same(await rowsOf(select({ aggregates: { n: { $count: column } } })), [{ n: 2 }], `${column} can be counted`)
  }
  for (const column of ['day', 'moment', 'clock', 'txt', 'bin']) for (const call of ['$sum', '$avg']) await refused(t, select({ aggregates: { n: { [call]: column } } }), ['INVALID_VALUE', `/aggregates/n/${call}`], `${call} of ${column}`)
  for (const column of isServer ? ['doc', 'place'] : ['doc', 'what']) {
    await refused(t, select({ aggregates: { n: { $countDistinct: column } } }), ['INVALID_VALUE', '/aggregates/n/$countDistinct'], `${column} has no different values`)
    await refused(t, select({ groupBy: ['id', column] }), ['INVALID_VALUE', '/groupBy/1'], `${column} has no groups`)
  }
  t.same(await rowsOf(select({ aggregates: { s: { $sum: 'tiny' }, a: { $avg: 'y' }, f: { $sum: 'fd' } } })), [{ s: '1', a: '1013.0000', f: 0.30000000000000004 }], 'numbers of other kinds')
})

await testTyped('columns of every type that can be sorted make groups, whose values find them', async (t, service) => {
  const { post } = service
  const { data: { rows: [{ ...first }] } } = (await post('typed', { verb: 'select', limit: 1 })).json
  const names = Object.keys(first).filter((name) => !['id', 'doc', 'place', 'what'].includes(name))
  for (const name of names) {
    const { json, text } = await post('typed', { verb: 'select', groupBy: [name], aggregates: { n: { $countDistinct: 'id' } }, orderBy: name })
    t.equal(json.data?.count, 3, `${name}: ${text}`)
    const plain = (await post('typed', { verb: 'select', columns: [name], orderBy: name })).text
    t.equal(text.replaceAll(',"n":1', ''), plain, `${name} is shown as without groups`)
    for (const row of text.matchAll(/\{[^{}]*\}/g)) {
      if (!row[0].includes('"n"')) continue
      const { text: found } = await post('typed', `{"verb":"select","groupBy":["${name}"],"aggregates":{"n":{"$count":"*"}},"having":{"$is":${row[0]}}}`)
      t.equal(found, `{"success":true,"data":{"rows":[${row[0]}],"count":1}}`, `${name}: ${row[0]}`)
    }
  }
})

const texts = Array.from({ length: 30 }, (_, index) => `t${index}`)
const manyTexts: Schema = (engine) => [`create table texts (id int not null primary key, ${texts.map((name) => `${name} ${engine === 'sqlite' ? 'text' : 'longtext'} null`).join(', ')})`, `insert into texts (id, t0) values ${Array.from({ length: 200 }, (_, id) => `(${id}, 'x${id % 3}')`).join()}`]

await onEachEngine(t, 'more long texts than MariaDB can sort were answered as if another attempt could succeed', { schema: manyTexts }, async (t, service) => {
  const select = selectFrom(service, 'texts')
  t.equal((await select({ groupBy: texts.slice(0, 16), aggregates: { n: { $count: '*' } } })).json.data.count, 3)
  for (const body of [{ groupBy: texts, aggregates: { n: { $count: '*' } } }, { columns: ['id'], orderBy: texts.join() }]) {
    const { status, json } = await select(body)
    if (service.engine === 'mariadb') t.match({ status, json }, { status: 422, json: { error: { code: 'NOT_SUPPORTED' } } })
    else t.equal(status, 200)
  }
})
