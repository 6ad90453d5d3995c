// night: large documents and answers
/** What members cost: statements, and rows read by the server's own counters, also where one row has many more related rows than the others. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const PARENTS = 300
const MANY = 20_000
const CROWDED = 50
const EACH = [1, 3, 8]

const ten = '(select 0 n union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9)'
const numbers = `(select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n n from ${ten} a, ${ten} b, ${ten} c, ${ten} d, ${ten} e) numbers`

/** Each parent has 1, 3 or 8 children in a table, and one of them has many. */
const schema = (): string[] => [
  'create table parents (id int not null primary key, wide bigint unsigned, code varchar(8) not null, tenant int not null)',
  `insert into parents select n + 1, if(n = 7, 18446744073709551615, n + 1), concat('c', n + 1), 1 from ${numbers} where n < ${PARENTS}`,
  ...EACH.flatMap((each) => [
    `create table children${each} (id int not null auto_increment primary key, parent_id int not null, wide int not null, code varchar(8) not null, tenant int not null, line int not null, note varchar(20) not null,
      key by_parent (parent_id, line), key by_wide (wide, line), key by_code (code, line), key by_tenant (tenant, parent_id, line))`,
    `insert into children${each} (parent_id, wide, code, tenant, line, note) select n div ${each} + 1, n div ${each} + 1, concat('C', n div ${each} + 1), 1, n % ${each}, 'few' from ${numbers} where n < ${PARENTS * each}`,
    `insert into children${each} (parent_id, wide, code, tenant, line, note) select ${CROWDED}, ${CROWDED}, 'c${CROWDED}', 1, 100 + n, 'many' from ${numbers} where n < ${MANY}`
  ]),
  'analyze table parents, children1, children3, children8'
]

const ons: Array<readonly [on: Record<string, string>, filters?: object]> = [[{ id: 'parent_id' }], [{ wide: 'wide' }], [{ code: 'code' }], [{ id: 'parent_id', tenant: 'tenant' }], [{ id: 'parent_id' }, { tenant: 1 }]]

/** Rows that the statements read, by the counters of the server. */
async function countRead (sql: (statement: string) => Promise<any[]>, statements: readonly string[]): Promise<number> {
  await sql('flush status')
  for (const statement of statements) await sql(statement)
  return (await sql("show session status where Variable_name like 'Handler_read%'")).reduce((sum, { Value: value }) => sum + Number(value), 0)
}

/** What a list may read: the rows returned, six for each value, and limit + 1 for each 250 values. */
const mostRead = ({ returned, values, limit }: { readonly returned: number, readonly values: number, readonly limit: number }): number =>
  returned + 6 * values + Math.ceil(values / 250) * (limit + 1)

await onEachEngine(t, `rows read for lists are bounded, also with ${MANY} for one row`, { schema, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 } }, async (t, { post, sql, statements }) => {
  for (const [index, [each, [on, filters]]] of EACH.flatMap((each) => ons.map((on) => [each, on] as const)).entries()) {
    for (const [order, limit] of index % 2 === 0 ? [['line', 1], ['line DESC', 5], ['line', 100]] as const : [['line DESC', 1], ['line', 5], ['line DESC', 100]] as const) {
      const children = { table: `children${each}`, on, ...filters !== undefined && { filters }, columns: ['parent_id', 'line'], orderBy: order, limit }
      statements()
      const { json } = await post('parents', { verb: 'select', columns: ['id', 'wide'], orderBy: 'id', limit: 200, include: { children } })
      const sent = statements().filter((statement) => statement.includes(`\`children${each}\``))
      const rows = json.data.rows as Array<{ id: number, children: Array<{ line: number, parent_id: number }> }>
      for (const { id, children } of rows) {
        const lines = id === 8 && 'wide' in on ? [] : [...Array(each).keys(), ...id === CROWDED ? Array.from({ length: MANY }, (_, index) => 100 + index) : []]
        const wanted = (order === 'line' ? lines : lines.reverse()).slice(0, limit)
        if (JSON.stringify(children) !== JSON.stringify(wanted.map((line) => ({ parent_id: id, line })))) t.fail(`${each} ${JSON.stringify(on)} ${order} ${limit}: ${id} has ${JSON.stringify(children)}`)
      }
      t.ok(sent.length <= 2, `${sent.length} statements`)
      const read = await countRead(sql, sent)
      const most = mostRead({ returned: rows.reduce((sum, { children }) => sum + children.length, 0), values: 200, limit })
      t.ok(read <= most, `${JSON.stringify({ each, on, filters, order, limit })}: ${read} rows read, at most ${most}: ${sent[0]?.slice(0, 300)}`)
    }
  }
  for (const orderBy of ['line', 'line DESC', 'id']) {
    statements()
    const { json } = await post('parents', { verb: 'select', columns: ['id'], filters: { id: CROWDED }, include: { children: { table: 'children1', on: { id: 'parent_id' }, orderBy, limit: 10 } } })
    t.equal(json.data.rows[0].children.length, 10)
    const read = await countRead(sql, statements().filter((statement) => statement.includes('`children1`')))
    // no index has the order by the key
    if (orderBy !== 'id') t.ok(read <= mostRead({ returned: 10, values: 1, limit: 10 }), `one row alone, ordered by ${orderBy}: ${read} rows read`)
  }
  statements()
  t.equal((await post('parents', { verb: 'select', columns: ['id'], orderBy: 'id', limit: 300, include: { children: { table: 'children1', on: { id: 'parent_id' }, limit: 2 } } })).json.data.count, 300)
  t.ok(statements().filter((statement) => statement.includes('`children1`')).length <= 4, 'at most two statements for each 250 values')
})

