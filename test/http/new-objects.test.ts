/** Tables, columns, keys and indexes that are new in the database: they are looked for before a request is refused. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { onEachEngine, TOKEN } from '../support/service.ts'

const keyless = ['select', 'update', 'insert'].map((verb) => `create table keyless_${verb} (n int not null)`)
const schema = [...keyless, 'create table old (id int not null primary key, sku varchar(10) not null)', "insert into old values (1, 'a')"]

await onEachEngine(t, 'what was created a second ago can be used', { schema: { mysql: schema, sqlite: schema } }, async (t, { post, sql, engine, server }) => {
  const isAccepted = async (what: string, ddl: readonly string[], table: string, body: object): Promise<void> => {
    for (const statement of ddl) await sql(statement)
    await sleep(1000)
    t.same((await post(table, body)).json.error, undefined, what)
  }
  await isAccepted('a table', ['create table later (id int not null primary key, old_id int, foreign key (old_id) references old (id))'], 'later', { verb: 'select' })
  await sql('create table loaded (id int not null primary key)')
  await sleep(1000)
  t.match((await server.app.inject({ method: 'POST', url: '/api/shop/loaded', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' }, payload: 'id\n1\n' })).json(), { data: { inserted: 1 } }, 'a table of an import')
  await isAccepted('a column of a select', ['alter table old add column note varchar(10) null'], 'old', { verb: 'select', columns: ['note'] })
  await isAccepted('a column of filters and of an update', ['alter table old add column size int null'], 'old', { verb: 'update', data: { size: 2 }, filters: { size: null } })
  await isAccepted('a unique key', ['create unique index by_sku on old (sku)'], 'old', { verb: 'insert', data: { id: 1, sku: 'a' }, onConflict: { key: ['sku'] } })
  await isAccepted('a table of a member', ['create table parts (id int not null primary key, old_id int, foreign key (old_id) references old (id))'], 'old', { verb: 'select', include: { parts: { table: 'parts' } } })
  for (const [name, body] of Object.entries({
    'the key of "after"': { verb: 'select', orderBy: 'n', limit: 1, after: null },
    'the key of rows that an update returns': { verb: 'update', data: { n: 1 }, filters: { n: 0 }, returning: '*' },
    'the key of rows that an insert returns': { verb: 'insert', data: { n: 2 }, returning: '*' }
  })) {
    const table = `keyless_${body.verb}`
    t.equal((await post(table, body)).json.error.code, 'NOT_SUPPORTED', `${name} is missing`)
    await isAccepted(name, [`create unique index by_n_${body.verb} on ${table} (n)`], table, body)
  }
  if (engine !== 'sqlite') await isAccepted('an index of words', ['create fulltext index words on old (sku)'], 'old', { verb: 'select', filters: { $match: { columns: ['sku'], text: 'a' } } })
})
