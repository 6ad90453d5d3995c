/**
 * The isolation level of each kind of write, as its triggers see it, and what must hold although others write in
 * between.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { GrantOptions } from '../../src/index.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { load, NDJSON } from '../support/load.ts'
import { errorPacket, type Proxy, resultPackets } from '../support/recorder.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type Answer, type EngineName, onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'

useEachEngine(t)

const levelIn = (engine: EngineName): string => engine === 'mysql' ? '@@transaction_isolation' : '@@tx_isolation'

const schema = (engine: EngineName): string[] => [
  CREATE.mysql,
  'create table items (id int not null auto_increment primary key, sku varchar(20) not null unique, n int not null ' +
    'default 0, level varchar(30) null)',
  'create table notes (id int not null auto_increment primary key, level varchar(30) not null)',
  'create table shifted (id int not null primary key, place int not null, key (place))',
  'insert into shifted (id, place) values (1, -1), (2, -2), (3, -3), (4, -4)',
  'create table turned (id int not null primary key, level varchar(30) null)',
  `create trigger turned before insert on turned for each row begin
    set new.level = ${levelIn(engine)}; set session transaction isolation level read uncommitted; end`,
  'create table tags (item_id int not null, word varchar(20) not null, primary key (item_id, word))',
  ...['insert', 'update'].map((event) => `create trigger noted_${event} before ${event} on items for each row begin
    set new.level = ${levelIn(engine)}; insert into notes (level) values (new.level); end`),
  `create trigger noted_delete before delete on items for each row
    insert into notes (level) values (${levelIn(engine)})`,
  'create table looked_up (id int not null primary key, n int null default 3)',
  'insert into looked_up values (1, 1), (2, 2)',
  "insert into items (sku) values ('a'), ('b'), ('c'), ('d')",
  "insert into tags values (1, 'x'), (2, 'x')"
]

type Write = (service: Service) => Promise<Answer>

/** The levels at which a write wrote its rows, once each; the session had another one before. */
async function levelsOf (service: Service, write: Write): Promise<string[]> {
  const { sql, operate } = service
  await operate({
    isolation: 'serializable',
    operations: [{ table: 'tags', verb: 'update', filters: { item_id: 1 }, data: { word: 'x' } }]
  })
  await sql('delete from notes')
  const { status, text, json } = await write(service)
  if (status !== 200) throw new Error(text)
  const rows = json.data?.dryRun === true ? json.data.rows : await sql('select level from notes')
  return [...new Set<string>(rows.map(({ level }: { level: string }) => level))]
}

const inc = { n: { $inc: 1 } }
const upsert = { onConflict: { key: ['sku'] } }
const tagged = { $some: { tags: { on: { id: 'item_id' }, filters: { word: 'x' } } } }
const post = (body: object, headers = {}): Write => ({ post }) => post('items', body, { headers })

/** The number of keys that were used. */
let keys = 0

/** Single writes, whatever else they ask for. */
const SINGLE: Readonly<Record<string, Write>> = {
  'an insert': post({ verb: 'insert', data: { sku: 'one' } }),
  'a list': post({ verb: 'insert', data: [{ sku: 'e' }, { sku: 'f' }], returning: '*' }),
  'an upsert': post({ verb: 'insert', data: { sku: 'one', n: 2 }, ...upsert }),
  'an upsert of a list': post({
    verb: 'insert', data: [{ sku: 'one', n: 3 }, { sku: 'g' }], ...upsert, returning: '*'
  }),
  'an update': post({ verb: 'update', filters: { id: 1 }, data: inc }),
  'an update of many rows': post({
    verb: 'update', key: ['id'], filters: {}, data: [{ id: 1, n: 8 }, { id: 2, ...inc }]
  }),
  'an update that returns rows': post({ verb: 'update', filters: { n: { $gte: 0 } }, data: inc, returning: '*' }),
  'an optimistic lock': post({ verb: 'update', filters: { id: 1 }, data: inc, expect: 1 }),
  'a dry run': post({ verb: 'update', filters: { id: 1 }, data: inc, dryRun: true, returning: '*' }),
  'a write with a key': (service) =>
    post({ verb: 'insert', data: { sku: `once-${++keys}` } }, { 'idempotency-key': `key-${keys}` })(service),
  'an import': (service) => load(service, 'items', '{"sku":"i"}\n', { type: NDJSON }),
  'an import by batches': (service) => load(service, 'items', '{"sku":"j"}\n', {
    type: NDJSON, query: '?transaction=batch'
  }),
  'a delete': post({ verb: 'delete', filters: { sku: 'one' } }),
  'a delete that expects rows': post({ verb: 'delete', filters: { sku: 'e' }, expect: 1 })
}

