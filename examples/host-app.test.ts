// Tests of an app: each has its own database in memory, and needs no server. Run: node --test examples/host-app.test.ts
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createToken, hashToken } from 'fastify-row-query'
import { buildApp } from './host-app.ts'

const token = createToken()

// SQLite keeps the names of MySQL's types, from which the service knows that `total` is a decimal.
const setup = [
  "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, status VARCHAR(12) NOT NULL DEFAULT 'new', total DECIMAL(12,2) NOT NULL)",
  "INSERT INTO orders (status, total) VALUES ('new', '10.10'), ('new', '20.20'), ('paid', '5.00')"
]

function startApp (t: TestContext) {
  const app = buildApp({
    databases: { shop: { url: 'sqlite::memory:', setup } },
    tokens: [{ name: 'test', sha256: hashToken(token), permissions: ['select', 'insert'] }]
  })
  t.after(() => app.close())
  return app
}

test('open orders are added up', async (t) => {
  const answer = await startApp(t).inject('/open-orders')
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(answer.json(), { orders: 2, total: '30.30' })
})

test('an inserted order is open', async (t) => {
  const app = startApp(t)
  const inserted = await app.inject({
    method: 'POST',
    url: '/api/shop/orders',
    headers: { authorization: `Bearer ${token}` },
    payload: { verb: 'insert', data: { total: '0.05' } }
  })
  assert.deepEqual(inserted.json(), { success: true, data: { inserted: 1, id: 4 } })
  const answer = await app.inject('/open-orders')
  assert.deepEqual(answer.json(), { orders: 3, total: '30.35' })
})
