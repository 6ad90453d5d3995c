/**
 * Definitions that name what is not there, whoever holds them: one answer on every engine, and none of them takes other
 * tables with it.
 */
import t from 'tap'
import type { Test } from 'tap'
import { tokenOf } from '../grants/support.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type EngineName, type Schema, type Service } from '../support/service.ts'

/** Edits a definition, as if another program had made the table with a function or collation of its own. */
const edit = (name: string, from: string, to: string): string =>
  `update sqlite_schema set sql = replace(sql, '${from}', '${to}') where name = '${name}'`

const SQLITE = [
  'pragma foreign_keys = off',
  'create table parents (id integer primary key, code text, n int)', "insert into parents values (1, 'a', 1)",
  'create table orphans (id integer primary key, x int references nowhere (id), n int)',
  'insert into orphans values (1, null, 1)',
  'create table mismatched (id integer primary key, code text references parents (code), n int)',
  'insert into mismatched values (1, null, 1)',
  'create table indexed (id integer primary key, n int)', 'insert into indexed values (1, 1)',
  'create index by_size on indexed (abs(n))',
  'create table checked (id integer primary key, n int check (abs(n) < 9))', 'insert into checked values (1, 1)',
  'create table computed (id integer primary key, n int, g int generated always as (abs(n)))',
  'insert into computed (id, n) values (1, 1)',
  'create table defaulted (id integer primary key, n int default (abs(3)))', 'insert into defaulted values (1, 1)',
  'create table collated (id integer primary key, n int unique, s text collate nocase)',
  "insert into collated values (1, 1, 'x')",
  'create table keyed (k text collate nocase primary key, n int) without rowid', "insert into keyed values ('x', 1)",
  'pragma writable_schema = on',
  ...['by_size', 'checked', 'computed', 'defaulted'].map((name) => edit(name, 'abs', 'their_function')),
  edit('collated', 'nocase', 'their_collation'), edit('keyed', 'nocase', 'their_collation'),
  'pragma writable_schema = reset'
]

const VIEWS = [
  'create table gone (id int)', 'create table base (id int primary key, n int)',
  'create view old as select id from gone', 'create view young as select id from base',
  'create view younger as select id from young', 'drop table gone'
]

const schema: Schema = (engine) => engine === 'sqlite'
  ? [...VIEWS, ...SQLITE]
  : [
      ...VIEWS,
      'create function f() returns int deterministic return 1', 'create view called as select f() as x',
      'drop function f',
      'set foreign_key_checks = 0', 'create table orphans (id int primary key, x int, n int, foreign key (x) ' +
        'references nowhere (id))', 'insert into orphans values (1, null, 1)', 'set foreign_key_checks = 1',
      ...engine === 'mariadb'
        ? [
            'create sequence s', 'create table defaulted (id int primary key, n int default nextval(s))',
            'insert into defaulted values (1, 1)', 'drop sequence s'
          ]
        : []
    ]

const insert = (data: object): object => ({ verb: 'insert', data })
const update = (data: object): object => ({ verb: 'update', data, filters: { id: 1 } })
const remove = { verb: 'delete', filters: { id: 1 } }

interface Case {
  readonly table: string,
  readonly broken: ReadonlyArray<object>,
  readonly works?: ReadonlyArray<object>,
  readonly reason: RegExp,
  readonly only?: readonly EngineName[]
}

const SQLITE_ALONE = ['sqlite'] as const
const SERVERS = ['mariadb', 'mysql'] as const
const FUNCTION = /^unknown function: their_function$/