/** Writes that read rows before they write, or leave it to others what they read. */
const REPEATABLE: Readonly<Record<string, Write>> = {
  'an update by related rows': post({ verb: 'update', filters: tagged, data: inc }),
  'one that returns its related rows': post({
    verb: 'update', filters: { id: 1 }, data: inc, returning: ['id'], include: { tags: { on: { id: 'item_id' } } }
  }),
  'an insert that returns its related rows': post({
    verb: 'insert', data: { sku: 'k' }, returning: ['id'], include: { tags: { on: { id: 'item_id' } } }
  }),
  'an update of a unique key that returns rows': post({
    verb: 'update', filters: { sku: 'k' }, data: { sku: 'l' }, returning: ['id']
  }),
  'one that returns rows': post({ verb: 'update', filters: tagged, data: inc, returning: ['id'] }),
  'a delete that returns rows': post({ verb: 'delete', filters: { sku: 'd' }, returning: '*' }),
  operations: ({ operate }) => operate([{ table: 'items', verb: 'update', filters: { id: 1 }, data: inc }])
}

const only = ['mariadb', 'mysql'] as const

const testOne = sharedOnEachEngine(t, { schema, only, keepsRows: true, database: { pool: { size: 1 } } })

await testOne('each write runs at its level, whatever the connection was used for before', async (t, service) => {
  for (const [name, write] of Object.entries(SINGLE)) t.same(await levelsOf(service, write), ['READ-COMMITTED'], name)
  for (const [name, write] of Object.entries(REPEATABLE)) {
    t.same(await levelsOf(service, write), ['REPEATABLE-READ'], name)
  }
  t.same(await levelsOf(service, ({ operate }) => operate({
    isolation: 'serializable', operations: [{ table: 'items', verb: 'update', filters: { id: 1 }, data: inc }]
  })), ['SERIALIZABLE'])
})

const grant: GrantOptions = { permissions: ['select', 'insert', 'update'] }
/** NULL for a column with another default is looked up. */
const lookUp = (id: number) => ({
  table: 'looked_up', body: { verb: 'insert', data: { id, n: null }, onConflict: { key: ['id'] } } as const, grant
})

await testOne('a look-up in an older snapshot is of no consequence, because what follows it reads ' +
  'current rows', async (t, service) => {
  const { server: { rows }, sql } = service
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'looked_up', body: { verb: 'select', columns: ['id'] }, grant })
    await sql('delete from looked_up where id = 2')
    await sql('insert into looked_up values (7, 7)')
    t.match(await tx.execute(lookUp(2)), { inserted: 1, updated: 0 }, 'one that others have deleted since')
    t.match(await tx.execute(lookUp(7)), { inserted: 0, updated: 1 }, 'one that others have inserted since')
  })
  t.same(await sql('select id, n from looked_up order by id'), [
    { id: 1, n: 1 }, { id: 2, n: null }, { id: 7, n: null }
  ])
  await sql('delete from looked_up where id = 7')
})

await testOne('the row of a look-up, if it does not exist, is locked at SERIALIZABLE only', async (t, service) => {
  const { server: { rows }, sql } = service
  const waits = async (isolation: 'repeatableRead' | 'serializable', id: number): Promise<boolean> => {
    let inserted: Promise<unknown> | undefined
    let [isInserted, waited] = [false, false]
    await rows.transaction('shop', async (tx) => {
      await tx.execute(lookUp(id))
      inserted = sql('insert into looked_up values (?, 0)', [id + 10]).then(() => { isInserted = true })
      await Promise.race([inserted, sleep(1000)])
      waited = !isInserted
    }, { isolation })
    await inserted
    return waited
  }
  // rows that others have deleted would part the gap that is locked
  t.equal(await waits('repeatableRead', 50), false)
  t.equal(await waits('serializable', 70), true)
  await sql('delete from looked_up where id >= 50')
})

