/** Requests in a transaction of a host app that are refused: the transaction is as it was before them, and goes on. */
import t from 'tap'
import { MAX_WAITING } from '../../src/dialects/transaction-commands.ts'
import type { GrantOptions, InProcessTransaction, OnWrite } from '../../src/index.ts'
import { sharedWithHook } from '../support/hooks.ts'
import { errorPacket, type Proxy } from '../support/recorder.ts'
import { onEachEngine, type EngineName, type Service, sharedOnEachEngine } from '../support/service.ts'

const grant: GrantOptions = { permissions: ['select', 'insert', 'update', 'delete'] }
/** It sees the groups of tenant 1, and items whose computed column is at most 10. */
const narrow: GrantOptions = {
  ...grant, databases: { shop: { groups_: { rows: { tenant: 1 } }, items: { rows: { doubled: { $lte: 10 } } } } }
}

const tables = (engine: EngineName): string[] => [
  'create table groups_ (id int not null primary key, tenant int not null)',
  'insert into groups_ values (1, 1), (2, 2)',
  `create table items (id int not null primary key, name varchar(20) not null unique, n int not null,
    group_id int null, doubled int generated always as (n * 2) stored,
    foreign key (group_id) references groups_ (id), check (n >= 0))`,
  "insert into items (id, name, n) values (1, 'a', 1), (2, 'b', 1), (3, 'c', 1), (4, 'd', 2)",
  ...engine === 'sqlite'
    ? []
    : [
        'create table kept (id int not null primary key, n int null unique) engine = MyISAM',
        'insert into kept values (1, 1)'
      ]
]

type Item = Readonly<Record<'id' | 'n', number> & { name: string }>
const select = { table: 'items', body: { verb: 'select', columns: ['id', 'name', 'n'], orderBy: 'id' }, grant }
const itemsIn = async (tx: InProcessTransaction): Promise<Item[]> => (await tx.execute(select)).rows
const stored = async ({ sql }: Pick<Service, 'sql'>): Promise<Item[]> =>
  (await sql('select id, name, n from items order by id')).map((row) => ({ ...row }))
const insert = (id: number, more = {}) => ({ verb: 'insert', data: { id, name: `new ${id}`, n: 1, ...more } })

const servers: readonly EngineName[] = ['mariadb', 'mysql']
const test = sharedOnEachEngine(t, { schema: tables })

const refused: Array<[why: string, code: string, body: object, grant?: GrantOptions]> = [
  ['too few rows', 'EXPECTATION_FAILED', { verb: 'delete', filters: { n: 1 }, expect: { $gte: 4 } }],
  ['too many rows', 'EXPECTATION_FAILED', { verb: 'delete', filters: { n: 1 }, expect: 2 }],
  ['too many rows to return', 'EXPECTATION_FAILED', {
    verb: 'update', data: { n: 7 }, filters: { n: 1 }, expect: 2, returning: ['id']
  }],
  ['more rows than may be changed', 'RESULT_TOO_LARGE', {
    verb: 'update', data: { n: 9 }, filters: { id: { $gte: 0 } }
  }],
  ['the last row of a list', 'UNIQUE_VIOLATION', {
    verb: 'insert', data: [insert(50).data, insert(51).data, { id: 52, name: 'a', n: 1 }]
  }],
  ['the last row of a list that is returned', 'CHECK_VIOLATION', {
    verb: 'insert', data: [insert(50).data, { id: 51, name: 'x', n: -1 }], returning: '*'
  }],
  ['the last row of an upsert list', 'UNIQUE_VIOLATION', {
    verb: 'insert',
    data: [{ id: 1, name: 'a', n: 8 }, { id: 2, name: 'x', n: 8 }],
    onConflict: { key: ['name'], set: ['n'] }
  }],
  ['a row that the grant does not see', 'FOREIGN_KEY_VIOLATION', insert(50, { group_id: 2 }), narrow],
  ['a value that the database computes', 'PERMISSION_DENIED', insert(50, { n: 6 }), narrow],
  ['such a value in an update', 'PERMISSION_DENIED', { verb: 'update', data: { n: 6 }, filters: { id: 1 } }, narrow]
]

