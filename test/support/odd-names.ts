/** Names of tables and columns that are odd, and what must hold for each of them. */
import type { Test } from 'tap'
import type { EngineName, Service } from './service.ts'

/** Each is used as the name of a table and of a column in that table. */
const names = [
  '`tick`', '``', '"double"', '""', "it's", "''", 'a.b', 'shop.a', 'two words', 'x as y', 'x AS `y`', 'who?', '? ??',
  ':name', ':1', '@var', '@@version', '$price', '$1', '$eq', '%s',
  'back\\slash', 'end\\', '; drop table t', '-- comment', '/* comment */', '#hash', '(select 1)', '[bracket]',
  '{brace}', 'a/b', 'line\nbreak', '*', 't', 'c0', 'c1', 'c2', '0', '1', '1e3',
  'select', 'insert', 'update', 'delete', 'verb', 'data', 'rows', 'count', 'success', 'null', 'true', 'order', 'desc',
  'x desc',
  '__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'then', 'näme', 'NÄME2', '名前', 'ʼ', 'a\u0301',
  'x'.repeat(64), 'ü'.repeat(64), ' leading', 'a,b'
]
const sqliteOnly = ['😀', 'trailing ', 'x'.repeat(200)]
/** Names that are also operators in filters. */
const notInFilters = ['$and', '$or', '$not']

export const namesOn = (engine: EngineName): string[] => [
  ...names, ...notInFilters, ...(engine === 'sqlite' ? sqliteOnly : ['Pair', 'pair'])
]
const quoter = (engine: EngineName): ((name: string) => string) =>
  (name) => engine === 'sqlite' ? `"${name.replaceAll('"', '""')}"` : `\`${name.replaceAll('`', '``')}\``

/** The first column is `id`, the second has the odd name; `same` shows whether another column was changed. */
export const tablesOf = (engine: EngineName, names: readonly string[]): string[] => names.map((name) => {
  const quote = quoter(engine)
  return `create table ${quote(name)} (id int not null primary key, ${quote(name)} varchar(250) null,
    same varchar(10) not null default 'same')`
})

/** Writes and reads the table and the column of each name. */
export async function checkNames (
  t: Test, { post, sql, engine, statements }: Service, names: readonly string[]
): Promise<void> {
  const quote = quoter(engine)
  for (const name of names) {
    const byName = (value: unknown): object =>
      notInFilters.includes(name) ? { id: 2 } : JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`)
    // A comma separates the terms of orderBy, so it cannot be part of one.
    const orderBy = name !== name.trim() || name.includes(',') ? 'id DESC' : `${name} DESC`
    const data = (id: number, value: string): object =>
      JSON.parse(`{"id":${id},${JSON.stringify(name)}:${JSON.stringify(value)}}`)
    statements()

    for (const [id, value] of [[1, `one ${name}`], [2, `two ${name}`], [3, `three ${name}`]] as const) {
      t.same(
        (await post(name, { verb: 'insert', data: data(id, value) })).json,
        { success: true, data: { inserted: 1, id } }, `insert ${name}`
      )
    }
    const found = await post(name, { verb: 'select', columns: [name, 'id'], filters: byName(`two ${name}`), orderBy })
    t.equal(
      found.text,
      `{"success":true,"data":{"rows":[{${JSON.stringify(name)}:${JSON.stringify(`two ${name}`)},"id":2}],"count":1}}`,
      `select ${name}`
    )
    const change = {
      verb: 'update', data: JSON.parse(`{${JSON.stringify(name)}:"changed"}`), filters: byName(`two ${name}`)
    }
    t.same((await post(name, change)).json.data, { updated: 1 }, `update ${name}`)
    t.same((await post(name, {
      verb: 'delete', filters: { id: 3, ...byName(`three ${name}`), ...(notInFilters.includes(name) && { id: 3 }) }
    })).json.data, { deleted: 1 }, `delete ${name}`)

    for (const statement of statements()) t.match(statement, ` ${quote(name)} `.trimEnd())
  }
  for (const name of names) {
    const rows = (await sql(`select id, ${quote(name)} as odd, same from ${quote(name)} order by id`)).map(
      ({ id, odd, same }) => [id, odd, same]
    )
    t.same(rows, [[1, `one ${name}`, 'same'], [2, 'changed', 'same']], `what is in ${name}`)
  }
}