await testOne('an attempt after a deadlock runs at its level, although a trigger ' +
  'has set another one', async (t, { post, operate, proxy, sql }) => {
  const levels: string[] = []
  for (const [id, write] of [
    () => operate({ isolation: 'serializable', operations: [{ table: 'turned', verb: 'insert', data: { id: 0 } }] }),
    () => operate([{ table: 'turned', verb: 'insert', data: { id: 1 } }]),
    () => post('turned', { verb: 'insert', data: { id: 2 } }, { headers: { 'idempotency-key': 'turned' } })
  ].entries()) {
    let refused = 0
    if (proxy !== undefined) {
      proxy.onStatement = (text) => text === 'commit' && refused++ === 0 ? errorPacket(1213, '40001') : undefined
    }
    t.equal((await write()).status, 200)
    t.equal(refused, 2, 'the first COMMIT was refused')
    levels.push((await sql('select level from turned where id = ?', [id]))[0].level)
  }
  t.same(levels, ['SERIALIZABLE', 'REPEATABLE-READ', 'READ-COMMITTED'])
})

await testOne('a server that refuses the isolation level, or a transaction, is answered ' +
  'by what it refuses', async (t, { operate, proxy }) => {
  if (proxy === undefined) return
  const write = (isolation: string) => operate({
    isolation, operations: [{ table: 'tags', verb: 'update', filters: { item_id: 1 }, data: { word: 'x' } }]
  })
  for (const [begins, does] of [[/^set session transaction isolation level serializable/, 'set the isolation level'], [
    /^start transaction/, 'begin a transaction'
  ]] as const) {
    for (const [number, state, code, who] of [
      [1227, '42000', 'PERMISSION_DENIED', "The service's database account may not"],
      [1064, '42000', 'NOT_SUPPORTED', 'The database does not let the service'],
      [1231, '42000', 'NOT_SUPPORTED', 'The database does not let the service'],
      [1568, '25001', 'NOT_SUPPORTED', 'The database does not let the service'],
      [1193, 'HY000', 'NOT_SUPPORTED', 'The database does not let the service']
    ] as const) {
      proxy.onStatement = () => undefined
      t.equal((await write('repeatableRead')).status, 200)
      proxy.onStatement = (text) => begins.test(text) ? errorPacket(number, state) : undefined
      const { json } = await write('serializable')
      t.match(json.error, { code, message: `${who} ${does}`, details: [] }, `${number} of ${does}`)
    }
  }
  proxy.onStatement = () => undefined
})

await testOne('"returning" does not decide whether the keys of rows can change', async (t, { post }) => {
  // the index of the filter has the order in which each key is free
  const shift = (by: number, rest: object) => post('shifted', {
    verb: 'update', filters: { place: { $lt: 0 } }, data: { id: { $inc: by } }, ...rest
  })
  for (const by of [1, -1]) {
    const plain = await shift(by, { dryRun: true })
    t.same([by, (await shift(by, { dryRun: true, returning: ['id'] })).status], [by, plain.status])
  }
})

await sharedOnEachEngine(t, {
  schema, only, keepsRows: true, options: { onWrite: async () => {} } as never
})('within a hook, the isolation is that of a transaction', async (t, service) => {
  t.same(await levelsOf(service, SINGLE['an update'] as Write), ['REPEATABLE-READ'])
})

/** What a server with a binary log of statements says of it. */
const LOG_OF_STATEMENTS = resultPackets(['Variable_name', 'Value'], [['binlog_format', 'STATEMENT'], ['log_bin', 'ON']])

