/** `load` of the client: imports on a connection. */
import t from 'tap'
import type { AddressInfo } from 'node:net'
import { createClient, RowQueryError } from '../../src/client/index.ts'
import { countItems, itemsOf } from '../support/load.ts'
import { sharedOnEachEngine, TOKEN, type Service } from '../support/service.ts'

const test = sharedOnEachEngine(t, { schema: itemsOf('n bigint') })

async function connect ({ server: { app } }: Service) {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 })
  return createClient({
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api`, token: TOKEN, idempotencyKeys: true
  }).database('shop')
}

await test('load sends bytes, texts and objects, with the options of an import', async (t, service) => {
  const db = await connect(service)
  t.strictSame(await db.load('items', [
    'sku;n\na', new TextEncoder().encode(';9007199254740993\n'), '', 'b;\n'
  ], { format: 'csv', separator: ';' }), { inserted: 2, updated: 0, unchanged: 0 })
  async function * objects (): AsyncGenerator<object> {
    yield { sku: 'a', n: 9007199254740995n }
    yield { sku: 'c' }
  }
  t.strictSame(await db.load('items', objects(), { onConflict: ['sku'], set: ['n'], transaction: 'batch' }), {
    inserted: 1, updated: 1, unchanged: 0
  })
  t.strictSame(await db.load('items', [{ sku: 'd' }], { dryRun: true }), {
    inserted: 1, updated: 0, unchanged: 0, dryRun: true
  })
  t.strictSame((await service.sql(
    "select cast(n as char) as n from items where sku in ('a', 'c') order by sku"
  )).map(({ n }) => n), ['9007199254740995', null])
})

await test('a refusal says what is committed, and the source is left', async (t, service) => {
  const db = await connect(service)
  let isClosed = false
  let given = 0
  function * endless (): Generator<object> {
    try {
      for (;;) yield { sku: given === 1500 ? 'old' : `s${given}`, n: given++ }
    } finally {
      isClosed = true
    }
  }
  const error = await db.load('items', endless(), { transaction: 'batch' }).catch((reason: unknown) => reason)
  t.ok(error instanceof RowQueryError)
  t.match(error, {
    code: 'UNIQUE_VIOLATION',
    status: 409,
    committed: { rows: 1000, line: 1000 },
    details: [{ path: '/data/1500/sku', line: 1501 }]
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(isClosed, 'the source was left')
  t.equal(await countItems(service), 1001)
})

await test('what the source throws is the error, and nothing is written', async (t, service) => {
  const db = await connect(service)
  async function * failing (): AsyncGenerator<unknown> {
    yield { sku: 'never' }
    throw new TypeError('of the app')
  }
  await t.rejects(db.load('items', failing()), { message: 'of the app' })
  await t.rejects(db.load('items', [{ sku: 'x', n: Number.NaN }]), { code: 'INVALID_BODY' })
  t.equal(await countItems(service), 1)
})