await onEachEngine(t, 'a request that is refused after it has written leaves nothing in the transaction that ' +
  'catches the error', { schema: tables, options: { limits: { changed: 3 } } }, async (t, service) => {
  const { server: { rows } } = service
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: insert(10, { n: 3 }), grant })
    const before = await itemsIn(tx)
    t.equal(before.length, 5)
    for (const [why, code, body, granted = grant] of refused) {
      await t.rejects(tx.execute({ table: 'items', body, grant: granted }), { code }, why)
      t.same(await itemsIn(tx), before, why)
    }
    await tx.execute({ table: 'items', body: insert(11), grant })
  })
  t.same((await stored(service)).map(({ id, n }) => [id, n]), [[1, 1], [2, 1], [3, 1], [4, 2], [10, 3], [11, 1]])
})

await test('requests that the function sends at the same time are undone one by one', async (t, service) => {
  const { server: { rows } } = service
  await rows.transaction('shop', async (tx) => {
    const outcomes = await Promise.allSettled([
      tx.execute({ table: 'items', body: insert(10), grant }),
      tx.execute({
        table: 'items', body: { verb: 'insert', data: [insert(11).data, { id: 12, name: 'a', n: 1 }] }, grant
      }),
      tx.execute({
        table: 'items', body: { verb: 'insert', data: [insert(13).data, insert(14).data], returning: ['id'] }, grant
      }),
      tx.execute({ table: 'items', body: { verb: 'delete', filters: { id: { $gte: 0 } }, expect: 1 }, grant })
    ])
    t.same(outcomes.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled', 'rejected'])
  })
  t.same((await stored(service)).map(({ id }) => id), [1, 2, 3, 4, 10, 13, 14])
  await rows.transaction('shop', async (tx) => {
    tx.execute({
      table: 'items', body: { verb: 'insert', data: [insert(15).data, insert(16).data], returning: ['id'] }, grant
    }).catch(() => {})
  })
  t.equal((await stored(service)).length, 9, 'one that is not awaited is committed as a whole')
})

/** A trigger writes another tenant than the request. SQLite's BEFORE triggers cannot change the row. */
const moving = (engine: EngineName): string[] => [
  'create table tenants (id int not null primary key, tenant int not null)',
  engine === 'sqlite'
    ? 'create trigger moves after insert on tenants when new.id > 9 begin update tenants set tenant = 2 ' +
      'where id = new.id; end'
    : 'create trigger moves before insert on tenants for each row set new.tenant = if(new.id > 9, 2, new.tenant)'
]

await onEachEngine(t, 'a row that a trigger moves out of the rules is not there ' +
  'after the refusal', { schema: moving }, async (t, { server: { rows }, sql }) => {
  const ofOne: GrantOptions = {
    permissions: ['select', 'insert'], databases: { shop: { tenants: { rows: { tenant: 1 } } } }
  }
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'tenants', body: { verb: 'insert', data: { id: 1 } }, grant: ofOne })
    await t.rejects(tx.execute({ table: 'tenants', body: { verb: 'insert', data: { id: 10 } }, grant: ofOne }), {
      code: 'PERMISSION_DENIED'
    })
    await t.rejects(
      tx.execute({ table: 'tenants', body: { verb: 'insert', data: [{ id: 2 }, { id: 11 }] }, grant: ofOne }),
      { code: 'PERMISSION_DENIED' }
    )
  })
  t.match(await sql('select id, tenant from tenants'), [{ id: 1, tenant: 1 }])
})

await onEachEngine(t, 'rows that SQLite has changed before a trigger raises FAIL are not there after the refusal', {
  schema: () => [
    'create table few (id integer primary key, n int not null)', 'insert into few values (1, 0), (2, 0), (3, 0)',
    "create trigger fails after update on few when new.id = 3 begin select raise(fail, 'no'); end"
  ],
  only: ['sqlite']
}, async (t, { server: { rows }, sql }) => {
  await rows.transaction('shop', async (tx) => {
    await t.rejects(
      tx.execute({ table: 'few', body: { verb: 'update', data: { n: 1 }, filters: { id: { $gte: 0 } } }, grant }),
      { code: 'CHECK_VIOLATION' }
    )
    await tx.execute({ table: 'few', body: { verb: 'insert', data: { id: 4, n: 4 } }, grant })
  })
  t.same((await sql('select n from few order by id')).map(({ n }) => n), [0, 0, 0, 4])
})