const MILLION = 1_000_000

await onEachEngine(t, 'one row of 100 may have a million related ones', {
  schema: (engine) => [
    'create table parents (id int not null primary key)', 'create table children (parent_id int not null, line int not null, primary key (parent_id, line))',
    'insert into parents values ' + Array.from({ length: 100 }, (_, index) => `(${index + 1})`).join(),
    'insert into children select id, 1 from parents', 'insert into children select id, 2 from parents',
    ...engine === 'mariadb'
      ? [`insert into children select ${CROWDED}, seq from seq_3_to_${MILLION}`]
      : [`set cte_max_recursion_depth = ${MILLION}`, `insert into children with recursive numbers (n) as (select 3 union all select n + 1 from numbers where n < ${MILLION}) select ${CROWDED}, n from numbers`],
    'analyze table parents, children'
  ],
  only: ['mariadb', 'mysql'],
  database: { statementTimeout: 60_000 }
}, async (t, { post, sql, statements }) => {
  for (const [orderBy, limit, first] of [['line', 5, 1], ['line DESC', 5, MILLION], ['line', 100, 1], ['line DESC', 1, MILLION]] as const) {
    statements()
    const { json } = await post('parents', { verb: 'select', include: { children: { on: { id: 'parent_id' }, columns: ['line'], orderBy, limit } } })
    const rows = json.data.rows as Array<{ id: number, children: Array<{ line: number }> }>
    t.same(rows.map(({ children }) => children.length), rows.map(({ id }) => id === CROWDED ? limit : Math.min(2, limit)))
    t.equal(rows[CROWDED - 1]?.children[0]?.line, first)
    const read = await countRead(sql, statements().filter((statement) => statement.includes('`children`')))
    const most = mostRead({ returned: rows.reduce((sum, { children }) => sum + children.length, 0), values: 100, limit })
    t.ok(read <= most, `${orderBy} ${limit}: ${read} rows read, at most ${most}`)
  }
})

await onEachEngine(t, 'a member that is one row is joined: no statement of its own, and no transaction', { schema, only: ['mariadb', 'mysql'] }, async (t, { post, sql, statements }) => {
  statements()
  const { json } = await post('children1', { verb: 'select', columns: ['parent_id'], orderBy: 'id', limit: 100, include: { parent: { table: 'parents', on: { parent_id: 'id' }, columns: ['code'] } } })
  for (const { parent_id: id, parent } of json.data.rows) if (parent.code !== `c${id}`) t.fail(`${id}: ${parent.code}`)
  t.equal(json.data.count, 100)
  const sent = statements()
  t.equal(sent.length, 1, sent.join('\n'))
  const read = await countRead(sql, sent)
  t.ok(read <= 300, `${read} rows read`)
})

await onEachEngine(t, 'a list of long texts or with many filters is divided into statements that the database takes', {
  schema: () => ['create table words (id integer not null primary key, word varchar(8000) not null)', 'create index by_word on words (word)'],
  only: ['sqlite'],
  // a busy machine
  database: { statementTimeout: 60_000 }
}, async (t, { post, statements }) => {
  const word = (id: number): string => `${id} `.padEnd(7000, 'x')
  for (let from = 0; from < 400; from += 100) t.equal((await post('words', { verb: 'insert', data: Array.from({ length: 100 }, (_, index) => ({ id: from + index, word: word(from + index) })) })).status, 200)
  for (const [rows, filters] of [[400, {}], [50, { id: { $in: Array.from({ length: 1000 }, (_, index) => index) } }]] as const) {
    statements()
    const { json } = await post('words', { verb: 'select', columns: ['id'], orderBy: 'id', limit: rows, include: { same: { table: 'words', on: { word: 'word' }, columns: ['id'], filters } } })
    t.same(json.data?.rows, Array.from({ length: rows }, (_, id) => ({ id, same: [{ id }] })), JSON.stringify(json).slice(0, 300))
    t.ok(statements().length > 2)
  }
})