const CASES: readonly Case[] = [
  {
    table: 'orphans',
    broken: [insert({ id: 2, n: 2 }), update({ x: 5 }), remove],
    works: [{ verb: 'select' }, update({ n: 5 })],
    reason: /^no such table: main.nowhere$/,
    only: SQLITE_ALONE
  },
  {
    table: 'orphans',
    broken: [insert({ id: 2, x: 2 }), update({ x: 5 }), { ...insert({ id: 1, x: 2 }), onConflict: { key: ['id'] } }],
    works: [{ verb: 'select' }, insert({ id: 3, n: 2 })],
    reason: /^ER_NO_REFERENCED_ROW_2 \(nowhere\)$/,
    only: SERVERS
  },
  {
    table: 'mismatched',
    broken: [insert({ id: 2, code: 'a' }), update({ code: 'a' })],
    works: [{ verb: 'select' }, update({ n: 5 })],
    reason: /^foreign key mismatch$/,
    only: SQLITE_ALONE
  },
  {
    table: 'parents',
    broken: [remove, update({ code: 'b' })],
    works: [insert({ id: 2, code: 'c' }), update({ n: 5 })],
    reason: /^foreign key mismatch$/,
    only: SQLITE_ALONE
  },
  {
    table: 'indexed',
    broken: [insert({ id: 2, n: 2 }), insert([{ id: 2, n: 2 }, { id: 3, n: 3 }]), update({ n: 2 })],
    works: [{ verb: 'select' }],
    reason: FUNCTION,
    only: SQLITE_ALONE
  },
  {
    table: 'checked',
    broken: [insert({ id: 2, n: 2 }), { ...insert({ id: 1, n: 2 }), onConflict: { key: ['id'] } }, update({ n: 2 })],
    works: [{ verb: 'select' }, remove],
    reason: FUNCTION,
    only: SQLITE_ALONE
  },
  {
    table: 'computed',
    broken: [{ verb: 'select' }, { verb: 'select', filters: { g: 1 } }, insert({ id: 2 })],
    works: [{ verb: 'select', columns: ['n'] }],
    reason: FUNCTION,
    only: SQLITE_ALONE
  },
  {
    table: 'defaulted', broken: [insert({ id: 2 })], works: [{ verb: 'select' }], reason: FUNCTION, only: SQLITE_ALONE
  },
  {
    table: 'defaulted',
    broken: [insert({ id: 2 }), insert({ id: 2, n: 2 })],
    works: [{ verb: 'select' }, update({ n: 5 })],
    reason: /^ER_NO_SUCH_TABLE \(t_\w+\.s\)$/,
    only: ['mariadb']
  },
  {
    table: 'collated',
    broken: [{ verb: 'select', orderBy: 's' }, { verb: 'select', filters: { s: 'x' } }],
    works: [{ verb: 'select' }, insert({ id: 2, n: 2, s: 'y' }), { verb: 'select', orderBy: 'n', after: null }],
    reason: /^no such collation sequence: their_collation$/,
    only: SQLITE_ALONE
  },
  {
    table: 'keyed',
    broken: [
      { verb: 'select' }, { verb: 'select', filters: { n: 1 } }, insert({ k: 'y', n: 2 }),
      { verb: 'update', data: { n: 2 }, filters: { n: 1 } }, { verb: 'delete', filters: { k: 'x' } }
    ],
    reason: /^no query solution$|^no such collation sequence: their_collation$/,
    only: SQLITE_ALONE
  },
  {
    table: 'old',
    broken: [{ verb: 'select' }, { verb: 'select', columns: ['id'] }],
    reason: /^ER_VIEW_INVALID$|^no such table: main.gone$/
  },
  { table: 'called', broken: [{ verb: 'select' }], reason: /^ER_VIEW_INVALID$/, only: SERVERS }
]

async function isBroken (t: Test, { post, log }: Service, { table, body, reason }: {
  table: string, body: object, reason: RegExp
}): Promise<void> {
  log.splice(0)
  const why = `${table}: ${JSON.stringify(body)}`
  const answer = await post(table, body)
  isRefusal(t, answer, { status: 422, code: 'BROKEN_DEFINITION', why })
  t.equal(answer.headers['retry-after'], undefined)
  t.match(
    log.map((line) => JSON.parse(line)).find(({ code }) => code === 'BROKEN_DEFINITION'), { reason },
    `${why}: the log has the reason`
  )
}

