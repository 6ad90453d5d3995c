/** Imports without HTTP: of bytes, texts and objects. */
import t from 'tap'
import { onEachEngine, sharedOnEachEngine } from '../support/service.ts'

const schema = {
  mysql: ['create table items (id int auto_increment primary key, sku varchar(20) not null unique, n bigint, at ' +
    'datetime) engine=innodb'],
  sqlite: [
    'create table items (id integer primary key autoincrement, sku varchar(20) not null unique, n bigint, at datetime)'
  ]
}
const grant = { permissions: ['insert' as const, 'update' as const] }
const to = { database: 'shop', table: 'items', grant }
const test = sharedOnEachEngine(t, { schema })

await test('rows.load inserts bytes, texts and objects, and reads no ' +
  'further after an error', async (t, { server: { rows }, sql }) => {
  t.strictSame(await rows.load({ ...to, format: 'csv' }, ['sku,n\na,', Buffer.from('9007199254740993\n')]), {
    inserted: 1, updated: 0, unchanged: 0
  })
  async function * objects (): AsyncGenerator<object> {
    yield { sku: 'a', n: 9007199254740993n }
    yield { sku: 'b', n: null }
  }
  t.strictSame(await rows.load({ ...to, onConflict: ['sku'], set: ['n'] }, objects()), {
    inserted: 1, updated: 0, unchanged: 1
  })
  t.strictSame(await rows.load({ ...to, dryRun: true }, [{ sku: 'c' }]), {
    inserted: 1, updated: 0, unchanged: 0, dryRun: true
  })
  t.equal((await sql('select sku from items')).length, 2)

  let given = 0
  let isClosed = false
  function * endless (): Generator<object> {
    try {
      for (;;) yield { sku: `s${given === 1500 ? 0 : given}`, n: given++ }
    } finally {
      isClosed = true
    }
  }
  await t.rejects(rows.load({ ...to, transaction: 'batch' }, endless()), {
    code: 'UNIQUE_VIOLATION', committed: { rows: 1000, line: 1000 }, details: [{ path: '/data/1500/sku', line: 1501 }]
  })
  t.ok(given < 100_000)
  await t.resolves(new Promise((resolve) => setImmediate(resolve)))
  t.ok(isClosed, 'the source was left')
  async function * failing (): AsyncGenerator<object> {
    yield { sku: 'never' }
    throw new TypeError('of the app')
  }
  await t.rejects(rows.load(to, failing()), { message: 'of the app' })
  t.strictSame(await sql("select sku from items where sku = 'never'"), [])
  await t.rejects(rows.load({ ...to, dryrun: true } as never, []), { code: 'INVALID_BODY' })
  await t.rejects(rows.load({ ...to, grant: { permissions: ['select'] } }, []), { code: 'PERMISSION_DENIED' })
})

await test('within a transaction it is a part of that, and its refusal ' +
  'undoes its rows alone', async (t, { server: { rows }, sql }) => {
  const within = { table: 'items', grant }
  const read = async (): Promise<string[]> => (await sql('select sku from items order by id')).map(({ sku }) => sku)
  const result = await rows.transaction('shop', async (tx) => {
    await tx.execute({ ...within, body: { verb: 'insert', data: { sku: 'first' } } })
    await t.rejects(tx.load({ ...within, format: 'csv' }, ['sku\na\nfirst\n']), {
      code: 'UNIQUE_VIOLATION', committed: undefined, details: [{ path: '/data/1/sku', line: 3 }]
    })
    const loading = tx.load({ ...within, onConflict: ['sku'], transaction: 'whole' }, [
      { sku: 'b', n: 1 }, { sku: 'first', n: 2 }
    ])
    await tx.execute({ ...within, body: { verb: 'insert', data: { sku: 'after' } } })
    return await loading
  })
  t.strictSame(result, { inserted: 1, updated: 1, unchanged: 0 })
  t.strictSame(await read(), ['first', 'b', 'after'], 'other requests wait until it has ended')
  await t.rejects(rows.transaction('shop', async (tx) => {
    await tx.load(within, [{ sku: 'gone' }])
    throw new Error('of the app')
  }), { message: 'of the app' })
  for (const [given, message] of [
    [{ transaction: 'batch' }, /in a transaction/], [{ dryRun: true }, /in a transaction/],
    [{ database: 'shop' }, /"database" is not an option/]
  ] as const) {
    await rows.transaction('shop', async (tx) => {
      await t.rejects(tx.load({ ...within, ...given } as never, [{ sku: 'x' }]), { code: 'INVALID_BODY', message })
    })
  }
  t.strictSame(await read(), ['first', 'b', 'after'])
})

await onEachEngine(t, 'a hook for writes may import in its transaction, and is not called for that', {
  schema: {
    mysql: [...schema.mysql, 'create table log (id int auto_increment primary key, sku varchar(20)) engine=innodb'],
    sqlite: [...schema.sqlite, 'create table log (id integer primary key autoincrement, sku varchar(20))']
  },
  options: {
    onWrite: async ({ tx, data }: {
      tx: { load: (request: object, source: object[]) => Promise<unknown> }, data: Array<{ sku: string }>
    }) => {
      await tx.load({ table: 'log', grant: { permissions: ['insert'] } }, data.map(({ sku }) => ({ sku })))
      if (data.length > 2) await tx.load({ table: 'log', grant: { permissions: ['insert'] } }, [{ nope: 1 }])
    }
  } as never
}, async (t, { server: { rows }, post, sql }) => {
  t.match(await post('items', { verb: 'insert', data: [{ sku: 'a' }, { sku: 'b' }] }), { status: 200 })
  t.match(await post('items', { verb: 'insert', data: [{ sku: 'c' }, { sku: 'd' }, { sku: 'e' }] }), {
    status: 422, json: { error: { code: 'WRITE_REFUSED' } }
  })
  t.strictSame((await sql('select sku from log order by id')).map(({ sku }) => sku), ['a', 'b'])
  await t.rejects(rows.load(to, [{ sku: 'z' }]), { code: 'NOT_SUPPORTED' })
  await t.rejects(rows.transaction('shop', (tx) => tx.load({ table: 'items', grant }, [{ sku: 'z' }])), {
    code: 'NOT_SUPPORTED'
  })
})
