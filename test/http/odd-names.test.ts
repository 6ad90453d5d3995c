// night: many random cases
import t from 'tap'
import { onEachEngine, type EngineName, type Schema } from '../support/service.ts'

/** Each is used as the name of a table and of a column in that table. */
const names = [
  '`tick`', '``', '"double"', '""', "it's", "''", 'a.b', 'shop.a', 'two words', 'x as y', 'x AS `y`', 'who?', '? ??', ':name', ':1', '@var', '@@version', '$price', '$1', '$eq', '%s',
  'back\\slash', 'end\\', '; drop table t', '-- comment', '/* comment */', '#hash', '(select 1)', '[bracket]', '{brace}', 'a/b', 'line\nbreak', '*', 't', 'c0', 'c1', 'c2', '0', '1', '1e3',
  'select', 'insert', 'update', 'delete', 'verb', 'data', 'rows', 'count', 'success', 'null', 'true', 'order', 'desc', 'x desc',
  '__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'then', 'näme', 'NÄME2', '名前', 'ʼ', 'a\u0301', 'x'.repeat(64), 'ü'.repeat(64), ' leading', 'a,b'
]
const sqliteOnly = ['😀', 'trailing ', 'x'.repeat(200)]
/** Names that are also operators in filters. */
const notInFilters = ['$and', '$or', '$not']

const namesOn = (engine: EngineName): string[] => [...names, ...notInFilters, ...(engine === 'sqlite' ? sqliteOnly : ['Pair', 'pair'])]
const quoter = (engine: EngineName): ((name: string) => string) =>
  (name) => engine === 'sqlite' ? `"${name.replaceAll('"', '""')}"` : `\`${name.replaceAll('`', '``')}\``

/** The first column is `id`, the second has the odd name; `same` shows whether another column was changed. */
const tables = (engine: EngineName): string[] => namesOn(engine).map((name) => {
  const quote = quoter(engine)
  return `create table ${quote(name)} (id int not null primary key, ${quote(name)} varchar(250) null, same varchar(10) not null default 'same')`
})
const schema: Schema = { sqlite: tables('sqlite'), mysql: tables('mysql') }

await onEachEngine(t, 'tables and columns with odd names are read and written like any other, and nothing else is changed', { schema }, async (t, { post, sql, engine, statements }) => {
  const quote = quoter(engine)
  for (const name of namesOn(engine)) {
    const byName = (value: unknown): object => notInFilters.includes(name) ? { id: 2 } : JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`)
    // A comma separates the terms of orderBy, so it cannot be part of one.
    const orderBy = name !== name.trim() || name.includes(',') ? 'id DESC' : `${name} DESC`
    const data = (id: number, value: string): object => JSON.parse(`{"id":${id},${JSON.stringify(name)}:${JSON.stringify(value)}}`)
    statements()

    for (const [id, value] of [[1, `one ${name}`], [2, `two ${name}`], [3, `three ${name}`]] as const) {
      t.same((await post(name, { verb: 'insert', data: data(id, value) })).json, { success: true, data: { inserted: 1, id } }, `insert ${name}`)
    }
    const found = await post(name, { verb: 'select', columns: [name, 'id'], filters: byName(`two ${name}`), orderBy })
    t.equal(found.text, `{"success":true,"data":{"rows":[{${JSON.stringify(name)}:${JSON.stringify(`two ${name}`)},"id":2}],"count":1}}`, `select ${name}`)
    const change = { verb: 'update', data: JSON.parse(`{${JSON.stringify(name)}:"changed"}`), filters: byName(`two ${name}`) }
    t.same((await post(name, change)).json.data, { updated: 1 }, `update ${name}`)
    t.same((await post(name, { verb: 'delete', filters: { id: 3, ...byName(`three ${name}`), ...(notInFilters.includes(name) && { id: 3 }) } })).json.data, { deleted: 1 }, `delete ${name}`)

    for (const statement of statements()) t.match(statement, ` ${quote(name)} `.trimEnd())
  }
  for (const name of namesOn(engine)) {
    const rows = (await sql(`select id, ${quote(name)} as odd, same from ${quote(name)} order by id`)).map(({ id, odd, same }) => [id, odd, same])
    t.same(rows, [[1, `one ${name}`, 'same'], [2, 'changed', 'same']], `what is in ${name}`)
  }
})

await onEachEngine(t, 'names are case-sensitive and compared exactly', { schema }, async (t, { post, statements }) => {
  statements()
  for (const name of ['TWO WORDS', 'two  words', ' two words', 'á', '`t`', '"t"', 'T', 't\0', 'schema', 'valueOf', 'isPrototypeOf', 'sqlite_schema', 'sqlite_master', '%2a', 'x'.repeat(65)]) {
    const answer = await post(name, { verb: 'select' })
    t.equal(answer.status, 404, name)
    t.equal(answer.json.error.code, 'TABLE_NOT_FOUND', name)
  }
  for (const name of ['ID', 'Id', ' id', 'id ', '`id`', '"id"', 't.id', 'rowid', 'valueOf', '*', 'id\0']) {
    const answer = await post('t', { verb: 'select', columns: [name] })
    t.equal(answer.status, 400, name)
    t.equal(answer.json.error.code, 'COLUMN_NOT_FOUND', name)
  }
  t.same(statements(), [])
})

await onEachEngine(t, 'inherited property names are not columns or databases', { schema }, async (t, { post }) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    t.equal((await post('t', { verb: 'select', columns: [name] })).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', `{"verb":"select","filters":{"${name}":1}}`)).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', `{"verb":"insert","data":{"id":9,"${name}":1}}`)).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', { verb: 'select', orderBy: name })).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', { verb: 'select' }, { database: name })).json.error.code, 'DATABASE_NOT_FOUND')
  }
})

const renamed = ['create table renamed (v1 int not null, v0 int not null)', 'insert into renamed values (1, 30), (2, 20), (3, 10)']

await onEachEngine(t, 'rows are ordered by the column, not by another column that has its name as an alias', { schema: { sqlite: renamed, mysql: renamed } }, async (t, { post }) => {
  const { json } = await post('renamed', { verb: 'select', columns: ['v1', 'v0'], orderBy: 'v0', filters: { v1: { $gt: 1 } } })
  t.same(json.data.rows, [{ v1: 3, v0: 10 }, { v1: 2, v0: 20 }])
})