await testOne('a binary log of statements', async (t, service) => {
  const proxy = service.proxy as Proxy
  const writes = ['an insert', 'an update that returns rows', 'a write with a key'].map((name) => SINGLE[name] as Write)
  t.same(await levelsOf(service, writes[0] as Write), ['READ-COMMITTED'])
  const refuseOnce = (): void => {
    let refused = 0
    proxy.onStatement = (text) => /^show session variables/.test(text)
      ? LOG_OF_STATEMENTS
      : /^(?:insert into|update) `items`/.test(text) && refused++ === 0 ? errorPacket(1665, 'HY000') : undefined
  }
  refuseOnce()
  t.same(
    await levelsOf(service, post({ verb: 'update', filters: { id: 1 }, data: inc })), ['REPEATABLE-READ'],
    'its format was changed, and the session was reset'
  )
  proxy.onStatement = (text) => /^show session variables/.test(text) ? LOG_OF_STATEMENTS : undefined
  for (const write of writes.slice(1)) t.same(await levelsOf(service, write), ['REPEATABLE-READ'])
  proxy.onStatement = () => undefined
  proxy.cut()
  t.same(await levelsOf(service, post({ verb: 'update', filters: { id: 1 }, data: inc })), ['READ-COMMITTED'])
  refuseOnce()
  t.match(
    await (writes[1] as Write)(service), { status: 503, json: { error: { code: 'DATABASE_UNAVAILABLE' } } },
    'within a transaction'
  )
  proxy.onStatement = () => undefined
})

await onEachEngine(t, 'a change of the level counts towards the time limit of its request, and ends with its client', {
  schema, only, database: { pool: { size: 1 }, statementTimeout: 400 }
}, async (t, service) => {
  const proxy = service.proxy as Proxy
  const member = { verb: 'select', filters: { id: 1 }, include: { tags: { on: { id: 'item_id' } } } }
  for (const [name, body] of Object.entries({ snapshot: member, write: { verb: 'insert', data: { sku: 'late' } } })) {
    // leaves the session at another level
    await service.post('items', name === 'write' ? member : { verb: 'update', filters: { id: 1 }, data: inc })
    proxy.onStatement = (text) => {
      proxy.delay = /^set session transaction/.test(text) ? 600 : 0
      return undefined
    }
    t.match(await service.post('items', body), { status: 504, json: { error: { code: 'QUERY_TIMEOUT' } } }, name)
    proxy.onStatement = () => undefined
    proxy.delay = 0
    t.equal(
      (await service.post('items', { verb: 'select', filters: { id: 1 } })).status, 200,
      `${name}: the connection can be used`
    )
  }
  t.same(await service.sql("select count(*) as n from items where sku = 'late'"), [{ n: 0 }], 'the write was not sent')
})

// At READ COMMITTED, rows that match the filters of an update can come between its statements.

const QUEUE = {
  sqlite: ["create table jobs (id integer primary key, state varchar(10) not null default 'new', worker int)"],
  mysql: ["create table jobs (id int not null auto_increment primary key, state varchar(10) not null default 'new', " +
    'worker int, key state (state))']
}
const WORKERS = 4
const JOBS = 120

await onEachEngine(t, 'each row that an update or delete returns is one that it wrote, while others ' +
  'insert rows that match', { schema: QUEUE, options: { limits: { changed: 1000 } } }, async (t, { post, sql }) => {
  const refused: string[] = []
  const taken: number[] = []
  let open = WORKERS
  const insert = async (): Promise<void> => {
    for (let job = 0; job < JOBS / WORKERS; job++) {
      const { status } = await post('jobs', { verb: 'insert', data: {} })
      if (status !== 200) job--
    }
    open--
  }
  const work = async (worker: number, remove: boolean): Promise<void> => {
    for (let isLast = false; !isLast;) {
      isLast = open === 0
      const filters = { state: 'new' }
      const { status, json } = await post('jobs', remove
        ? { verb: 'delete', filters, returning: ['id'] }
        : { verb: 'update', filters, data: { state: 'taken', worker }, returning: ['id'] })
      if (status === 200) taken.push(...json.data.rows.map(({ id }: { id: number }) => id))
      else refused.push(`${remove ? 'delete' : 'update'}: ${json.error.code}`)
      if (status === 200) t.equal(json.data[remove ? 'deleted' : 'updated'], json.data.rows.length)
      else isLast = false
    }
  }
  await Promise.all([
    ...Array.from({ length: WORKERS }, insert),
    ...Array.from({ length: WORKERS }, (_, worker) => work(worker, worker % 2 === 1))
  ])
  t.same(taken.toSorted((a, b) => a - b), [...new Set(taken)].toSorted((a, b) => a - b), 'no row is returned twice')
  t.equal(taken.length, JOBS, 'every row is returned once')
  t.same(refused, [], 'rows that come in between refuse no request')
  t.same(await sql("select count(*) as n from jobs where state = 'new'"), [{ n: 0 }])
})
