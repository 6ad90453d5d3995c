/** Descriptions fit into the context of a model: those of wide tables, and lists of many tables. */
import t from 'tap'
import { VERBS } from '../../schemas/grant.ts'
import { connectTo } from '../support/mcp.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'

/** Forty columns as tables of shops have them: keys, texts, numbers, times, and a comment for every fourth. */
function wideTable (engine: EngineName): string {
  const types = ['bigint not null', 'varchar(100) not null default \'\'', 'decimal(10,2) not null default 0', 'datetime null', 'text null', 'tinyint(1) not null default 1', 'date null', 'int not null default 0', 'timestamp null', 'varchar(20) null']
  const columns = Array.from({ length: 39 }, (_, index) => `column_number_${index} ${types[index % types.length]}${engine !== 'sqlite' && index % 4 === 0 ? " comment 'what it means'" : ''}`)
  const id = engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id bigint not null auto_increment primary key'
  return `create table wide (${id}, ${columns.join(', ')}, unique (column_number_1), foreign key (column_number_0) references parents (id))`
}

const TABLES = 500
const nameOf = (index: number): string => `table_${String(index).padStart(3, '0')}`

const parents = (engine: EngineName): string => `create table parents (id bigint not null primary key)${engine === 'sqlite' ? '' : ` comment '${'parents of others '.repeat(40)}'`}`
const wide = (engine: EngineName): string[] => [parents(engine), wideTable(engine)]
/** In one transaction: each other one would wait for the disk. */
const many = ['begin', ...wide('sqlite'), ...Array.from({ length: TABLES - 2 }, (_, index) => `create table ${nameOf(index)} (id int not null primary key)`), 'commit']

await onEachEngine(t, 'a table of 40 columns is described in less than 6 kB', { schema: wide, options: { mcp: { verbs: [...VERBS] } } }, async (t, service) => {
  const { call } = await connectTo(t as never, service)
  const { text, result } = await call('describe_table', { database: 'shop', table: 'wide' })
  t.equal(result.columns.length, 40)
  t.ok(Buffer.byteLength(text) < 6000, `${Buffer.byteLength(text)} bytes`)
  t.match(result, { primaryKey: ['id'], relations: [{ table: 'parents', on: { column_number_0: 'id' }, rows: 'one' }] })
  t.ok(result.uniqueKeys.some((key: string[]) => key.join() === 'column_number_1'))
  t.match(result.columns[4], { name: 'column_number_3', type: 'datetime', schema: { type: 'string', example: /^2026-/ }, nullable: true })
  t.match(result.columns[3], { default: '0.00', schema: { type: 'string' } })
  if (service.engine !== 'sqlite') t.match(result.columns[1], { comment: 'what it means' })
  t.same([result.operators.default.includes('$gte'), result.operators.text.includes('$like'), result.operators.default.includes('$like')], [true, true, false])
  t.same((await call('describe_table', { database: 'shop', table: 'wide', columns: ['id'] })).result.columns.length, 1)
  const { tables: [{ comment }] } = (await call('list_tables', { limit: 1 })).result
  t.ok(comment.length <= 201, 'a long comment is cut in the list')
})

await onEachEngine(t, 'many tables', { schema: () => many, only: ['sqlite'], options: { mcp: {} } }, async (t, service) => {
  const { call } = await connectTo(t as never, service)

  await t.test('five hundred tables are listed in pages, each once', async (t) => {
    const seen: string[] = []
    const counts: number[] = []
    for (let after: unknown = null; ;) {
      const { result } = await call('list_tables', after === null ? {} : { after })
      counts.push(result.count)
      seen.push(...result.tables.map(({ table }: { table: string }) => table))
      after = result.next
      if (after === null) break
    }
    t.same(counts, [100, 100, 100, 100, 100])
    t.same(seen, ['parents', 'wide', ...Array.from({ length: TABLES - 2 }, (_, index) => nameOf(index))].sort())
    t.match((await call('list_tables', { contains: 'LE_01', limit: 3 })).result, { count: 3, tables: [{ table: 'table_010' }, {}, {}], next: { database: 'shop', table: 'table_012' } })
    t.match((await call('list_tables', { database: 'shop', limit: 1000 })).result, { count: TABLES, next: null })
  })
})

await onEachEngine(t, 'small results', { schema: () => many, only: ['sqlite'], options: { mcp: { resultLimit: 4096 } } }, async (t, service) => {
  const { call } = await connectTo(t as never, service)

  await t.test('a page has as many tables as fit', async (t) => {
    const { result, text } = await call('list_tables', { limit: 1000 })
    t.ok(Buffer.byteLength(text) <= 4096)
    t.ok(result.count > 10 && result.count < 100)
    t.match(result.next, { database: 'shop', table: result.tables.at(-1).table })
  })

  await t.test('a description that is too large says what to do', async (t) => {
    t.match(await call('describe_table', { database: 'shop', table: 'wide' }), { isError: true, result: { code: 'RESULT_TOO_LARGE', message: /name fewer "columns"/ } })
    t.match((await call('describe_table', { database: 'shop', table: 'wide', columns: ['column_number_5', 'id'] })).result.columns, [{ name: 'column_number_5' }, { name: 'id' }])
  })
})