const testWithHook = sharedWithHook(t, { schema: tables })

await testWithHook('a write that the hook refuses leaves nothing in the transaction that ' +
  'catches the error', async ({ data, tx }) => {
  const { id } = data as { id: number }
  await tx.execute({ table: 'items', body: insert(id + 100), grant })
  if (id === 10) throw new Error('not this one')
  if (id === 11) {
    await tx.execute({
      table: 'items', body: { verb: 'insert', data: [insert(500).data, { id: 501, name: 'a', n: 1 }] }, grant
    }).catch(() => {})
  }
}, async (t, service) => {
  const { server: { rows }, post } = service
  const ids = async (): Promise<number[]> => (await stored(service)).map(({ id }) => id)
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: insert(9), grant })
    await t.rejects(tx.execute({ table: 'items', body: insert(10), grant }), { code: 'WRITE_REFUSED' })
    await tx.execute({ table: 'items', body: insert(11), grant })
  })
  t.same(await ids(), [1, 2, 3, 4, 9, 11, 109, 111], 'what the hook has written is undone with it')
  t.equal(
    (await post('items', { verb: 'delete', filters: { id: { $in: [9, 11, 109, 111] } } })).status, 422,
    'a delete has no data'
  )
  t.equal((await post('items', insert(11, { name: 'over HTTP' }))).status, 409)
  t.equal((await post('items', insert(10, { id: 20, name: 'over HTTP' }))).status, 200)
  t.same(await ids(), [1, 2, 3, 4, 9, 11, 20, 109, 111, 120])
})

await testWithHook('a hook that catches an error over HTTP commits nothing of the ' +
  'request that was refused', async ({ tx }) => {
  await tx.execute({ table: 'items', body: { verb: 'delete', filters: { id: { $lte: 4 } }, expect: 2 }, grant }).catch(
    () => {}
  )
  await tx.execute({
    table: 'items', body: { verb: 'insert', data: [insert(50).data, { id: 51, name: 'a', n: 1 }] }, grant
  }).catch(() => {})
}, async (t, service) => {
  const { post, operate } = service
  t.equal((await post('items', insert(10))).status, 200)
  t.equal((await operate([{ table: 'items', ...insert(11) }, { table: 'items', ...insert(12) }])).status, 200)
  t.same((await stored(service)).map(({ id }) => id), [1, 2, 3, 4, 10, 11, 12])
})

let late: Parameters<OnWrite>[0]['tx'] | undefined

await testWithHook('what a hook does not wait for belongs to its write, and nothing runs after it', ({ tx, data }) => {
  late = tx
  const { id } = data as { id: number }
  tx.execute({
    table: 'items',
    body: { verb: 'insert', data: [insert(id + 100).data, insert(id + 200).data], returning: ['id'] },
    grant
  }).catch(() => {})
  if (id === 11) throw new Error('refused')
}, async (t, service) => {
  const { server: { rows } } = service
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: insert(10), grant })
    await t.rejects(tx.execute({ table: 'items', body: insert(11), grant }), { code: 'WRITE_REFUSED' })
    await t.rejects((late as typeof tx).execute({ table: 'items', body: insert(12), grant }), /has ended/)
  })
  t.same((await stored(service)).map(({ id }) => id), [1, 2, 3, 4, 10, 110, 210])
})

