// night: a hundred thousand rows
/** What members and filters by the rows of a view cost: rows read by the server's own counters. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const ten = '(select 0 n union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9)'
const numbers = `(select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n n from ${ten} a, ${ten} b, ${ten} c, ${ten} d, ${ten} e) numbers`

/** Rows that a statement reads, by the counters of the server. */
async function countRead (sql: (statement: string) => Promise<any[]>, statement: string): Promise<number> {
  await sql('flush status')
  await sql(statement)
  return (await sql("show session status where Variable_name like 'Handler_read%'")).reduce((sum, { Value: value }) => sum + Number(value), 0)
}

const OF_VIEW = 100_000
const schemaOfViews = (): string[] => [
  'create table parents (id int not null primary key, code varchar(10) not null, item int not null)',
  'create table items (id int not null primary key, parent_id int not null, code varchar(10) not null, n int not null)',
  'create table children (id int not null primary key, parent_id int not null, item int not null, key (parent_id))',
  `insert into items select n, n % 10000, concat('c', n % 10000), n % 7 from ${numbers} where n < ${OF_VIEW}`,
  "insert into parents select id, concat('c', id), id from items where id < 1000",
  'insert into children select id, id % 1000, id % 10000 from items where id < 5000',
  'create view plain as select * from items',
  'create view grouped as select parent_id, code, count(*) as n, sum(n) as total from items group by parent_id, code',
  'analyze table parents, items, children'
]

await onEachEngine(t, 'a view is read once for a statement, and a statement reads it for 250 values', { schema: schemaOfViews, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 } }, async (t, { post, sql, statements }) => {
  const cost = async (name: string, body: object, most: { readonly statements: number, readonly table?: string }): Promise<void> => {
    statements()
    const { json } = await post(most.table ?? 'parents', { verb: 'select', columns: ['id'], limit: 1000, ...body })
    t.equal(json.data?.count, 1000, `${name}: ${JSON.stringify(json.error)}`)
    const sent = statements().filter((statement) => /plain|grouped/.test(statement))
    t.ok(sent.length <= most.statements, `${name}: ${sent.length} statements`)
    // the view and what it groups, then temporary tables of the related rows
    for (const statement of sent) {
      const read = await countRead(sql, statement)
      t.ok(read <= 2.6 * OF_VIEW, `${name}: ${read} rows read: ${statement.slice(0, 200)} … ${statement.slice(-300)}`)
    }
  }
  for (const view of ['plain', 'grouped']) {
    for (const pairs of [{ id: 'parent_id' }, { code: 'code' }, { id: 'parent_id', code: 'code' }]) {
      await cost('a list', { include: { items: { table: view, on: pairs, orderBy: 'n DESC', limit: 3 } } }, { statements: 4 })
      await cost('aggregates', { include: { items: { table: view, on: pairs, aggregates: { n: { $count: '*' }, most: { $max: 'n' } } } } }, { statements: 4 })
      await cost('some', { filters: { $some: { items: { table: view, on: pairs, filters: { n: { $gte: 1 } } } } } }, { statements: 1 })
      await cost('none', { filters: { $none: { items: { table: view, on: pairs, filters: { n: 100 } } } } }, { statements: 1 })
    }
    await cost('some of a list of a table', { include: { children: { on: { id: 'parent_id' }, filters: { $some: { items: { table: view, on: { item: 'parent_id' } } } } } } }, { statements: 4 })
    await cost('some of some', { filters: { $some: { children: { on: { id: 'parent_id' }, filters: { $some: { items: { table: view, on: { item: 'parent_id' } } } } } } } }, { statements: 1 })
    await cost('some of a member that is one', { include: { parent: { table: 'parents', on: { parent_id: 'id' }, filters: { $some: { items: { table: view, on: { id: 'parent_id' } } } } } } }, { statements: 1, table: 'children' })
  }
})
