/**
 * INVISIBLE columns of MySQL and MariaDB: where a request names no columns they are left out, and where it names them
 * they are like any other.
 */
import t from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import type { Table } from '../../src/catalog/catalog.ts'
import { writeTypes } from '../../src/cli/print.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { loadCatalog } from '../support/catalog.ts'
import { get } from '../support/documents.ts'
import { connectTo } from '../support/mcp.ts'
import { type Schema, sharedOnEachEngine } from '../support/service.ts'

const schema: Schema = {
  sqlite: [],
  mysql: [
    'create table parents (name varchar(20) not null, secret int not null default 7 invisible, row_id int not null ' +
      'auto_increment invisible primary key)',
    'create table children (id int not null primary key, parent int null invisible, foreign key (parent) references ' +
      'parents (row_id))',
    "insert into parents (name, secret) values ('a', 1), ('b', 2), ('c', 3)",
    'insert into children (id, parent) values (10, 1), (11, 1), (12, 2), (13, null)'
  ]
}

const tokens = [
  tokenFor('named', { parents: { permissions: ['select'], columns: { select: ['name', 'secret'] } } }),
  tokenFor('blind', { parents: { permissions: ['select'], columns: { select: ['secret', 'row_id'] } } }),
  tokenOf('all', { permissions: ['select'] })
]

const test = sharedOnEachEngine(t, {
  schema, only: ['mariadb', 'mysql'], tokens, options: { mcp: { verbs: ['select'] } }
})

await test('columns that are left out are the visible ones, as in SQL', async (t, service) => {
  const { post, operate } = service
  const rows = async (table: string, body: object, options = {}) => (await post(table, body, options)).json.data.rows
  t.strictSame(await rows('parents', { verb: 'select', orderBy: 'name' }), [
    { name: 'a' }, { name: 'b' }, { name: 'c' }
  ])
  const first = await post('parents', { verb: 'select', limit: 2, after: null })
  t.strictSame(
    first.json.data, { rows: [{ name: 'a' }, { name: 'b' }], count: 2, next: { row_id: 2 } }, 'a position has them'
  )
  t.strictSame(await rows('parents', { verb: 'select', after: first.json.data.next }), [{ name: 'c' }])
  const include = {
    mother: { table: 'parents' }, siblings: { table: 'children', on: { parent: 'parent' }, orderBy: 'id' }
  }
  const member = [{ id: 10, mother: { name: 'a' }, siblings: [{ id: 10 }, { id: 11 }] }]
  t.strictSame(await rows('children', { verb: 'select', filters: { id: 10 }, include }), member, 'members')
  t.strictSame(
    (await operate([{ table: 'children', verb: 'select', filters: { parent: 2 } }])).json.data.results[0].rows,
    [{ id: 12 }]
  )
  t.strictSame(
    await rows('parents', { verb: 'insert', data: { name: 'd', secret: 4 }, returning: '*' }), [{ name: 'd' }],
    'returning'
  )
  t.strictSame(await rows('parents', { verb: 'update', data: { secret: 5 }, filters: { secret: 4 }, returning: '*' }), [
    { name: 'd' }
  ])
  t.strictSame(await rows('parents', { verb: 'delete', filters: { secret: 5 }, returning: '*' }), [{ name: 'd' }])
  for (const [accept, text] of [['text/csv', 'name\r\na\r\n'], ['application/x-ndjson', '{"name":"a"}\n']] as const) {
    const stream = await post('parents', { verb: 'select', filters: { secret: 1 } }, { headers: { accept } })
    t.equal(stream.text, text, accept)
  }
  const { call: tool } = await connectTo(t as never, service, { token: 'all' })
  t.strictSame((await tool('select', { database: 'shop', table: 'parents', filters: { secret: 1 } })).result.rows, [
    { name: 'a' }
  ])
  const { result } = await tool('describe_table', { database: 'shop', table: 'parents' })
  t.strictSame(result.columns.map(({ name, invisible }: any) => [name, invisible]), [
    ['name', undefined], ['secret', true], ['row_id', true]
  ])
})

await test('an invisible column that is named is read, written, filtered and sorted ' +
  'by like any other', async (t, { post }) => {
  const { json } = await post('parents', {
    verb: 'insert', data: { name: 'd', secret: 9 }, returning: ['row_id', 'secret', 'name']
  })
  t.strictSame(json.data, { rows: [{ row_id: json.data.id, secret: 9, name: 'd' }], inserted: 1, id: json.data.id })
  const answer = await post('parents', {
    verb: 'select', columns: ['secret'], filters: { secret: { $gte: 2 } }, orderBy: 'secret DESC'
  })
  t.strictSame(answer.json.data.rows, [{ secret: 9 }, { secret: 3 }, { secret: 2 }])
  t.strictSame((await post('children', {
    verb: 'select', groupBy: ['parent'], aggregates: { n: { $count: '*' } }, filters: { parent: 1 }
  })).json.data.rows, [{ parent: 1, n: 2 }])
})

await test('a grant sees the visible ones of its columns, and the others where it ' +
  'has no visible one', async (t, { post }) => {
  const select = { verb: 'select', limit: 1, orderBy: 'secret' }
  t.strictSame((await post('parents', select, { token: 'named' })).json.data.rows, [{ name: 'a' }])
  t.strictSame((await post('parents', select, { token: 'blind' })).json.data.rows, [{ secret: 1, row_id: 1 }])
})

await test('documents and types say which columns are invisible', async (t, { server, url }) => {
  const { json } = await get(server, '/shop/openapi.json')
  t.equal(json.components.schemas.ParentsRow.properties.secret['x-invisible'], true)
  t.equal(json.components.schemas.ParentsRow.properties.name['x-invisible'], undefined)
  const table = (await loadCatalog(url)).tables.get('parents') as Table
  t.match(
    writeTypes('shop', [{ table, verbs: VERBS }]),
    /secret: Column<number \| undefined, number \| undefined, number, string>/
  )
})
