/** `{"$default": true}` in the data of an update and in `set` of an upsert. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { numberedId } from '../support/definitions.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine } from '../support/service.ts'

useEachEngine(t)

const schema = (engine: EngineName): string[] => {
  const isSqlite = engine === 'sqlite'
  const object = engine === 'mysql' ? "(json_object('a', 1))" : "'{\"a\":1}'"
  // SQLite takes a word in double quotes for a text
  const odd = isSqlite ? '"dq ""x"" it\'s"' : "'dq \"x\" it''s'"
  return [
    `create table things (${numberedId(engine)}, code varchar(10) not null, tenant int not null default 1,
      word varchar(20) not null default 'it''s "so" ?', note varchar(20), n int default 5,
      made datetime not null default current_timestamp, computed int default (2 + 3), doc json default ${object},
      needed int not null, odd varchar(20) default ${odd}, twice int generated always as (n * 2))`,
    'create unique index code on things (code)',
    `insert into things (id, code, tenant, word, note, n, made, computed, doc, needed, odd) values
      (1, 'a', 2, 'x', 'x', 1, '2020-01-01 00:00:00', 1, '{}', 1, 'x'),
      (2, 'b', 2, 'y', 'y', 2, '2020-01-01 00:00:00', 2, '{}', 2, 'y')`
  ]
}
const TENANT = 'token-of-tenant-one-0123456789'
const OTHER = 'token-of-tenant-two-0123456789'
const HIDDEN = 'token-without-column-n-0123456789'
const tokens = [
  tokenFor(TENANT, { things: { rows: { tenant: 1 } } }), tokenFor(OTHER, { things: { rows: { tenant: 2 } } }),
  tokenFor(HIDDEN, { things: { columns: { select: ['id', 'note'], update: ['note', 'n'] } } })
]
const $default = { $default: true }
const all = {
  tenant: $default, word: $default, note: $default, n: $default, computed: $default, doc: $default, odd: $default
}
const expected = { tenant: 1, word: 'it\'s "so" ?', note: null, n: 5, computed: 5, doc: { a: 1 }, odd: 'dq "x" it\'s' }

await onEachEngine(t, '$default', { schema, tokens }, async (t, { engine, post, sql, operate }) => {
  const update = (data: object, more: object = {}, options: object = {}) => post('things', {
    verb: 'update', filters: { id: 1 }, data, ...more
  }, options)

  await t.test('gives a column its default, which the database computes', async (t) => {
    const { json, text } = await update({ ...all, made: $default }, {
      returning: [...Object.keys(all), 'made'], dryRun: true
    })
    t.match(json.data?.rows, [expected], text)
    t.ok(Math.abs(Date.parse(`${json.data.rows[0].made}Z`) - Date.now()) < 60_000)
    t.same(
      (await update({ note: $default, n: { $inc: 1 } }, { returning: ['note', 'n'], dryRun: true })).json.data.rows,
      [{ note: null, n: 2 }]
    )
    t.same((await post('things', {
      verb: 'update', filters: { id: { $gt: 0 } }, data: { n: $default }, dryRun: true
    })).json.data, { updated: 2, dryRun: true })
    t.same((await post('things', {
      verb: 'update',
      key: ['id'],
      filters: {},
      data: [{ id: 1, n: $default }, { id: 2, n: 7, note: $default }],
      returning: ['n', 'note'],
      dryRun: true
    })).json.data.rows, [{ n: 5, note: 'x' }, { n: 7, note: null }])
    const { json: { data } } = await operate({
      operations: [{
        table: 'things', verb: 'update', filters: { id: 1 }, data: { n: $default }, returning: ['n']
      }, { table: 'things', verb: 'select', columns: ['id'], filters: { n: { $ref: '/0/rows/0/n' } } }],
      dryRun: true
    })
    t.same(data.results[1].rows, [{ id: 1 }])
  })

  await t.test('in an upsert', async (t) => {
    const upsert = (data: unknown, set: object = { n: $default, word: $default, computed: $default }) => post(
      'things',
      {
        verb: 'insert',
        data,
        onConflict: { key: ['code'], set },
        returning: ['code', 'n', 'word', 'computed'],
        dryRun: true
      }
    )
    t.same((await upsert({ code: 'a', needed: 1, n: 9 })).json.data?.rows, [
      { code: 'a', n: 5, word: expected.word, computed: 5 }
    ])
    t.same((await upsert([{ code: 'a', needed: 1, n: 9 }, { code: 'c', needed: 1, n: 9 }])).json.data?.rows, [
      { code: 'a', n: 5, word: expected.word, computed: 5 }, { code: 'c', n: 9, word: expected.word, computed: 5 }
    ])
  })

  await t.test('a column with a rule is checked after the write', async (t) => {
    t.match(await update({ tenant: $default }, {}, { token: OTHER }), {
      status: 403, json: { error: { code: 'PERMISSION_DENIED' } }
    })
    t.same((await sql('select tenant from things where id = 1')).map(({ tenant }) => Number(tenant)), [2])
    await sql('update things set tenant = 1 where id = 2')
    t.match(await post('things', {
      verb: 'update', filters: { id: 2 }, data: { tenant: $default, note: 'z' }
    }, { token: TENANT }), { status: 200, json: { data: { updated: 1 } } })
    await sql('update things set tenant = 2 where id = 2')
  })

  await t.test('of a hidden column tells nothing', async (t) => {
    await sql('update things set n = 5 where id = 1')
    t.same((await update({ n: $default }, {}, { token: HIDDEN })).json.data, { updated: 1 }, 'every matched row counts')
    await sql('update things set n = 1 where id = 1')
    t.same((await update({ n: $default }, {}, { token: HIDDEN })).json.data, { updated: 1 })
    t.same((await sql('select n from things where id = 1')).map(({ n }) => Number(n)), [5])
  })
  if (engine === 'sqlite') return
  t.match(
    await update({ n: $default }), { status: 200, json: { data: { updated: 0 } } },
    'a row that has its default already has not changed'
  )
})
