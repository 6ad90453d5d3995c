/**
 * Rows that the rules exclude, and in which a virtual column fails, are rows that are not there: every form of request
 * has the same answer with and without them. MySQL computes these columns before it tests a condition.
 */
import t from 'tap'
import { type EngineName, onEachEngine } from '../support/service.ts'
import { tokenFor } from './support.ts'

const rows = { tenant_id: { $claim: '/tenant' } }
const tokens = [tokenFor('seven', { vg: { rows }, ch: { rows }, words: { rows }, logged: { rows } }, { tenant: 7 })]

/** Of the tenant. */
const OWN = [
  `insert into vg (id, tenant_id, n, t, k)
    values (1, 7, 4, '{"a":1}', 1), (4, 7, 5, '{"a":2}', 1), (5, 7, null, null, 2)`,
  'insert into ch values (10, 7, 1), (11, 7, 2), (12, 7, 4), (13, 7, 3), (14, 7, 1)'
]

const schema = (engine: EngineName): string[] => [
  `create table vg (id int not null primary key, tenant_id int not null, n int, t varchar(100), k int${
    engine === 'sqlite' ? '' : ', key (tenant_id)'})`,
  'create table ch (id int not null primary key, tenant_id int not null, vg_id int)',
  'create index vg_k on vg (k)',
  'create index ch_vg on ch (vg_id)',
  ...OWN,
  `insert into vg (id, tenant_id, n, t, k)
    values (2, 8, 0, '{bad', 1), (3, 8, 1, '{"a":3}', 1), (6, 8, 0, '[', 2)`,
  'insert into ch values (20, 8, 2)',
  'alter table vg add g int generated always as (100 / n) virtual',
  'alter table vg add gj varchar(50) generated always as (json_extract(t, \'$.a\')) virtual'
]

/** The related rows of each other, and rows of a list. */
const one = (rest: object) => ({ one: { table: 'vg', on: { vg_id: 'id' }, ...rest } })
const all = (rest: object) => ({ all: { table: 'vg', on: { vg_id: 'k' }, ...rest } })
const children = (rest: object) => ({ ch: { table: 'ch', on: { id: 'vg_id' }, ...rest } })
const count = (filters: object) => ({ c: { $count: '*', filters } })
const first = { filters: { gj: '1' } }

type Verb = 'select' | 'update' | 'delete'