await onEachEngine(t, 'a definition that names what is not there is a permanent fault, whoever holds it, and ' +
  'never one of the value', { schema }, async (t, service) => {
  const { post, operate, engine, sql } = service
  for (const { table, broken, works = [], reason } of CASES.filter(({ only }) => only?.includes(engine) !== false)) {
    for (const body of broken) await isBroken(t, service, { table, body, reason })
    for (const body of works) {
      t.equal((await post(table, {
        ...body, ...'dryRun' in body || (body as { verb: string }).verb === 'select' ? {} : { dryRun: true }
      })).status, 200, `${table}: ${JSON.stringify(body)} works`)
    }
    t.match(
      await operate([{ ...broken[0], table }]), { status: 422, json: { error: { code: 'BROKEN_DEFINITION' } } },
      `${table} in operations`
    )
  }
  t.equal((await post('base', { verb: 'select' })).status, 200)
  for (const view of ['young', 'younger']) t.equal((await post(view, { verb: 'select' })).status, 200)
  await sql('drop table base')
  for (const view of ['young', 'younger']) {
    await isBroken(t, service, {
      table: view, body: { verb: 'select' }, reason: /^ER_VIEW_INVALID$|^no such table: main.base$/
    })
  }
  const on = { id: 'id' }
  for (const body of [
    { include: { young: { on } } }, { include: { young: { on, aggregates: { n: { $count: '*' } } } } },
    { filters: { $some: { young: { on } } } },
    { include: { parent: { table: 'orphans', on, filters: { $none: { younger: { on } } } } } }
  ]) {
    await isBroken(t, service, {
      table: 'orphans', body: { verb: 'select', ...body }, reason: /^ER_VIEW_INVALID$|^no such table: main.base$/
    })
  }
})

await onEachEngine(t, 'a broken view is one that is not there for a token that may not see it', {
  schema, tokens: [tokenOf('other', { databases: { shop: { base: {} } } })]
}, async (t, { post }) => {
  const select = { verb: 'select' }
  isRefusal(t, await post('old', select, { token: 'other' }), {
    status: 404, code: 'TABLE_NOT_FOUND', why: 'of a path'
  })
  isRefusal(t, await post('base', { ...select, include: { old: { on: { id: 'id' } } } }, { token: 'other' }), {
    status: 404, code: 'TABLE_NOT_FOUND', why: 'of a member'
  })
  isRefusal(t, await post('base', { ...select, include: { old: { on: { id: 'id' } } } }), {
    status: 422, code: 'BROKEN_DEFINITION', why: 'a member of a token that sees it'
  })
})

await onEachEngine(t, 'a host app gets the same error in a transaction and in its hook for writes', {
  schema,
  options: {
    async onWrite ({ table, tx }: { table: string, tx: { execute: (request: object) => Promise<unknown> } }) {
      if (table === 'base') {
        await tx.execute({
          grant: { name: 'app', permissions: ['insert'] },
          table: 'orphans',
          body: { verb: 'insert', data: { id: 2, x: 2 } }
        })
      }
    }
  } as never
}, async (t, { server, post, log }) => {
  const grant = { name: 'app', permissions: ['select', 'insert'] as const }
  const { rows } = server
  await t.rejects(rows.transaction('shop', async (tx) => {
    await tx.execute({ grant, table: 'base', body: { verb: 'select' } } as never)
    await tx.execute({ grant, table: 'orphans', body: { verb: 'insert', data: { id: 2, x: 2 } } } as never)
  }), { code: 'BROKEN_DEFINITION' })
  log.splice(0)
  isRefusal(t, await post('base', { verb: 'insert', data: { id: 1 } }), {
    status: 422, code: 'BROKEN_DEFINITION', why: 'in the hook'
  })
  t.match(log.join(''), /nowhere/)
})

await onEachEngine(t, 'virtual tables of SQLite, and those in which they keep their rows, are no tables', {
  schema: {
    sqlite: [
      'create table notes (id integer primary key, body text)', 'create virtual table words using fts5(body)',
      'create view found as select body from words', "insert into words values ('a b')"
    ],
    mysql: []
  },
  only: ['sqlite']
}, async (t, { post, sql }) => {
  const listed = (await sql('select name from sqlite_schema where name like ?', ['words%'])).map(({ name }) => name)
  t.ok(listed.length > 4)
  for (const table of listed) {
    isRefusal(t, await post(table, { verb: 'select' }), { status: 404, code: 'TABLE_NOT_FOUND', why: table })
  }
  t.match(
    await post('found', { verb: 'select' }), { status: 200, json: { data: { rows: [{ body: 'a b' }] } } },
    'a view may select from them'
  )
})
