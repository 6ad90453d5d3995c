/**
 * What an upsert says about its row where triggers run: `id`, `returning` and a `$ref` to the next operation, for all
 * combinations of triggers, outcomes and forms. By day, each set of triggers with one in four of the others.
 */
import t from 'tap'
import { numberedId, trigger } from '../support/definitions.ts'
import { oneIn, useEachEngine } from '../support/rotation.ts'
import { type Answer, type EngineName, onEachEngine } from '../support/service.ts'

useEachEngine(t)

const KINDS = ['before insert', 'after insert', 'before update', 'after update'] as const
const COMBINATIONS = Array.from({ length: 16 }, (_, bits) => KINDS.filter((_, index) => (bits >> index) % 2 === 1))

/**
 * Triggers that insert into a table with numbers of its own and, before a write on MySQL and MariaDB, set the key or
 * another column of the row.
 */
function triggersOf (engine: EngineName, table: string, kinds: readonly string[]): string[] {
  const sets: Record<string, string> = {
    'before insert': '; set new.k = reverse(new.k)',
    'before update': '; set new.seen = old.seen + if(new.note <=> old.note, 0, 1)'
  }
  return kinds.map((kind) => trigger(
    `${table}_${kind.replace(' ', '_')}`, `${kind} on ${table}`,
    `insert into log (what) values ('${kind}')${engine === 'sqlite' ? '' : sets[kind] ?? ''}`
  ))
}

const schema = (engine: EngineName): string[] => {
  const id = numberedId(engine)
  return [
    `create table log (${id}, what varchar(20))`, "insert into log values (700, '')",
    `create table next (${id}, of_id int)`,
    ...COMBINATIONS.flatMap((kinds, index) => [
      `create table t${index} (${id}, k varchar(10) not null unique, note varchar(10), n int default 5,
        seen int not null default 0)`,
      ...triggersOf(engine, `t${index}`, kinds)
    ])
  ]
}

const SETS: ReadonlyArray<readonly [form: string, set: unknown]> = [
  ['left out', undefined], ['none', []], ['null', { n: null }], ['a form', { n: { $inc: 0 } }]
]
const OUTCOMES = ['new', 'updated', 'unchanged'] as const
const isTested = oneIn(4)

await onEachEngine(t, 'an upsert knows its row ' +
  'whatever triggers run', { schema }, async (t, { post, operate, sql, engine }) => {
  for (const [index, kinds] of COMBINATIONS.entries()) {
    const table = `t${index}`
    const isMoved = engine !== 'sqlite' && kinds.includes('before insert')
    const given = isMoved ? '21K' : 'K12'
    for (const [form, set] of SETS) {
      // nothing is written to a row that exists, so that no trigger of an update may run, and the key that a trigger
      // gives to the row is not known
      for (const outcome of isMoved && form === 'none' && kinds.some((kind) => kind.endsWith('update'))
        ? ['new']
        : OUTCOMES) {
        if (!isTested()) continue
        const upsert = {
          verb: 'insert', data: { k: given, note: 'new' }, onConflict: { key: ['k'], ...set !== undefined && { set } }
        }
        const why = `${kinds.join(', ')}: set ${form}, ${outcome}`
        /** Returns what the request says, and the id of the row. */
        const send = async (run: () => Promise<Answer>): Promise<[json: any, id: number]> => {
          await sql(`delete from ${table}`)
          if (outcome !== 'new') {
            await sql(
              `insert into ${table} (k, note) values ('A', ''), (?, ?), ('Z', '')`,
              [given, outcome === 'updated' ? 'old' : 'new']
            )
          }
          const { json } = await run()
          const [stored] = await sql(`select id from ${table} where k = 'K12'`)
          return [json, Number(stored?.id)]
        }
        const [one, oneId] = await send(() => post(table, upsert))
        t.match(one, { data: { id: oneId } }, why)
        const [both, id] = await send(() => operate([{ table, ...upsert, returning: ['id', 'k'] }, {
          table: 'next', verb: 'insert', data: { of_id: { $ref: '/0/id' } }, returning: ['of_id']
        }]))
        t.match(
          both, { data: { results: [{ id, rows: [{ id, k: 'K12' }] }, { rows: [{ of_id: id }] }] } },
          `${why}: returning and $ref`
        )
        const [list, listId] = await send(
          () => post(table, { ...upsert, data: [{ k: 'new', note: 'new' }, upsert.data], returning: ['id', 'k'] })
        )
        t.match(list, { data: { rows: [{}, { id: listId, k: 'K12' }] } }, `${why}: a list`)
      }
    }
  }
})

const CHANGES = { key: 'k = upper(k)', number: 'id = id + 100' }