await test('a select in a transaction may lock its rows, and a dry run is of the whole', async (t, service) => {
  const { server: { rows }, engine, statements, sql } = service
  const lock = { verb: 'select', filters: { id: 1 }, lock: true }
  await rows.transaction('shop', async (tx) => {
    statements()
    t.match(await tx.execute({ table: 'items', body: lock, grant }), { count: 1 })
    if (engine !== 'sqlite') t.match(statements().join(), /for update/)
    t.match(await tx.execute({ table: 'items', body: { ...lock, lock: false }, grant }), { count: 1 })
    for (const dryRun of [true, false]) {
      await t.rejects(
        tx.execute({ table: 'items', body: { ...insert(10), dryRun }, grant }),
        { code: 'INVALID_BODY', details: [{ path: '/dryRun' }] }
      )
    }
    await t.rejects(tx.execute({ table: 'items', body: lock, grant: { permissions: ['select'] } }), {
      code: 'PERMISSION_DENIED', details: [{ path: '/lock' }]
    })
    await t.rejects(tx.execute({ table: 'items', body: { ...insert(10), lock: true }, grant }), {
      code: 'INVALID_BODY', details: [{ path: '/lock' }]
    })
    await t.rejects(tx.execute({ table: 'items', body: { ...lock, lock: 1 }, grant }), {
      code: 'INVALID_BODY', details: [{ path: '/lock' }]
    })
    await t.rejects(
      tx.execute({ table: 'items', body: { verb: 'select', aggregates: { n: { $count: '*' } }, lock: true }, grant }),
      { code: 'INVALID_BODY', details: [{ path: '/lock' }] }
    )
    if (engine !== 'sqlite') {
      await t.rejects(
        tx.execute({ table: 'kept', body: { verb: 'select', lock: true }, grant }), { code: 'NOT_SUPPORTED' }
      )
    }
  })
  await t.rejects(rows.execute({ database: 'shop', table: 'items', body: lock as { verb: 'select' }, grant }), {
    code: 'INVALID_BODY'
  })
  t.equal((await sql('select id from items')).length, 4)
})

await testWithHook('what cannot be undone in a table without transactions is reported and ends the transaction', (
  { data }
) => { if ((data as { n?: number }).n === 5) throw new Error('refused') }, async (t, service) => {
  const { server: { rows }, sql } = service
  await t.rejects(rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: insert(10), grant })
    await t.rejects(tx.execute({ table: 'kept', body: { verb: 'insert', data: { id: 2, n: 5 } }, grant }), {
      code: 'OUTCOME_UNKNOWN'
    })
    await t.rejects(tx.execute({ table: 'items', body: insert(11), grant }), { code: 'OUTCOME_UNKNOWN' })
  }), { code: 'OUTCOME_UNKNOWN' })
  t.equal((await stored(service)).length, 4)
  t.match(await sql('select id from kept'), [{ id: 1 }, { id: 2 }])
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'kept', body: { verb: 'insert', data: { id: 3, n: 3 } }, grant })
    await t.rejects(
      tx.execute({ table: 'items', body: { verb: 'delete', filters: { n: 1 }, expect: 1 }, grant }),
      { code: 'EXPECTATION_FAILED' }, 'written before by another request'
    )
    await t.rejects(
      tx.execute({ table: 'kept', body: { verb: 'delete', filters: { id: { $gte: 0 } }, expect: 1 }, grant }),
      { code: 'EXPECTATION_FAILED' }, 'found out before the write'
    )
    await tx.execute({ table: 'items', body: insert(10), grant })
  })
  t.equal((await stored(service)).length, 5)
}, servers)

await test('a statement that the server refuses for other reasons does not end the transaction', async (t, service) => {
  const { server: { rows }, proxy } = service as Service & { proxy: Proxy }
  const fail = (start: string, number: number): void => {
    proxy.onStatement = (sql) => {
      if (!sql.startsWith(start)) return undefined
      proxy.onStatement = () => undefined
      return errorPacket(number, '42000')
    }
  }
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: insert(10), grant })
    for (const [number, code] of [[1142, 'PERMISSION_DENIED'], [1235, 'NOT_SUPPORTED']] as const) {
      fail('delete', number)
      await t.rejects(tx.execute({ table: 'items', body: { verb: 'delete', filters: { id: 1 } }, grant }), { code })
      fail('update', number)
      await t.rejects(tx.execute({
        table: 'items', body: { verb: 'update', data: { n: 4 }, filters: { id: 1 }, returning: ['id'] }, grant
      }), { code })
    }
    await tx.execute({ table: 'items', body: insert(11), grant })
  })
  t.equal((await stored(service)).length, 6)
  await t.rejects(rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'items', body: insert(12), grant })
    fail('rollback to', 1305)
    await t.rejects(tx.execute({ table: 'items', body: { verb: 'delete', filters: { n: 1 }, expect: 1 }, grant }), {
      code: 'DATABASE_UNAVAILABLE'
    })
    await t.rejects(tx.execute({ table: 'items', body: insert(13), grant }), { code: 'DATABASE_UNAVAILABLE' })
  }), { code: 'DATABASE_UNAVAILABLE' }, 'unless the request cannot be undone')
  t.equal((await stored(service)).length, 6)
}, servers)

