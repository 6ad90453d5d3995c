/**
 * Inserts with triggers and generated defaults: `id` is correct or null, and a column that a trigger fills may be
 * omitted. Triggers and views that refer to something missing.
 */
import t, { type Test } from 'tap'
import { numberedId, trigger } from '../support/definitions.ts'
import { COMMON } from '../support/missing-tables.ts'
import { get } from '../support/documents.ts'
import { errorPacket } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { useEachEngine } from '../support/rotation.ts'
import {
  onEachEngine, type Schema, type EngineName, type Service, sharedOnEachEngine, startService
} from '../support/service.ts'
import { createUser } from '../support/users.ts'

useEachEngine(t)

const tables: Schema = (engine) => {
  const isSqlite = engine === 'sqlite'
  const logs = 'insert into log (note) values (new.note)'
  return [
    `create table log (${numberedId(engine)}, note varchar(20) null)`, "insert into log values (500, '')",
    ...['logged', 'logged_before', 'renumbered'].map(
      (name) => `create table ${name} (${numberedId(engine, 'bigint')}, note varchar(20) null)`
    ),
    trigger('logged_insert', 'after insert on logged', logs),
    trigger('logged_before_insert', 'before insert on logged_before', isSqlite
      ? logs
      : `${logs}; set new.note = last_insert_id()`),
    'create table keyed (code varchar(40) not null primary key, note varchar(20) null)',
    `create table filled (${numberedId(engine)}, slug varchar(20) not null, owner varchar(20) not null)`,
    `create table unfilled (${numberedId(engine)}, slug varchar(20) not null)`,
    ...isSqlite
      ? [
          trigger('renumbered_insert', 'after insert on renumbered',
            'update renumbered set id = id + 1000 where id = new.id'),
          trigger('keyed_insert', 'after insert on keyed',
            "update keyed set code = 'made-' || new.note where code = new.code"),
          'create table "left ""out""" (code text not null primary key, note text)',
          `create trigger left_out before insert on "left ""out""" when new.note = 'no' begin
            select raise(ignore); end`,
          trigger('left_out_after', 'after insert on "left ""out"""', logs),
          trigger('filled_insert', 'before insert on filled', "insert into log (note) values ('x')"),
          'create table items (id integer primary key, n integer not null unique on conflict fail, note text)',
          "insert into items values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')",
          'create table half_log (id integer primary key on conflict fail)',
          'insert into half_log values (3)',
          `create trigger raises before update of note on items when old.id = 3 and new.note = 'raise' begin
            select raise(fail, 'no'); end`,
          `create trigger collides after update of note on items when new.note = 'log' begin
            insert into half_log values (new.id); end`,
          "create trigger keeps before delete on items when old.id = 2 begin select raise(fail, 'no'); end"
        ]
      : [
          trigger('renumbered_insert', 'before insert on renumbered',
            'set new.id = -1000 + coalesce(new.note, 0)'),
          trigger('keyed_insert', 'before insert on keyed', "set new.code = concat('made-', new.note)"),
          'create table by_default (code varchar(40) not null default (uuid()) primary key, note varchar(20) null)',
          trigger('filled_insert', 'before insert on filled', "set new.slug = coalesce(new.slug, 'made')")
        ]
  ]
}

const broken = (engine: EngineName): string[] => engine === 'sqlite'
  ? [...COMMON, 'drop table gone']
  : [
      ...COMMON,
      'create table routines (id int not null primary key)',
      trigger('t4', 'before insert on routines', 'call nowhere()'),
      'create table orphans (id int not null primary key)',
      "create definer = 'nobody'@'nowhere' trigger t5 before insert on orphans for each row set @x = 1",
      "create definer = 'nobody'@'nowhere' sql security definer view orphan as select id from rows_kept",
      'drop table gone'
    ]

interface Case { table: string, body: object, reason: RegExp, only?: readonly EngineName[] }