await onEachEngine(t, 'the row is found that a trigger has given another key or number', {
  schema: (engine) => {
    const isSqlite = engine === 'sqlite'
    const set = (change: string): string => `set new.${change.replace(/(\w+)( \+|\))/, 'new.$1$2')}`
    return Object.entries(CHANGES).flatMap(([name, change]) => ['insert', 'update'].flatMap((event) => [
      `create table ${name}_${event} (${numberedId(engine)}, note varchar(10),
        k varchar(10) ${isSqlite ? '' : 'collate utf8mb4_bin'} not null unique)`,
      `insert into ${name}_${event} (id, k, note) values (1, 'k', 'old'), (2, 'z', '')`,
      isSqlite
        ? trigger(
          `${name}_${event}_t`, `after ${event === 'insert' ? event : 'update of note'} on ${name}_${event}`,
          `update ${name}_${event} set ${change} where id = new.id`
        )
        : trigger(`${name}_${event}_t`, `before ${event} on ${name}_${event}`, set(change))
    ]))
  }
}, async (t, { post, sql, engine }) => {
  for (const name of Object.keys(CHANGES)) {
    for (const event of ['insert', 'update']) {
      // the number of a new row is not known before it is inserted
      if (engine !== 'sqlite' && name === 'number' && event === 'insert') continue
      const table = `${name}_${event}`
      for (const returning of [undefined, ['id', 'k', 'note']]) {
        for (const list of [false, true]) {
          await sql(`delete from ${table}`)
          if (event === 'update') await sql(`insert into ${table} (id, k, note) values (1, 'k', 'old'), (2, 'z', '')`)
          const row = { k: 'k', note: 'new' }
          const { json } = await post(table, {
            verb: 'insert', data: list ? [row] : row, onConflict: { key: ['k'] }, ...returning && { returning }
          })
          const [stored] = await sql(`select id, k from ${table} where note = 'new'`)
          const why = `${table} ${String(returning)} ${String(list)}: ${JSON.stringify(json.error)}`
          if (!list) t.equal(json.data?.id, Number(stored.id), why)
          if (returning !== undefined) {
            t.same(json.data?.rows, [{ id: Number(stored.id), k: stored.k, note: 'new' }], why)
          }
        }
      }
    }
  }
})

/** Tables whose stored id is not the sent or reported one, with rows of ids 1 and 100. */
const IDS: ReadonlyArray<readonly [table: string, engines: readonly EngineName[], id: string, trigger?: string]> = [
  ['fractions', ['mariadb'], 'id double auto_increment primary key'],
  ['counted', ['mysql', 'mariadb'], 'id int auto_increment primary key',
    'before insert on counted for each row set new.id = if(new.id between 1 and 50, new.id + 1, new.id)'],
  ['moved', ['mysql', 'mariadb'], 'id int auto_increment primary key',
    'before update on moved for each row set new.id = old.id + 1000'],
  ['moved_key', ['mysql', 'mariadb'], 'id int primary key',
    'before update on moved_key for each row set new.id = old.id + 1000'],
  ['moved_after', ['sqlite'], 'id integer primary key',
    'after update of note on moved_after begin update moved_after set id = new.id + 1000 where id = new.id; end']
]

await onEachEngine(t, 'an upsert says no id but that of its row, or null', {
  schema: (engine) => IDS.filter(([, engines]) => engines.includes(engine)).flatMap(([table, , id, trigger]) => [
    `create table ${table} (${id}, k varchar(10) not null unique, note varchar(10))`,
    ...trigger === undefined ? [] : [`create trigger ${table}_t ${trigger}`]
  ])
}, async (t, { post, sql, engine }) => {
  for (const [table, engines] of IDS) {
    if (!engines.includes(engine)) continue
    for (const key of ['id', 'k']) {
      for (const set of [undefined, [], ['note'], { note: 'new' }, ['id', 'note']]) {
        if (key === 'id' && Array.isArray(set) && set[0] === 'id') continue
        for (const returning of [undefined, ['id', 'note']]) {
          const first = table === 'fractions' ? 1.5 : 7
          await sql(`delete from ${table}`)
          // a trigger adds to the number
          await sql(`insert into ${table} values (${table === 'counted' ? 6 : first}, 'a', 'old'), (100, 'x', 'old')`)
          const why = `${table}: ${JSON.stringify({ key, set, returning })}`
          const data = { id: table === 'counted' && key === 'id' ? 6 : first, k: key === 'k' ? 'x' : 'a', note: 'new' }
          const { status, json } = await post(table, {
            verb: 'insert', data, onConflict: { key: [key], ...set && { set } }, ...returning && { returning }
          })
          if (status !== 200) {
            t.match(json.error.code, /^(NOT_SUPPORTED|UNIQUE_VIOLATION)$/, `${why}: ${JSON.stringify(json.error)}`)
            continue
          }
          const [stored] = await sql(`select id from ${table} where k = '${data.k}'`)
          t.ok([null, Number(stored.id)].includes(json.data.id), `${why}: ${JSON.stringify(json.data)}, ${stored.id}`)
          if (table === 'fractions') t.equal(json.data.id, Number(stored.id), why)
          if (returning) t.equal(json.data.rows[0]?.id, Number(stored.id), `${why}: ${JSON.stringify(json.data)}`)
        }
      }
    }
  }
})