const places = (): string[] => [
  'create table places (id int not null primary key, n int not null, g geometry null)',
  "insert into places values (1, 1, x'000000000101000000000000000000F07F0000000000000040')"
]

await onEachEngine(t, 'a value that cannot be read does not ' +
  'end the transaction', { schema: places, only: ['mariadb'] }, async (t, service) => {
  const { server: { rows }, sql } = service
  await rows.transaction('shop', async (tx) => {
    await t.rejects(tx.execute({ table: 'places', body: { verb: 'select' }, grant }), { code: 'UNREADABLE_VALUE' })
    await t.rejects(tx.execute({
      table: 'places', body: { verb: 'update', data: { n: 2 }, filters: { id: 1 }, returning: '*' }, grant
    }), { code: 'UNREADABLE_VALUE' })
    await tx.execute({ table: 'places', body: { verb: 'insert', data: { id: 2, n: 2 } }, grant })
  })
  t.match(await sql('select id, n from places order by id'), [{ id: 1, n: 1 }, { id: 2, n: 2 }])
})

await test('requests that wait for others in a transaction are limited', async (t, { server: { rows } }) => {
  await rows.transaction('shop', async (tx) => {
    const outcomes = await Promise.allSettled(Array.from({ length: MAX_WAITING + 3 }, () => itemsIn(tx)))
    t.same(
      outcomes.flatMap((outcome) => outcome.status === 'rejected' ? [(outcome.reason as { code: string }).code] : []),
      ['OVERLOADED', 'OVERLOADED']
    )
  })
}, ['sqlite'])

await test('a plain request in a transaction is one statement', async (t, { server: { rows }, statements }) => {
  await rows.transaction('shop', async (tx) => {
    statements()
    await tx.execute({ table: 'items', body: insert(10), grant })
    await tx.execute({ table: 'items', body: { verb: 'update', data: { n: 4 }, filters: { id: 1 } }, grant })
    await tx.execute({ table: 'items', body: { verb: 'delete', filters: { id: 2 } }, grant })
    await itemsIn(tx)
    t.equal(statements().length, 4)
  })
}, servers)

await test('a dry run does not write a table without transactions', async (t, { server: { rows }, sql }) => {
  const run = rows.transaction('shop', async (tx) =>
    await tx.execute({ table: 'kept', body: { verb: 'insert', data: { id: 2, n: 2 } }, grant }), { dryRun: true })
  await t.rejects(run, { code: 'NOT_SUPPORTED' })
  t.match(await sql('select id from kept'), [{ id: 1 }])
}, servers)

await onEachEngine(t, 'a transaction that has written a table without transactions does not run again after its ' +
  'tables have changed', { schema: tables, only: ['mariadb', 'mysql'] }, async (t, { server: { rows }, sql }) => {
  let runs = 0
  const run = rows.transaction('shop', async (tx) => {
    runs++
    await tx.execute({ table: 'kept', body: { verb: 'insert', data: { id: 10 + runs, n: 10 + runs } }, grant })
    await sql('alter table groups_ drop column tenant')
    await tx.execute({ table: 'groups_', body: { verb: 'select' }, grant })
  })
  await t.rejects(run, { code: 'OUTCOME_UNKNOWN' })
  t.equal(runs, 1)
  t.match(await sql('select id from kept order by id'), [{ id: 1 }, { id: 11 }])
})

await test('the outcome of a transaction that wrote a table without transactions and lost its ' +
  'connection is unknown', async (t, service) => {
  const { server: { rows }, sql, proxy } = service
  const run = rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'kept', body: { verb: 'insert', data: { id: 20, n: 20 } }, grant })
    proxy?.cut()
    await tx.execute({ table: 'items', body: { verb: 'select' }, grant })
  })
  await t.rejects(run, { code: 'OUTCOME_UNKNOWN' })
  t.match(await sql('select id from kept where id = 20'), [{ id: 20 }])
  await t.rejects(rows.transaction('shop', async (tx) => {
    await itemsIn(tx)
    proxy?.cut()
    await itemsIn(tx)
  }), { code: 'DATABASE_UNAVAILABLE' }, 'other transactions are undone')
}, servers)
