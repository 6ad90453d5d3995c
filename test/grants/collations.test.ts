/** Unique keys that compare otherwise than their columns, under the rules of a grant. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'
import { outcomeOf, tokenFor } from './support.ts'

const rows = { tenant: { $claim: '/tenant' } }
const names = ['coarse', 'exact', 'main_coarse', 'main_exact', 'both', 'computed']
const tokens = [tokenFor('seven', Object.fromEntries(names.map((name) => [name, { rows, permissions: ['select', 'insert', 'update'] as const }])), { tenant: 7 })]

/** The addresses are the same in one of the two collations and different in the other. */
const schema: Schema = () => [
  'create table coarse (id integer primary key, tenant int not null, email text not null, unique (email collate nocase))',
  'create table exact (id integer primary key, tenant int not null, email text not null collate nocase, unique (email collate binary))',
  'create table main_coarse (tenant int not null, email text not null, id int, primary key (email collate nocase)) without rowid',
  'create table main_exact (tenant int not null, email text not null collate nocase, id int, primary key (email collate binary)) without rowid',
  'create table both (id integer primary key, tenant int not null, email text not null)',
  'create unique index by_both on both (email)', 'create unique index coarse_both on both (email collate nocase)',
  'create table computed (id integer primary key, tenant int not null, email text not null)', 'create unique index by_computed on computed (email, lower(email))',
  ...names.map((name) => `insert into ${name} (id, tenant, email) values (1, 7, 'ann@x'), (2, 8, 'bob@x')`)
]

await onEachEngine(t, 'an upsert takes over no row of another tenant by an index with another collation than its column', { schema, tokens, only: ['sqlite'] }, async (t, { post, sql }) => {
  const send = async (table: string, body: object) => outcomeOf(await post(table, { verb: 'insert', ...body }, { token: 'seven' }))
  for (const table of names) {
    const before = await sql(`select * from ${table} order by id`)
    for (const email of ['BOB@x', 'bob@x']) {
      for (const set of [undefined, [], ['tenant'], { tenant: 7 }]) {
        const outcome = await send(table, { data: { id: 5, email }, onConflict: { key: ['email'], ...set !== undefined && { set } }, dryRun: true })
        if (table === 'both') t.same(outcome, [409, 'UNIQUE_VIOLATION', '/data/email'])
        else t.same(outcome, [400, 'INVALID_BODY', '/onConflict/key'], `${table}: ${email}`)
      }
      const plain = await send(table, { data: { id: 5, email }, returning: ['id', 'email'], dryRun: true })
      t.ok(Array.isArray(plain) || plain.rows[0].id === 5, `${table}: ${JSON.stringify(plain)}`)
    }
    t.same(await sql(`select * from ${table} order by id`), before)
  }
  t.match(await send('both', { data: { id: 1, email: 'ann@x' }, onConflict: { key: ['email'], set: ['id'] } }), { inserted: 0, unchanged: 1 })
})

await onEachEngine(t, 'a primary key with another collation than its column is no key for pages, returned rows or ids', { schema, only: ['sqlite'] }, async (t, { post }) => {
  t.same(outcomeOf(await post('main_exact', { verb: 'select', after: null })), [422, 'NOT_SUPPORTED', '/after'])
  t.match(outcomeOf(await post('main_exact', { verb: 'insert', data: { tenant: 7, email: 'BOB@x' } })), { inserted: 1, id: null })
  t.same(outcomeOf(await post('main_exact', { verb: 'update', filters: { tenant: 8 }, data: { id: 3 }, returning: ['tenant'] })), [422, 'NOT_SUPPORTED', '/returning'])
  t.same(outcomeOf(await post('main_coarse', { verb: 'insert', data: { tenant: 7, email: 'BOB@x' } })), [409, 'UNIQUE_VIOLATION', '/data/email'])
})

await onEachEngine(t, 'a token with rules cannot name a key with an expression either', {
  schema: () => [
    'create table words (id int primary key, tenant int not null, word varchar(20) not null, n int, unique key by_word ((lower(word)), n))',
    "insert into words values (1, 7, 'a', 1), (2, 8, 'b', 2)"
  ],
  tokens: [tokenFor('seven', { words: { rows } }, { tenant: 7 })],
  only: ['mysql']
}, async (t, { post }) => {
  const body = { verb: 'insert', data: { id: 9, word: 'b', n: 2 }, onConflict: { key: ['n'] } }
  for (const token of [undefined, 'seven']) t.same(outcomeOf(await post('words', body, token === undefined ? {} : { token })), [400, 'INVALID_BODY', '/onConflict/key'])
})

const redirected: Schema = () => [
  'create table codes (code text primary key, tenant int not null, v int) without rowid',
  'create trigger first before insert on codes when new.v = 1 begin insert or ignore into codes values (new.code, 8, 0); end'
]

await onEachEngine(t, 'the rules hold in the statement of an upsert: a row that a trigger inserts just before is not taken over', {
  schema: redirected, tokens: [tokenFor('seven', { codes: { rows } }, { tenant: 7 })], only: ['sqlite']
}, async (t, { post, sql }) => {
  const send = async (data: object, set?: unknown) => outcomeOf(await post('codes', { verb: 'insert', data, onConflict: { key: ['code'], ...set !== undefined && { set } } }, { token: 'seven' }))
  for (const set of [undefined, ['v'], { v: 5 }]) {
    t.same(await send({ code: 'a', v: 1 }, set), [409, 'UNIQUE_VIOLATION', '/data/code'])
    t.same(await send([{ code: 'b', v: 2 }, { code: 'a', v: 1 }], set), [409, 'UNIQUE_VIOLATION', '/data/1/code'])
  }
  t.match(await send({ code: 'a', v: 1 }, []), { inserted: 0, unchanged: 1, id: null }, 'what the trigger has done is undone')
  t.same(await sql('select * from codes'), [])
  t.match(await send({ code: 'a', v: 2 }), { inserted: 1 })
  t.match(await send({ code: 'a', v: 3 }), { updated: 1 })
  t.same(await sql('select * from codes'), [{ code: 'a', tenant: 7, v: 3 }])
})