const BODIES: Record<Verb, Partial<Record<'vg' | 'ch', object[]>>> = {
  select: {
    vg: [
      { filters: { id: 2 } },
      { columns: ['id', 'gj'], filters: { id: 2 } },
      { columns: ['id', 'gj'], filters: { id: { $in: [1, 2, 3] } } },
      { columns: ['id', 'g', 'gj'] },
      { columns: ['id'], filters: { gj: '1' } },
      { columns: ['id'], filters: { $or: [{ id: 2 }, { gj: '2' }] } },
      { columns: ['id'], filters: { $not: { gj: '2' } } },
      { columns: ['id', 'gj'], orderBy: 'gj desc', limit: 1 },
      { columns: ['id'], orderBy: 'gj', limit: 1, after: null },
      { columns: ['id'], orderBy: 'k', limit: 1, after: { k: 1, id: 1 }, filters: { g: { $gt: 1 } } },
      { columns: ['id', 'gj'], filters: { k: 1 }, limit: 1, offset: 1, total: true, orderBy: 'id' },
      { groupBy: ['gj'], aggregates: { c: { $count: '*' } }, orderBy: 'gj' },
      { aggregates: { s: { $sum: 'g' }, m: { $max: 'gj' } } },
      { groupBy: ['k'], aggregates: { s: { $sum: 'g' } }, having: { s: { $gt: 1 } }, orderBy: 'k' },
      { aggregates: count({ gj: '1' }) },
      { columns: ['id', 'gj'], include: children({ columns: ['id'] }), orderBy: 'id' },
      { aggregates: count({ $some: children({ filters: { id: { $gt: 10 } } }) }) }
    ],
    ch: [
      { include: one({ columns: ['id', 'gj'] }), orderBy: 'id' },
      { filters: { id: 11 }, include: one({ columns: ['gj'], filters: { k: 1 } }) },
      { columns: ['id'], filters: { $some: one(first) }, orderBy: 'id' },
      { columns: ['id'], filters: { $none: one({ filters: { g: { $gt: 20 } } }) }, orderBy: 'id' },
      { columns: ['id'], filters: { id: 11, $some: one({ filters: { gj: { $ne: '1' } } }) } },
      { include: all({ columns: ['id', 'gj'], orderBy: 'gj' }) },
      { include: all({ orderBy: 'gj', limit: 1 }) },
      { include: all({ aggregates: { s: { $sum: 'g' } } }) },
      { include: one({}), aggregates: { m: { $max: { one: 'gj' } } } },
      { aggregates: count({ $some: one(first) }) }
    ]
  },
  update: {
    vg: [
      { filters: { g: 25 }, data: { k: 5 } },
      { filters: { gj: '2' }, data: { k: 5 } },
      { filters: { id: 2 }, data: { k: 5 } },
      { filters: { g: 25, id: 2 }, data: { k: 6 } },
      { filters: { id: 2 }, data: { n: 6 } },
      { filters: { id: { $gt: 0 } }, data: { n: { $inc: 1 } } },
      { filters: { id: { $gt: 1 } }, data: { t: '{"a":9}' }, dryRun: true },
      { filters: { g: { $gte: 20 } }, data: { k: 7 }, returning: ['id', 'g', 'gj'] },
      { filters: { id: 2 }, data: { n: 1 }, returning: ['id', 'gj'] },
      { filters: { g: { $gte: 1 } }, data: { n: 2 }, expect: 1 },
      { filters: { g: { $gte: 1 } }, data: { n: 2 }, expect: 2 },
      { filters: { id: 2 }, data: { n: 2 }, expect: 1 },
      { key: ['id'], filters: {}, data: [{ id: 1, n: 1 }, { id: 2, n: 2 }, { id: 6, n: 3 }] },
      { key: ['id'], filters: { gj: '1' }, data: [{ id: 1, n: 1 }, { id: 2, n: 2 }] },
      { filters: { id: { $gt: 0 } }, data: { n: 0 } }
    ],
    ch: [{ filters: { $some: one(first) }, data: { vg_id: null } }]
  },
  delete: {
    vg: [
      { filters: { g: 25 }, dryRun: true },
      { filters: { gj: '1' }, returning: ['id', 'gj'] },
      { filters: { id: 2 }, returning: ['id', 'gj'] },
      { filters: { id: 2 } },
      { filters: { gj: { $ne: '1' } }, expect: { $lte: 1 } },
      { filters: { g: { $gt: 0 } } }
    ],
    ch: [{ filters: { $none: one(first) } }]
  }
}

/** The same by operations, which hold locks. */
const OPERATIONS = [
  [{ table: 'vg', verb: 'select', columns: ['id', 'gj'], filters: { id: 2 } }],
  [{ table: 'vg', verb: 'select', columns: ['id', 'gj'], filters: { id: { $lt: 4 } }, lock: true }],
  [
    { table: 'vg', verb: 'update', filters: { id: 1 }, data: { t: '{"a":8}' } },
    { table: 'vg', verb: 'update', filters: { gj: '8' }, data: { k: 8 } },
    { table: 'vg', verb: 'select', columns: ['id', 'k', 'gj'], orderBy: 'gj' }
  ],
  [{ table: 'vg', verb: 'update', filters: { id: 2, g: 1 }, data: { n: 8 }, expect: 1 }]
]

const STREAMS = [
  { verb: 'select', columns: ['id', 'g', 'gj'] },
  { verb: 'select', columns: ['id'], filters: { gj: { $ne: '1' } } }
]

