// night: a hundred thousand rows
/** What members and filters by the rows of a view cost: rows read by the server's own counters. */
import t from 'tap'
import { countReadRows } from '../support/read-rows.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const ten = '(select 0 n union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 ' +
  'union select 7 union select 8 union select 9)'
const numbers =
  `(select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n n
    from ${[...'abcde'].map((name) => `${ten} ${name}`).join()}) numbers`

const OF_VIEW = 100_000
const schemaOfViews = (): string[] => [
  'create table parents (id int not null primary key, code varchar(10) not null, item int not null, loose varchar(10))',
  'create table items (id int not null primary key, parent_id int not null, code varchar(10) not null, n int not ' +
    'null, loose varchar(10))',
  'create table children (id int not null primary key, parent_id int not null, item int not null, key (parent_id))',
  `insert into items select n, n % 10000, concat('c', n % 10000), n % 7, concat('c', n % 10000)
    from ${numbers} where n < ${OF_VIEW}`,
  "insert into parents select id, concat('c', id), id, concat('c', id) from items where id < 1000",
  'insert into children select id, id % 1000, id % 10000 from items where id < 5000',
  'create view plain as select * from items',
  'create view grouped as select parent_id, code, loose, count(*) as n, sum(n) as total from items group by ' +
    'parent_id, code, loose',
  'analyze table parents, items, children'
]

await onEachEngine(t, 'a view is read once for a statement, and a statement reads it for 250 values', {
  schema: schemaOfViews, only: ['mariadb', 'mysql'], database: { statementTimeout: 60_000 }
}, async (t, { post, sql, statements }) => {
  const cost = async (name: string, body: object, most: {
    readonly statements: number, readonly reads?: number, readonly table?: string
  }): Promise<void> => {
    statements()
    const { json } = await post(most.table ?? 'parents', { verb: 'select', columns: ['id'], limit: 1000, ...body })
    t.equal(json.data?.count, 1000, `${name}: ${JSON.stringify(json.error)}`)
    const sent = statements().filter((statement) => /plain|grouped/.test(statement))
    t.ok(sent.length <= most.statements, `${name}: ${sent.length} statements`)
    // each reading of the view: the view and what it groups, then temporary tables of the related rows
    for (const statement of sent) {
      const read = await countReadRows(sql, [statement])
      t.ok(
        read <= (most.reads ?? 1) * 2.6 * OF_VIEW,
        `${name}: ${read} rows read: ${statement.slice(0, 200)} … ${statement.slice(-300)}`
      )
    }
  }
  for (const view of ['plain', 'grouped']) {
    for (const pairs of [{ id: 'parent_id' }, { code: 'code' }, { id: 'parent_id', code: 'code' }]) {
      await cost('a list', { include: { items: { table: view, on: pairs, orderBy: 'n DESC', limit: 3 } } }, {
        statements: 4
      })
      await cost(
        'aggregates',
        { include: { items: { table: view, on: pairs, aggregates: { n: { $count: '*' }, most: { $max: 'n' } } } } },
        { statements: 4 }
      )
      await cost('some', { filters: { $some: { items: { table: view, on: pairs, filters: { n: { $gte: 1 } } } } } }, {
        statements: 1
      })
      await cost('none', { filters: { $none: { items: { table: view, on: pairs, filters: { n: 100 } } } } }, {
        statements: 1
      })
    }
    // NULL in one of several columns makes an IN unknown
    for (const pairs of [{ id: 'parent_id', code: 'code' }, { id: 'parent_id', loose: 'loose' }]) {
      for (const [many, filters] of [
        [{ $gte: 1 }, {}], [{ $between: [0, 10_000] }, {}], [{ $lt: 1 }, { n: 100 }]
      ] as const) {
        const some = { $some: { items: { table: view, on: pairs, filters, count: many } } }
        const most = { statements: 1, reads: 'loose' in pairs ? 5 : 2 }
        await cost(`a number of ${JSON.stringify(many)}`, { filters: some }, most)
        await cost(`not other than ${JSON.stringify(many)}`, {
          filters: { $not: { $and: [{ $not: some }, { code: { $ne: 'x' } }] } }
        }, most)
      }
      const none = { $some: { items: { table: view, on: pairs, filters: { n: 100 } } } }
      await cost('not some', { filters: { $or: [{ id: -1 }, { $not: { $and: [none, { code: { $ne: 'x' } }] } }] } }, {
        statements: 1, reads: 'loose' in pairs ? 5 : 1
      })
    }
    await cost('some of a list of a table', {
      include: {
        children: { on: { id: 'parent_id' }, filters: { $some: { items: { table: view, on: { item: 'parent_id' } } } } }
      }
    }, { statements: 4 })
    await cost('some of some', {
      filters: {
        $some: {
          children: {
            on: { id: 'parent_id' }, filters: { $some: { items: { table: view, on: { item: 'parent_id' } } } }
          }
        }
      }
    }, { statements: 1 })
    await cost('some of a member that is one', {
      include: {
        parent: {
          table: 'parents',
          on: { parent_id: 'id' },
          filters: { $some: { items: { table: view, on: { id: 'parent_id' } } } }
        }
      }
    }, { statements: 1, table: 'children' })
  }
})

const ODD = "select x.k, 't1' ; --"
const WIDE = Array.from({ length: 70 }, (_, index) => `c${index}`)
const schemaOfLarge: Schema = (engine) => {
  const quoted = (name: string): string => engine === 'sqlite' ? `"${name}"` : `\`${name}\``
  return [
    `create table wide (id int not null primary key, ${WIDE.map((name) => `${name} int`).join()})`,
    'create view wide_seen as select * from wide',
    `create table texts (id int not null primary key,
      txt varchar(10000)${engine === 'sqlite' ? '' : ' character set utf8mb4'})`,
    'create view texts_seen as select * from texts',
    `create view ${quoted(ODD)} as
      select id as ${quoted('v0')}, c0 as ${quoted('rn')}, c1 as ${quoted('k.v0')} from wide`,
    'create view counted as select c0, count(*) as n from wide group by c0',
    ...Array.from({ length: 260 }, (_, id) => `insert into wide values (${id}, ${WIDE.map(() => id % 130).join()})`),
    ...Array.from({ length: 260 }, (_, id) => `insert into texts values (${id}, '${String(id).padEnd(9000, 'é')}')`)
  ]
}

await onEachEngine(t, 'values that are too many or too long for a statement are divided, and names are ' +
  'those of the catalog', { schema: schemaOfLarge, database: { statementTimeout: 60_000 } }, async (t, { post }) => {
  const membersOf = async (table: string, m: object): Promise<Array<{ id: number, m: any }>> => {
    const { json, text } = await post(table, {
      verb: 'select', columns: ['id'], orderBy: 'id', limit: 260, include: { m }
    })
    t.equal(json.data?.rows.length, 260, text.slice(0, 300))
    return json.data?.rows ?? []
  }
  const wide = await membersOf('wide', {
    table: 'wide_seen',
    on: Object.fromEntries(WIDE.map((name) => [name, name])),
    columns: ['id'],
    orderBy: 'id'
  })
  t.same(wide.map(({ m }) => m.map(({ id }: { id: number }) => id)), wide.map(({ id }) => [id % 130, id % 130 + 130]))
  const texts = await membersOf('texts', { table: 'texts_seen', on: { txt: 'txt' }, columns: ['id'] })
  t.same(texts.map(({ m }) => m), texts.map(({ id }) => [{ id }]))
  const odd = await membersOf('wide', { table: ODD, on: { id: 'v0', c0: 'rn' }, orderBy: 'k.v0 DESC' })
  t.same(odd.map(({ m }) => m), odd.map(({ id }) => [{ v0: id, rn: id % 130, 'k.v0': id % 130 }]))
  const some = { $some: { counted: { on: { c0: 'c0' } } } }
  t.same((await post('wide', {
    verb: 'select', filters: some, aggregates: { n: { $count: '*' }, most: { $max: 'c0' } }
  })).json.data?.rows, [{ n: 260, most: 129 }], 'a view of groups in the filters of groups')
  t.same((await post('wide', {
    verb: 'select',
    columns: ['id'],
    limit: 1,
    orderBy: 'same.n DESC, id',
    include: { same: { table: 'wide', on: { id: 'id' }, filters: some, aggregates: { n: { $count: '*' } } } }
  })).json.data?.rows, [{ id: 0, same: { n: 1 } }], 'and of what orders rows')
})
