/** What members cost: statements, and rows read by the server's own counters, also where one row has many more related rows than the others. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const PARENTS = 300
const MANY = 20_000
const CROWDED = 50

const ten = '(select 0 n union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9)'
const numbers = `(select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n n from ${ten} a, ${ten} b, ${ten} c, ${ten} d, ${ten} e) numbers`

/** Each parent has `each` children, and one of them has many. */
const schema = (each: number) => (): string[] => [
  'create table parents (id int not null primary key, wide bigint unsigned, code varchar(8) not null, tenant int not null)',
  `create table children (id int not null auto_increment primary key, parent_id int not null, wide int not null, code varchar(8) not null, tenant int not null, line int not null, note varchar(20) not null,
    key by_parent (parent_id, line), key by_wide (wide, line), key by_code (code, line), key by_tenant (tenant, parent_id, line))`,
  `insert into parents select n + 1, if(n = 7, 18446744073709551615, n + 1), concat('c', n + 1), 1 from ${numbers} where n < ${PARENTS}`,
  `insert into children (parent_id, wide, code, tenant, line, note) select n div ${each} + 1, n div ${each} + 1, concat('C', n div ${each} + 1), 1, n % ${each}, 'few' from ${numbers} where n < ${PARENTS * each}`,
  `insert into children (parent_id, wide, code, tenant, line, note) select ${CROWDED}, ${CROWDED}, 'c${CROWDED}', 1, 100 + n, 'many' from ${numbers} where n < ${MANY}`,
  'analyze table parents, children'
]

const ons: Array<readonly [on: Record<string, string>, filters?: object]> = [[{ id: 'parent_id' }], [{ wide: 'wide' }], [{ code: 'code' }], [{ id: 'parent_id', tenant: 'tenant' }], [{ id: 'parent_id' }, { tenant: 1 }]]

for (const each of [1, 3, 8]) {
  await onEachEngine(t, `rows read for lists are bounded, with ${each} for each row and ${MANY} for one`, { schema: schema(each), only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 } }, async (t, { post, sql, statements }) => {
    for (const [on, filters] of ons) {
      for (const order of ['line', 'line DESC']) {
        for (const limit of [1, 5, 100]) {
          const children = { on, ...filters !== undefined && { filters }, columns: ['parent_id', 'line'], orderBy: order, limit }
          statements()
          const { json } = await post('parents', { verb: 'select', columns: ['id', 'wide'], orderBy: 'id', limit: 200, include: { children } })
          const sent = statements().filter((statement) => statement.includes('`children`'))
          const rows = json.data.rows as Array<{ id: number, children: Array<{ line: number, parent_id: number }> }>
          for (const { id, children } of rows) {
            const lines = id === 8 && 'wide' in on ? [] : [...Array(each).keys(), ...id === CROWDED ? Array.from({ length: MANY }, (_, index) => 100 + index) : []]
            const wanted = (order === 'line' ? lines : lines.reverse()).slice(0, limit)
            if (JSON.stringify(children) !== JSON.stringify(wanted.map((line) => ({ parent_id: id, line })))) t.fail(`${JSON.stringify(on)} ${order} ${limit}: ${id} has ${JSON.stringify(children)}`)
          }
          t.ok(sent.length <= 2, `${sent.length} statements`)
          await sql('flush status')
          for (const statement of sent) await sql(statement)
          const counters = await sql("show session status where Variable_name like 'Handler_read%'")
          const read = counters.reduce((sum, { Value: value }) => sum + Number(value), 0)
          const returned = rows.reduce((sum, { children }) => sum + children.length, 0)
          const most = returned + 6 * 200 + limit + 1
          t.ok(read <= most, `${JSON.stringify({ on, filters, order, limit })}: ${read} rows read, at most ${most}: ${sent[0]?.slice(0, 300)}`)
        }
      }
    }
  })
}

await onEachEngine(t, 'a member that is one row is joined: no statement of its own, and no transaction', { schema: schema(1), only: ['mariadb', 'mysql'] }, async (t, { post, sql, statements }) => {
  statements()
  const { json } = await post('children', { verb: 'select', columns: ['parent_id'], orderBy: 'id', limit: 100, include: { parent: { table: 'parents', on: { parent_id: 'id' }, columns: ['code'] } } })
  for (const { parent_id: id, parent } of json.data.rows) if (parent.code !== `c${id}`) t.fail(`${id}: ${parent.code}`)
  t.equal(json.data.count, 100)
  const sent = statements()
  t.equal(sent.length, 1, sent.join('\n'))
  await sql('flush status')
  await sql(sent[0] as string)
  const read = (await sql("show session status where Variable_name like 'Handler_read%'")).reduce((sum, { Value: value }) => sum + Number(value), 0)
  t.ok(read <= 300, `${read} rows read`)
})

await onEachEngine(t, 'a list of long texts or with many filters is divided into statements that the database takes', {
  schema: () => ['create table words (id integer not null primary key, word varchar(8000) not null)', 'create index by_word on words (word)'],
  only: ['sqlite']
}, async (t, { post, statements }) => {
  const word = (id: number): string => `${id} `.padEnd(7000, 'x')
  for (let from = 0; from < 400; from += 100) t.equal((await post('words', { verb: 'insert', data: Array.from({ length: 100 }, (_, index) => ({ id: from + index, word: word(from + index) })) })).status, 200)
  statements()
  const { json } = await post('words', { verb: 'select', columns: ['id'], orderBy: 'id', limit: 400, include: { same: { table: 'words', on: { word: 'word' }, columns: ['id'], filters: { id: { $in: Array.from({ length: 1000 }, (_, index) => index) } } } } })
  t.same(json.data?.rows, Array.from({ length: 400 }, (_, id) => ({ id, same: [{ id }] })), JSON.stringify(json).slice(0, 300))
  t.ok(statements().length > 5)
})
