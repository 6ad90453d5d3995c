/** SQLite: tables whose definition says what happens on a conflict. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'
import { outcomeOf, tokenFor } from '../grants/support.ts'

const CLAUSES = ['replace', 'ignore', 'fail', 'rollback', 'abort']

const schema: Schema = () => [
  ...CLAUSES.flatMap((clause) => [
    `create table ${clause}s (id integer primary key on conflict ${clause}, tenant int not null, code text not null, n int check (n < 100), unique (code) ON/**/Conflict ${clause})`,
    `create table ${clause}_parts (id integer primary key, whole int references ${clause}s (id) on delete cascade on update cascade)`,
    `insert into ${clause}s values (1, 7, 'a', 1), (2, 8, 'b', 2), (3, 8, 'c', 3)`, `insert into ${clause}_parts values (1, 1), (2, 2), (3, 3)`
  ]),
  'create table plain (id integer primary key, code text unique)', 'create table log (code text primary key)',
  'create trigger logs after insert on plain begin insert or ignore into log values (new.code); end',
  'create trigger relogs after update on plain begin insert or replace into log values (new.code); end'
]

const rows = { tenant: 7 }
const tokens = [tokenFor('seven', Object.fromEntries(CLAUSES.map((clause) => [`${clause}s`, { rows, permissions: ['insert', 'update', 'select'] as const }])))]

await onEachEngine(t, 'what the definition of a table says of conflicts neither deletes rows nor hides refusals', { schema, tokens, only: ['sqlite'] }, async (t, { post, sql }) => {
  const code = { code: 'b' }
  const data = [
    { verb: 'insert', data: { id: 9, ...code } }, { verb: 'insert', data: { id: 2, code: 'x' } }, { verb: 'insert', data: [{ code: 'y' }, code] }, { verb: 'insert', data: code, returning: '*' },
    { verb: 'insert', data: { id: 1, ...code }, onConflict: { key: ['id'] } }, { verb: 'insert', data: [{ id: 4, code: 'y' }, { id: 5, ...code }], onConflict: { key: ['id'], set: [] } },
    { verb: 'update', filters: { id: 1 }, data: code }, { verb: 'update', filters: { code: 'a' }, data: { id: 2 } }, { verb: 'update', filters: { code: 'a' }, data: { id: 2 }, returning: ['id'] }
  ]
  for (const clause of CLAUSES) {
    const stored = async () => [await sql(`select * from ${clause}s`), await sql(`select * from ${clause}_parts`)]
    const before = await stored()
    for (const body of data) {
      for (const dryRun of [true, false]) {
        t.match(outcomeOf(await post(`${clause}s`, { ...body, dryRun }, { token: 'seven' })), [409, 'UNIQUE_VIOLATION'], `${clause}: ${JSON.stringify(body)}`)
        t.same(await stored(), before)
      }
    }
    t.match(outcomeOf(await post(`${clause}s`, { verb: 'insert', data: [{ id: 1, code: 'a2' }, { id: 6, code: 'f' }], onConflict: { key: ['id'] }, returning: ['id', 'code'] }, { token: 'seven' })),
      { inserted: 1, updated: 1, rows: [{ id: 1, code: 'a2' }, { id: 6, code: 'f' }] })
  }
})

await onEachEngine(t, 'statements of triggers keep what they say of conflicts', { schema, only: ['sqlite'] }, async (t, { post, sql }) => {
  await sql("insert into log values ('a'), ('b')")
  t.match(outcomeOf(await post('plain', { verb: 'insert', data: { code: 'a' } })), { inserted: 1, id: 1 })
  t.match(outcomeOf(await post('plain', { verb: 'insert', data: [{ code: 'b' }, { code: 'd' }], onConflict: { key: ['code'] } })), { inserted: 2 })
  t.match(outcomeOf(await post('plain', { verb: 'update', filters: { id: 1 }, data: { code: 'e' } })), { updated: 1 })
  t.same((await sql('select code from log order by code')).map((row) => row.code), ['a', 'b', 'd', 'e'])
})