const CASES: readonly Case[] = [
  {
    table: 'rows_kept',
    body: { verb: 'insert', data: { id: 2 } },
    reason: /^(ER_NO_SUCH_TABLE \(t_\w+\.gone\)|no such table: main\.gone)$/
  },
  {
    table: 'rows_kept',
    body: { verb: 'update', data: { n: 2 }, filters: { id: 1 } },
    reason: /^(ER_BAD_FIELD_ERROR \(lost\)|no such column: lost)$/
  },
  {
    table: 'columns_kept',
    body: { verb: 'delete', filters: { id: 1 } },
    reason: /^(ER_WRONG_VALUE_COUNT_ON_ROW|has 1 columns but)$/
  },
  {
    table: 'routines',
    body: { verb: 'insert', data: { id: 1 } },
    reason: /^ER_SP_DOES_NOT_EXIST \(t_\w+\.nowhere\)$/,
    only: ['mariadb', 'mysql']
  },
  {
    table: 'orphans', body: { verb: 'insert', data: { id: 1 } }, reason: /^ER_NO_SUCH_USER$/, only: ['mariadb', 'mysql']
  },
  { table: 'orphan', body: { verb: 'select' }, reason: /^ER_NO_SUCH_USER$/, only: ['mariadb', 'mysql'] }
]

/** Each test has tables of its own. */
const schema: Schema = (engine) => [...tables(engine), ...broken(engine)]
const test = sharedOnEachEngine(t, { schema, keepsRows: true })

await test('the id of an insert is correct or null where a ' +
  'trigger changes the key', async (t, { engine, post, sql }) => {
  const insert = async (table: string, data: object): Promise<any> =>
    (await post(table, { verb: 'insert', data })).json.data
  t.same(
    await insert('logged', { note: 'x' }), { inserted: 1, id: 1 },
    'a row that a trigger adds to another table does not change the id'
  )
  t.same(await insert('logged', { id: 7, note: 'x' }), { inserted: 1, id: 7 })
  t.same(await insert('logged', { id: -7, note: 'x' }), { inserted: 1, id: -7 })
  t.same(await insert('logged_before', { note: 'x' }), { inserted: 1, id: 1 })
  t.same(await insert('logged_before', { id: 9, note: 'x' }), { inserted: 1, id: 9 })
  t.same(await insert('logged_before', { id: -9, note: 'x' }), { inserted: 1, id: -9 })
  if (engine === 'sqlite') {
    t.same(await insert('renumbered', { note: 'x' }), { inserted: 1, id: null })
    t.same(await insert('renumbered', { id: 5, note: 'x' }), { inserted: 1, id: null })
    t.same(await insert('left "out"', { code: 'a', note: 'yes' }), { inserted: 1, id: 'a' })
    t.same(await insert('left "out"', { code: 'b', note: 'no' }), { inserted: 0, id: null })
  } else {
    t.same(await insert('renumbered', {}), { inserted: 1, id: -1000 })
    t.same(await insert('renumbered', { id: 5, note: '2000' }), { inserted: 1, id: 1000 })
    t.same(await insert('by_default', { note: 'x' }), { inserted: 1, id: null })
    t.same(await insert('by_default', { code: 'given' }), { inserted: 1, id: 'given' })
  }
  t.same(await insert('keyed', { code: 'given', note: 'x' }), { inserted: 1, id: null })
  t.match(await sql('select code from keyed'), [{ code: 'made-x' }])
})

await test('a column that a trigger fills is not required', async (t, { engine, server, post, statements }) => {
  const insert = async (table: string, data: object): Promise<any> => (await post(table, { verb: 'insert', data })).json
  const slug = {
    code: 'MISSING_COLUMN',
    message: '"data" is missing columns that have no default: "slug"',
    details: [{ path: '/data/slug', message: 'has no default' }]
  }
  if (engine === 'sqlite') {
    t.same((await insert('filled', { owner: 'me' })).error, slug, "SQLite's triggers fill no column")
  } else t.same((await insert('filled', { owner: 'me' })).data, { inserted: 1, id: 1 })
  t.same((await insert('filled', { slug: 'own' })).error, {
    code: 'MISSING_COLUMN',
    message: '"data" is missing columns that have no default: "owner"',
    details: [{ path: '/data/owner', message: 'has no default' }]
  })
  t.match((await insert('filled', { slug: 'own', owner: null })).error, {
    code: 'NOT_NULL_VIOLATION', details: [{ path: '/data/owner' }]
  })
  t.same((await get(server, '/shop/openapi.json')).json.components.schemas.FilledInsert.required, engine === 'sqlite'
    ? ['slug', 'owner']
    : undefined, 'the OpenAPI document agrees')
  statements()
  t.same((await insert('unfilled', {})).error, slug)
  t.same(statements(), [], 'without a trigger no statement is sent')
})

