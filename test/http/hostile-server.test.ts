// night: waits for real time limits
/** Servers with settings that would change the meaning of statements. */
import { createConnection } from 'mysql2/promise'
import t, { type Test } from 'tap'
import { ownShop, sqlOn, type Shop, type Sql } from '../faults/service.ts'
import { engines } from '../servers/engines.ts'
import { startService } from '../support/service.ts'

const TABLES = [
  'create table notes (id int primary key, name varchar(200), s varchar(200)) character set utf8mb4',
  'create table secret (id int primary key, s varchar(100), name varchar(100)) character set utf8mb4',
  "insert into secret values (7, 'the secret of another table', 'x')",
  "insert into notes values (1, 'one', 'first')",
  'create table parents (id int auto_increment primary key, code varchar(20) not null, unique key parents_code (code))',
  'create table children (id int primary key, parent_id int null, amount int not null, seen timestamp null, body ' +
    'text null, constraint positive check (amount > 0), constraint children_parent foreign key (parent_id) ' +
      'references parents (id))',
  'create view labels as select id, concat(\'Label \', id) as label from notes',
  'create database elsewhere',
  'create table elsewhere.notes (id int primary key, name varchar(200), s varchar(200))'
]

/**
 * Texts that depend on the character set: letters beyond ASCII, quotes and backslashes, also after incomplete
 * characters.
 */
const TEXTS = [
  'ħ', '😀', "it's", 'a "b" \\ c', "ħ\\'", "中'", "é'--", '表\\', 'ソ', '縗\\', "\u0127 or 1 = 1 -- '", 'æøå ß ñ',
  '\u{10ffff}', "😀''\\\\"
]

const ATTACKS = [
  'ħ union select 1,s,3 from secret -- ',
  "ħ union select 1,s,3 from secret -- '",
  "中\\' union select 1,s,3 from secret -- ",
  "縗' union select 1,s,3 from secret -- ",
  "é' union select 1,s,3 from secret -- ",
  'ܧ union select 1,s,3 from secret -- ',
  'ĜħŒ union select 1,s,3 from secret #'
]

const INIT = [
  ...['latin1', 'ascii', 'binary', 'utf8', 'gbk', 'sjis', 'cp932', 'big5', 'swe7'].map((name) => `SET NAMES ${name}`),
  'SET character_set_results = latin1', 'SET character_set_connection = latin1', 'SET character_set_client = gbk',
  'SET character_set_results = NULL',
  "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'"
]

const HOSTILE = [
  'sql_select_limit = 1', 'max_join_size = 1', 'max_sort_length = 8', 'sql_auto_is_null = 1', 'sql_safe_updates = 1',
  'foreign_key_checks = 0', 'autocommit = 0',
  'completion_type = 1', "lc_messages = 'ja_JP'", "time_zone = '+09:00'", "collation_connection = 'latin1_swedish_ci'",
  "session_track_system_variables = ''", 'div_precision_increment = 0',
  "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"
]
const HOSTILE_ON = {
  mariadb: [
    'check_constraint_checks = 0', "system_versioning_asof = '2020-01-01 00:00:00'", "old_mode = 'ZERO_DATE_TIME_CAST'"
  ],
  mysql: []
}

async function textsHold (t: Test, { url }: Shop, sql: Sql, name: string): Promise<void> {
  await t.test(name, async (t) => {
    await sql('delete from notes where id >= 100')
    const service = await startService(t as Test, url)
    for (const [index, text] of TEXTS.entries()) {
      const { status } = await service.post('notes', { verb: 'insert', data: { id: 100 + index, name: text, s: 'x' } })
      t.equal(status, 200, text)
      const { json } = await service.post('notes', { verb: 'select', filters: { name: text, id: 100 + index } })
      t.same(json.data?.rows, [{ id: 100 + index, name: text, s: 'x' }], text)
    }
    const stored = await sql('select hex(name) as name from notes where id >= 100 order by id')
    t.same(
      stored.map(({ name }) => name), TEXTS.map((text) => Buffer.from(text).toString('hex').toUpperCase()),
      'the bytes in the table'
    )
    for (const text of ATTACKS) {
      const { status, json } = await service.post('notes', { verb: 'select', filters: { name: text } })
      t.same([status, json.data.rows], [200, []], text)
    }
  })
}

