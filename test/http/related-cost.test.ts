// night: tables of a million rows
/** What filters by related rows cost: rows read by the server's own counters, with as many related rows as a table can hold. */
import t from 'tap'
import { onEachEngine, type Service } from '../support/service.ts'

const PARENTS = 1000
const EACH = 1000

const ten = '(select 0 n union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9)'
const numbers = `(select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n n from ${ten} a, ${ten} b, ${ten} c, ${ten} d, ${ten} e, ${ten} f) numbers`

/** Each parent has a child of each `sku`, and children of each `sku` have all parents. */
const schema = (): string[] => [
  'create table parents (id int not null primary key, code varchar(8) not null)',
  'create table children (id int not null primary key, parent_id int not null, sku int not null, kind int not null)',
  `insert into parents select n + 1, concat('c', n + 1) from ${numbers} where n < ${PARENTS}`,
  `insert into children select n, n div ${EACH} + 1, n % ${EACH}, 1 from ${numbers}`,
  'alter table children add key by_parent (parent_id), add key by_sku (sku), add key by_kind (kind, parent_id)'
]

const on = { id: 'parent_id' }

/** Filters, how many rows are asked for, how many come, and how many may be read for each row that is looked at, besides the row itself. */
const cases: Array<[name: string, filters: object, rows: number, each: number]> = [
  ['some, and the first related row passes', { $some: { children: { on } } }, 100, 2],
  ['some, with another index for its filter', { $some: { children: { on, filters: { sku: 999 } } } }, 10, EACH + 2],
  ['none, with another index for its filter, and no related row passes', { $none: { children: { on, filters: { sku: 1000 } } } }, 10, EACH + 2],
  ['none, in an index that begins with what the filter holds equal', { $none: { children: { on, filters: { kind: 2 } } } }, 100, 2],
  ['some, in an index that begins with what the filter holds equal', { $some: { children: { on, filters: { kind: 1 } } } }, 100, 2],
  ['two levels', { $some: { children: { on, filters: { kind: 1, $some: { parents: { on: { parent_id: 'id' }, filters: { code: { $startsWith: 'c' } } } } } } } }, 100, 4],
  ['none of two levels', { $none: { children: { on, filters: { kind: 1, $none: { parents: { on: { parent_id: 'id' } } } } } } }, 5, 2 * EACH + 2],
  ['an alternative', { $or: [{ id: 5 }, { $some: { children: { on, filters: { kind: 1 } } } }] }, 100, 2]
]

async function readBy ({ sql }: Service, statement: string): Promise<number> {
  await sql('flush status')
  await sql(statement)
  return (await sql("show session status where Variable_name like 'Handler_read%'")).reduce((sum, { Value: value }) => sum + Number(value), 0)
}

await onEachEngine(t, 'filters read the rows that are related to the rows they look at, and no others', { schema, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 } }, async (t, service) => {
  const { post, statements, sql } = service
  for (const analyzed of [false, true]) {
    if (analyzed) await sql('analyze table parents, children')
    for (const [name, filters, rows, each] of cases) {
      statements()
      const { json } = await post('parents', { verb: 'select', columns: ['id'], filters, limit: rows })
      t.equal(json.data?.count, rows, JSON.stringify(json.error))
      const [statement = ''] = statements()
      const read = await readBy(service, statement)
      const most = rows * (1 + each) + 5
      t.ok(read <= most, `${name}: ${read} rows read, at most ${most}: ${statement}`)
    }
    statements()
    t.same((await post('parents', { verb: 'update', filters: { id: { $lte: 10 }, $some: { children: { on, filters: { sku: 1000 } } } }, data: { code: 'x' } })).json.data, { updated: 0 })
    const [update = ''] = statements()
    const read = await readBy(service, update)
    t.ok(read <= 10 * (EACH + 3) + 25, `${read} rows read: ${update}`)
  }
})

await onEachEngine(t, 'SQLite takes the index of the relation, whichever was defined last', {
  schema: () => ['create table parents (id integer primary key)', 'create table children (parent_id int not null, line int not null, sku int not null, primary key (parent_id, line))', 'create index by_sku on children (sku)', 'create table others (id integer primary key, parent_id int, sku int)', 'create index of_parent on others (parent_id)', 'create index of_sku on others (sku)'],
  only: ['sqlite']
}, async (t, { post, sql, statements }) => {
  for (const table of ['children', 'others']) {
    statements()
    await post('parents', { verb: 'select', filters: { $some: { [table]: { on, filters: { sku: 5 } } } } })
    const [statement = ''] = statements()
    const plan = await sql(`explain query plan ${statement.replaceAll('?', '1')}`)
    t.match(plan.map(({ detail }) => detail).join(), /SEARCH t1 USING INDEX \w+ \(parent_id=\?\)/)
  }
})
