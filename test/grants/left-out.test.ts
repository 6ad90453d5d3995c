/** SQLite: rows that a trigger leaves out (`raise(ignore)`) are neither counted nor shown, and nothing else is shown in their place. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'
import { outcomeOf, tokenFor } from './support.ts'

const table = (name: string, columns: string, end = ''): string[] => [
  `create table ${name} (${columns}, tenant int not null, code text not null unique, n int)${end}`,
  `create trigger ${name}_skip before insert on ${name} when new.n < 0 begin select raise(ignore); end`,
  `create trigger ${name}_keep before update on ${name} when new.n < 0 begin select raise(ignore); end`,
  `insert into ${name} (id, tenant, code, n) values (1, 7, 'a', 1), (2, 8, 'b', 2), (3, 8, 'c', 3)`
]

const schema: Schema = () => [
  ...table('numbered', 'id integer primary key'),
  ...table('keyed', 'id int primary key', ' without rowid'),
  ...table('checked', 'id integer primary key'),
  'create trigger checked_after after insert on checked begin update checked set n = n where id = new.id; end',
  'create table loose (tenant int not null, code text, n int)', "insert into loose values (7, 'a', -1), (8, 'a', -1)",
  'create trigger loose_skip before insert on loose when new.n < 0 begin select raise(ignore); end'
]

const rows = { tenant: 7 }
const grant = { rows, permissions: ['select' as const, 'insert' as const, 'update' as const] }
const tokens = [tokenFor('seven', { numbered: grant, keyed: grant, checked: grant, loose: grant })]
const TABLES = ['numbered', 'keyed', 'checked']

await onEachEngine(t, 'an insert that a trigger leaves out counts no row and shows none', { schema, tokens, only: ['sqlite'] }, async (t, { post, operate, sql }) => {
  for (const name of TABLES) {
    const stored = () => sql(`select * from ${name} order by id`)
    const before = await stored()
    for (const token of ['seven', undefined]) {
      const insert = async (data: object, rest: object = {}) => outcomeOf(await post(name, { verb: 'insert', data, ...rest }, token === undefined ? {} : { token }))
      const own = token === undefined ? { tenant: 7 } : {}
      for (const returning of [{}, { returning: ['id', 'code'] }]) {
        for (const dry of [{}, { dryRun: true }]) {
          const rest = { ...returning, ...dry }
          const none = { inserted: 0, id: null, ...Object.keys(returning).length > 0 && { rows: [] }, ...dry }
          for (const data of [{ id: 2, code: 'x', n: -1 }, { id: 1, code: 'b', n: -1 }, { id: 9, code: 'x', n: -1 }]) {
            const what = `${name}, ${token}: ${JSON.stringify([data, rest])}`
            t.same(await insert({ ...own, ...data }, rest), none, what)
            t.same(await insert([{ ...own, ...data }, { ...own, ...data, id: 3 }], rest), none, `${what} in a list`)
          }
        }
      }
      const some = [{ id: 2, code: 'x', n: -1 }, { id: 4, code: 'd', n: 1 }, { id: 3, code: 'y', n: -1 }, { id: 5, code: 'e', n: 1 }].map((row) => ({ ...own, ...row }))
      t.match(await insert(some, { returning: ['id', 'code'], dryRun: true }), { inserted: 2, rows: [{ id: 4, code: 'd' }, { id: 5, code: 'e' }] })
    }
    t.same(await stored(), before)
  }
  for (const data of [{ code: 'a', n: -1 }, { code: 'z', n: -1 }]) {
    t.same(outcomeOf(await post('loose', { verb: 'insert', data, returning: '*' }, { token: 'seven' })), { inserted: 0, id: null, rows: [] }, 'without any key')
  }
  for (const pointer of ['/0/id', '/0/rows/0/id', '/0/rows/0/code']) {
    const answer = await operate([
      { table: 'numbered', verb: 'insert', data: { id: 2, code: 'x', n: -1 }, returning: ['id', 'code'] },
      { table: 'numbered', verb: 'select', filters: { id: { $in: [{ $ref: pointer }] } } }
    ], { token: 'seven' })
    t.match(outcomeOf(answer), [400, 'INVALID_VALUE'], pointer)
  }
})

await onEachEngine(t, 'an upsert that a trigger leaves out counts its row as unchanged, and shows only a row that the grant sees', { schema, tokens, only: ['sqlite'] }, async (t, { post, sql }) => {
  for (const name of TABLES) {
    const before = await sql(`select * from ${name} order by id`)
    const upsert = async (data: object, key: string, rest: object = {}) => outcomeOf(await post(name, { verb: 'insert', data, onConflict: { key: [key] }, returning: ['id', 'code'], ...rest }, { token: 'seven' }))
    const unchanged = { inserted: 0, updated: 0, unchanged: 1 }
    t.same(await upsert({ id: 9, code: 'x', n: -1 }, 'id'), { ...unchanged, id: null, rows: [] }, name)
    t.same(await upsert([{ id: 9, code: 'x', n: -1 }], 'id'), { ...unchanged, id: null, rows: [] }, name)
    t.same(await upsert({ id: 1, code: 'x', n: -1 }, 'id'), { ...unchanged, id: 1, rows: [{ id: 1, code: 'a' }] }, name)
    t.same(await upsert({ id: 2, code: 'x', n: -1 }, 'id'), [409, 'UNIQUE_VIOLATION', '/data/id'], name)
    t.same(await upsert({ code: 'b', n: -1, id: 9 }, 'code'), [409, 'UNIQUE_VIOLATION', '/data/code'], name)
    t.same(await upsert([{ id: 9, code: 'x', n: -1 }, { id: 1, code: 'a', n: -1 }, { id: 4, code: 'd', n: 1 }], 'id', { dryRun: true }),
      { inserted: 1, updated: 0, unchanged: 2, id: null, rows: [{ id: 1, code: 'a' }, { id: 4, code: 'd' }], dryRun: true }, name)
    if (name !== 'keyed') t.same(await upsert({ code: 'x', n: -1 }, 'code'), { ...unchanged, id: null, rows: [] }, `${name}, by its number`)
    t.same(await sql(`select * from ${name} order by id`), before)
  }
})

await onEachEngine(t, 'an update of a key that a trigger leaves out shows no other row', { schema, tokens, only: ['sqlite'] }, async (t, { post }) => {
  for (const name of TABLES) {
    for (const id of [2, 3]) {
      const outcome = outcomeOf(await post(name, { verb: 'update', filters: { id: 1 }, data: { id, code: 'c', n: -1 }, returning: ['id', 'code'] }, { token: 'seven' }))
      t.match(outcome, [422, 'NOT_SUPPORTED'], name)
    }
  }
})