for (const { name: kind } of await engines()) {
  t.test(`settings of ${kind}`, async (t) => {
    const shop = await ownShop(t as Test, kind, TABLES)
    const sql = sqlOn(shop.server.url, 'shop', 'set session sql_select_limit = default, sql_big_selects = 1, ' +
      "autocommit = 1, completion_type = 0, sql_mode = '', character_set_client = utf8mb4, collation_connection = " +
        'utf8mb4_bin, character_set_results = utf8mb4, sql_safe_updates = 0')
    const start = async (t: Test, settings: string[]) => {
      await hostile(t, settings)
      return await startService(t, shop.url)
    }
    const hostile = async (t: Test, settings: string[]): Promise<void> => {
      const old: string[] = []
      for (const setting of settings) {
        const [[name = '']] = [setting.split(' = ')]
        const [{ value }] = await sql(`select concat(@@global.${name}) as value`) as [{ value: string | null }]
        old.push(
          `set global ${name} = ${value === 'DEFAULT' || /^\d+$/.test(value ?? '') ? value : `'${value ?? ''}'`}`
        )
      }
      for (const setting of settings) await sql(`set global ${setting}`)
      t.teardown(async () => { for (const statement of old.reverse()) await sql(statement) })
    }

    for (const init of kind === 'mysql' ? [...INIT, 'SET NAMES gb18030'] : INIT) {
      await t.test(`init_connect: ${init}`, async (t) => {
        await hostile(t as Test, [`init_connect = "${init}"`])
        await textsHold(t as Test, shop, sql, 'texts are stored, found and returned unchanged, and none becomes SQL')
      })
    }

    await t.test('global settings that change results, hide rows or disable checks have no effect', async (t) => {
      if (kind === 'mariadb') await sql('create table versioned (id int primary key, n int) with system versioning')
      const { post, log } = await start(t as Test, [...HOSTILE, ...HOSTILE_ON[kind]])
      const body = `${'x'.repeat(1100)}`
      await post('parents', { verb: 'insert', data: { code: 'a' } })
      t.same(
        (await post('parents', { verb: 'select', filters: { id: null } })).json.data.rows, [],
        'null does not match the last inserted row'
      )
      for (const [index, end] of ['c', 'a', 'b'].entries()) {
        const { status } = await post('children', {
          verb: 'insert',
          data: { id: index + 1, parent_id: 1, amount: 1, seen: '2026-07-01T12:00:00Z', body: body + end }
        })
        t.equal(status, 200)
      }
      t.match(
        await sql('set time_zone = "+00:00"').then(() => sql('select count(*) as n from children')), [{ n: 3 }],
        'the inserts were committed'
      )
      t.same(await sql("select id from children where seen <> convert_tz('2026-07-01 12:00:00', '+00:00', " +
        '@@session.time_zone)'), [], 'times are in UTC')
      const { json } = await post('children', { verb: 'select', orderBy: 'body' })
      t.same(json.data.rows.map(({ id, amount, seen, body }: any) => [id, amount, seen, body.length]), [
        2, 3, 1
      ].map((id) => [id, 1, '2026-07-01T12:00:00Z', 1101]), 'every row and column comes, texts in their order')
      const refused = await post('children', { verb: 'insert', data: { id: 4, parent_id: 1, amount: -1 } })
      t.match([refused.status, refused.json.error.code], [422, 'CHECK_VIOLATION'])
      const orphan = await post('children', { verb: 'insert', data: { id: 5, parent_id: 99, amount: 1 } })
      t.match([orphan.status, orphan.json.error.code], [409, 'FOREIGN_KEY_VIOLATION'])
      const twice = await post('parents', { verb: 'insert', data: { code: 'a' } })
      t.match(
        [twice.status, twice.json.error.code, twice.json.error.details],
        [409, 'UNIQUE_VIOLATION', [{ message: /parents_code/ }]],
        'the constraint is parsed from the message of the error'
      )
      const update = await post('children', { verb: 'update', data: { amount: 2 }, filters: { amount: 1 } })
      t.equal(update.json.data?.updated, 3, 'by a column without an index')
      const label = await post('labels', { verb: 'select', filters: { label: 'Label 1' } })
      t.same(label.json.data?.rows, [{ id: 1, label: 'Label 1' }], 'an expression of a view can be compared')
      if (kind === 'mariadb') {
        await post('versioned', { verb: 'insert', data: { id: 1, n: 1 } })
        t.same((await post('versioned', { verb: 'select' })).json.data.rows, [{ id: 1, n: 1 }], 'the current rows')
      }
      t.same(log.filter((line) => JSON.parse(line).level > 30), [])
    })

    await t.test('uncommitted changes of another session are not read', async (t) => {
      const { post } = await start(t as Test, [
        `${kind === 'mariadb' ? 'tx' : 'transaction'}_isolation = 'READ-UNCOMMITTED'`
      ])
      const other = await createConnection({ uri: `${shop.server.url}/shop` })
      t.teardown(() => other.destroy())
      await other.query('begin')
      await other.query("insert into notes values (50, 'not there', 'yet')")
      t.same((await post('notes', { verb: 'select', filters: { id: 50 } })).json.data.rows, [])
    })

    await t.test('a transaction that init_connect leaves open is ended, and a commit does not ' +
      'start another one', async (t) => {
      const { post } = await start(t as Test, ["init_connect = 'start transaction'", 'completion_type = 1'])
      for (const id of [60, 61]) {
        t.equal((await post('notes', { verb: 'insert', data: { id, name: 'committed' } })).status, 200)
      }
      t.match(await sql('select count(*) as n from notes where id in (60, 61)'), [{ n: 2 }])
    })

    for (const [init, reason] of [
      ['use elsewhere', /^OTHER_DATABASE/], ['set timestamp = 86400', /^FROZEN_CLOCK/]
    ] as const) {
      await t.test(`a session whose settings cannot be corrected is not used: ${init}`, async (t) => {
        if (init.startsWith('use')) await sql("grant select on elsewhere.* to app@'%'")
        const { post, log } = await start(t as Test, [`init_connect = '${init}'`])
        const { status, json } = await post('notes', { verb: 'select' })
        t.match([status, json.error.code], [503, 'DATABASE_UNAVAILABLE'])
        t.ok(log.some((line) => reason.test(JSON.parse(line).reason)), 'and the reason is logged')
      })
    }

    if (kind === 'mariadb') {
      await t.test('a server that ignores the character set of the client', async (t) => {
        await shop.server.end()
        await shop.server.start(['--skip-character-set-client-handshake', '--character-set-server=gbk'])
        await textsHold(t as Test, shop, sql, 'texts are unchanged')
      })
    }
  })
}