await onEachEngine(t, 'a row of others in which a virtual column fails is not there', { schema, tokens }, async (
  t, { post, operate, sql }
) => {
  const stream = (body: object) => post('vg', body, { token: 'seven', headers: { accept: 'text/csv' } })
  const ofOwn = async () => JSON.stringify([
    await sql('select id, n, t, k from vg where tenant_id = 7 order by id'),
    await sql('select * from ch where tenant_id = 7 order by id')
  ])
  const ofOthers = 'select id, n, t, k from vg where tenant_id <> 7 order by id'
  const before = await ofOwn()
  const requests = [
    ...Object.entries(BODIES).flatMap(([verb, tables]) => Object.entries(tables).flatMap(([table, bodies]) =>
      bodies.map((body) => [{ verb, ...body }, () => post(table, { verb, ...body }, { token: 'seven' })] as const))),
    ...OPERATIONS.map((each) => [each, () => operate(each, { token: 'seven' })] as const),
    ...STREAMS.map((body) => [body, () => stream(body)] as const)
  ]
  const sendAll = async (): Promise<string[]> => {
    const answers: string[] = []
    for (const [body, send] of requests) {
      const { status, text } = await send()
      const after = /"verb":"(?:update|delete)"/.test(JSON.stringify(body)) ? await ofOwn() : before
      answers.push([JSON.stringify(body), status, text, after].join('\n'))
      t.not(status, 400, `${JSON.stringify(body)} is a request: ${text}`)
      if (after === before) continue
      for (const table of ['vg', 'ch']) await sql(`delete from ${table} where tenant_id = 7`)
      for (const insert of OWN) await sql(insert)
    }
    return answers
  }
  const others = await sql(ofOthers)
  const beside = await sendAll()
  t.same(await sql(ofOthers), others, 'others keep their rows')
  for (const data of [{ k: 5 }, { n: 3 }, {}, { t: '{}' }]) {
    for (const set of [{}, { set: [] }, { set: { k: 3 } }, { set: { n: { $inc: 1 } } }]) {
      const upsert = async (id: number) => {
        const body = { verb: 'insert', data: { id, ...data }, onConflict: { key: ['id'], ...set } }
        const one = await post('vg', body, { token: 'seven' })
        const list = await post('vg', { ...body, data: [{ id: 1 }, body.data] }, { token: 'seven' })
        return [one, list].map(({ status, text }) => `${status} ${text}`)
      }
      t.same(await upsert(2), await upsert(3), `an upsert of a row of others: ${JSON.stringify([data, set])}`)
    }
  }
  t.same(await sql(ofOthers), others)
  await sql('delete from vg where tenant_id <> 7')
  const alone = await sendAll()
  for (const [index, answer] of beside.entries()) t.equal(answer, alone[index])
})

const changes = [
  { verb: 'update', filters: { g: 25 }, data: { k: { $inc: 1 } } },
  { verb: 'delete', filters: { g: 25 } }
]

await onEachEngine(t, 'what a trigger writes to a table without transactions is written once', {
  only: ['mariadb', 'mysql'],
  schema: () => [
    'create table vg (id int not null primary key, tenant_id int not null, n int, k int)',
    'create table log (id int auto_increment primary key, vg_id int) engine = MyISAM',
    'create trigger vg_update before update on vg for each row insert into log (vg_id) values (new.id)',
    'create trigger vg_delete before delete on vg for each row insert into log (vg_id) values (old.id)',
    'alter table vg add g int generated always as (100 / n) virtual'
  ],
  tokens
}, async (t, { post, operate, sql }) => {
  await sql('set sql_mode = \'\'')
  for (const change of changes) {
    for (const send of [() => post('vg', change, { token: 'seven' }), () =>
      operate([{ table: 'vg', ...change }], { token: 'seven' })]) {
      await sql('delete from vg')
      await sql('insert into vg (id, tenant_id, n, k) values (1, 7, 4, 1), (2, 8, 0, 1)')
      await sql('truncate log')
      t.match(await send(), { status: 200 })
      t.same(await sql('select vg_id from log'), [{ vg_id: 1 }], JSON.stringify(change))
    }
  }
})

await onEachEngine(t, 'a change of a table that has lost its transactions is not sent again', {
  only: ['mysql'],
  schema: () => [
    'create table vg (id int not null primary key, tenant_id int not null, n int, k int)',
    'insert into vg values (1, 7, 4, 1), (2, 8, 0, 1)',
    'alter table vg add g int generated always as (100 / n) virtual'
  ],
  tokens
}, async (t, { operate, sql }) => {
  const update = () => operate([{ table: 'vg', ...changes[0] }], { token: 'seven' })
  t.match(await update(), { status: 200 })
  await sql('set sql_mode = \'\'')
  await sql('alter table vg engine = MyISAM')
  t.match(await update(), { status: 502 })
  t.same(await sql('select k from vg where id = 1'), [{ k: 3 }])
})
