/** A write that refers to a row which the grant does not see has the same answer as one that refers to no row, whatever else is wrong with it. */
import t from 'tap'
import { onEachEngine, type EngineName, type Schema } from '../support/service.ts'
import { tokenFor } from './support.ts'

const id = (engine: EngineName): string => engine === 'sqlite' ? 'id integer primary key' : 'id int auto_increment primary key'
const parent = 'foreign key (p_id) references parents (id)'
const trigger = (engine: EngineName, name: string, event: string, statement: string): string => engine === 'sqlite'
  ? `create trigger ${name} ${event} begin ${statement}; end`
  : `create trigger ${name} ${event} for each row ${statement}`

const schema: Schema = (engine) => [
  'create table parents (id int primary key, tenant int not null)', 'insert into parents values (1, 7), (2, 8)',
  'create table log (n int)',
  `create table ruled (${id(engine)}, p_id int, a int, g int generated always as (a + 1) stored, ${parent})`, 'insert into ruled (id, p_id, a) values (1, 1, 6)',
  `create table long_rows (${id(engine)}, p_id int, v varchar(4000), ${parent})`, "insert into long_rows values (1, 1, 'x'), (2, 1, 'x')",
  ...['watched', 'moved'].flatMap((name) => [`create table ${name} (${id(engine)}, p_id int, v varchar(4000), ${parent})`, `insert into ${name} values (1, 1, 'x'), (2, 1, 'x')`]),
  ...['insert', 'update'].map((event) => trigger(engine, `watch_${event}`, `after ${event} on watched`, 'insert into log values (new.id)')),
  engine === 'sqlite'
    ? 'create trigger move after insert on moved begin update moved set id = id + 100 where id = new.id; end'
    : 'create trigger move before insert on moved for each row set new.id = new.id + 100',
  `create table halves (${id(engine)}, half int, p_id int generated always as (${engine === 'sqlite' ? 'half + 1' : '(half + 1)'}) stored, v varchar(4000), ${parent})`,
  'insert into halves (id, half) values (1, 0), (2, 0)'
]

const tokens = [tokenFor('seven', { parents: { rows: { tenant: 7 } }, ruled: { rows: { g: 7 } }, long_rows: {}, watched: {}, moved: {}, halves: {} })]
const long = 'y'.repeat(1900)

/** Writes whose rows refer to the parent with a number, or to nothing with null. */
const cases: Array<[table: string, why: string, body: (parent: number) => object]> = [
  ['ruled', 'an insert breaks a rule', (p) => ({ verb: 'insert', data: { p_id: p, a: 1 } })],
  ['ruled', 'a row of a list breaks a rule', (p) => ({ verb: 'insert', data: [{ p_id: 1, a: 6 }, { p_id: p, a: 1 }] })],
  ['ruled', 'an update breaks a rule', (p) => ({ verb: 'update', data: { p_id: p, a: 1 }, filters: { id: 1 } })],
  ['ruled', 'an upsert breaks a rule', (p) => ({ verb: 'insert', data: { id: 1, p_id: p, a: 1 }, onConflict: { key: ['id'] } })],
  ...['long_rows', 'watched', 'moved'].flatMap((table): typeof cases => [
    [table, 'an insert', (p) => ({ verb: 'insert', data: { p_id: p } })],
    [table, 'an insert with a key', (p) => ({ verb: 'insert', data: { id: 50, p_id: p } })],
    [table, 'a list', (p) => ({ verb: 'insert', data: [{ p_id: 1 }, { p_id: p }] })],
    [table, 'an update', (p) => ({ verb: 'update', data: { p_id: p }, filters: { id: 1 } })],
    [table, 'an upsert', (p) => ({ verb: 'insert', data: { id: 1, p_id: p }, onConflict: { key: ['id'] } })],
    [table, 'a dry run', (p) => ({ verb: 'insert', data: { p_id: p }, dryRun: true })],
    [table, 'a row that is too large for the answer', (p) => ({ verb: 'insert', data: { p_id: p, v: long + long }, returning: '*' })],
    [table, 'a list that is too large for the answer', (p) => ({ verb: 'insert', data: [{ p_id: p, v: long }, { p_id: 1, v: long }], returning: '*' })],
    [table, 'an update that is too large for the answer', (p) => ({ verb: 'update', data: { p_id: p, v: long }, filters: { id: [1, 2] }, returning: '*' })]
  ]),
  ['halves', 'a generated key', (p) => ({ verb: 'insert', data: { half: p - 1 } })],
  ['halves', 'a generated key in a list', (p) => ({ verb: 'insert', data: [{ half: 0 }, { half: p - 1 }] })],
  ['halves', 'an update of a generated key', (p) => ({ verb: 'update', data: { half: p - 1 }, filters: { id: 1 } })],
  ['halves', 'a row with a generated key that is too large for the answer', (p) => ({ verb: 'insert', data: { half: p - 1, v: long + long }, returning: '*' })],
  ['halves', 'an update of a generated key that is too large for the answer', (p) => ({ verb: 'update', data: { half: p - 1, v: long }, filters: { id: [1, 2] }, returning: '*' })]
]

await onEachEngine(t, 'a reference to a hidden row is refused like one to no row, whatever else is wrong', { schema, tokens, database: { resultLimit: 3000 } }, async (t, { post, operate, sql }) => {
  const dump = async () => await Promise.all(['ruled', 'long_rows', 'watched', 'moved', 'halves'].map((table) => sql(`select id, p_id from ${table} order by id`)))
  const before = await dump()
  for (const [table, why, bodyOf] of cases) {
    const send = async (parent: number) => await post(table, bodyOf(parent), { token: 'seven' })
    const [missing, hidden] = [await send(999), await send(2)]
    t.same([missing.status, missing.json.error.code], [409, 'FOREIGN_KEY_VIOLATION'], `${table}: ${why}`)
    t.same(hidden.json, missing.json, `${table}: ${why}`)
    const inOperations = async (parent: number) => (await operate([{ table, ...bodyOf(parent), dryRun: undefined }], { token: 'seven' })).json
    t.same(await inOperations(2), await inOperations(999), `${table}: ${why}, in operations`)
  }
  t.same(await dump(), before, 'nothing was changed')
})