await test('a statement that SQLite aborts halfway with FAIL changes nothing', async (t, { post, sql }) => {
  const before = await sql('select id, n, note, (select count(*) from half_log) as logged from items')
  const filters = { id: { $lte: 3 } }
  const refused: Array<[body: object, status: number]> = [
    [{ verb: 'update', data: { note: 'raise' }, filters }, 422],
    [{ verb: 'update', data: { note: 'log' }, filters }, 409],
    [{ verb: 'update', data: { n: 7 }, filters }, 409],
    [{ verb: 'delete', filters }, 422]
  ]
  for (const [body, status] of refused) {
    t.equal((await post('items', body)).status, status, JSON.stringify(body))
    t.same(
      await sql('select id, n, note, (select count(*) from half_log) as logged from items'), before,
      JSON.stringify(body)
    )
  }
  t.match(
    (await post('items', { verb: 'update', data: { note: 'fine' }, filters })).json, { data: { updated: 3 } },
    'and no transaction stays open'
  )
}, ['sqlite'])

const explains = async (t: Test, { post, log, engine, sql }: Service, level: number): Promise<void> => {
  for (const { table, body, reason } of CASES.filter(({ only }) => only?.includes(engine) !== false)) {
    for (const time of ['the first time', 'again']) {
      log.splice(0)
      const answer = await post(table, body)
      isRefusal(t, answer, { status: 422, code: 'BROKEN_DEFINITION', why: `${table} ${time}` })
      t.equal(answer.headers['retry-after'], undefined)
      const line = log.map((line) => JSON.parse(line)).find(({ code }) => code === 'BROKEN_DEFINITION')
      t.match(line, { level, reason }, `${table} ${time}`)
      t.notMatch(log.join(''), /nobody|nowhere'|insert into|update audit/i)
    }
  }
  t.match(await sql('select * from rows_kept'), [{ id: 1, n: 1 }], 'nothing was changed')
}

await test(
  'a trigger or view that refers to something missing is a permanent error, which the log explains',
  async (t, service) => { await explains(t, service, 40) }
)

await onEachEngine(
  t, 'the request log explains it too', { schema: broken, options: { requestLog: true } },
  async (t, service) => { await explains(t, service, 50) }
)

await test('the catalog is not read for each request that fails because ' +
  'of a broken trigger', async (t, { post, proxy }) => {
  await post('rows_kept', { verb: 'select' })
  proxy?.statements.splice(0)
  for (let request = 0; request < 4; request++) {
    for (const { table, body } of CASES) t.equal((await post(table, body)).json.error.code, 'BROKEN_DEFINITION')
  }
  const readings = proxy?.statements.filter((sql) => sql.includes('`information_schema`.`TABLES`')).length ?? 0
  t.ok(readings <= 2 * CASES.length, `${readings} readings for ${4 * CASES.length} requests`)
}, ['mariadb', 'mysql'])

await test('a column that is renamed for a moment is no broken definition', async (t, service) => {
  const { post, operate, sql } = service
  const proxy = service.proxy as NonNullable<typeof service.proxy>
  const bodies = {
    select: { verb: 'select', columns: ['n'] },
    update: { verb: 'update', data: { n: 2 }, filters: { id: 1 } },
    delete: { verb: 'delete', filters: { id: 1, n: 1 } }
  }
  for (const [name, body] of Object.entries(bodies)) {
    proxy.onStatement = (sql) => /^(select|update|delete)\b.*columns_kept/.test(sql)
      ? errorPacket(1054, '42S22', "Unknown column 'n' in 'where clause'")
      : undefined
    isRefusal(t, await post('columns_kept', body), { status: 503, code: 'DATABASE_UNAVAILABLE', why: name })
    isRefusal(t, await operate([{ ...body, table: 'columns_kept' }]), {
      status: 503, code: 'DATABASE_UNAVAILABLE', why: `${name} as an operation`
    })
    proxy.onStatement = () => undefined
  }
  t.match(await post('columns_kept', bodies.select), { status: 200 })
  t.equal((await sql('select * from columns_kept')).length, 1)
}, ['mariadb', 'mysql'])

await test('a view whose definer does not exist is a broken definition, also for an account that ' +
  'does not see definers', async (t, { url, sql }) => {
  const [{ name }] = await sql('select database() as name') as [{ name: string }]
  const { post, log } = await startService(t, await createUser(t, { name, url, query: sql }))
  for (const time of ['the first time', 'again']) {
    isRefusal(t, await post('orphan', { verb: 'select' }), { status: 422, code: 'BROKEN_DEFINITION', why: time })
  }
  t.notMatch(log.join(''), /nobody/)
}, ['mariadb', 'mysql'])
