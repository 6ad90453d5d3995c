/** The client with the service: every method, exact numbers and repeated writes, on each engine. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createClient } from '../../src/client/index.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine, TOKEN, type Schema } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const mine = [
  'create table numbers (id bigint not null primary key, j json null)',
  'create table things (id integer not null primary key, name varchar(20) null, n int null)'
]
const schema: Schema = (engine) => engine === 'sqlite'
  ? [...shop.sqlite, ...mine, ...CREATE.sqlite.split(';').map((sql) => sql.trim()).filter((sql) => sql !== '')]
  : [...shop.mysql, ...mine, CREATE.mysql]

/** What happens to a request on its way. `lose`: the service answers it, and the connection ends instead. */
type Fate = 'pass' | 'lose' | 'refuse' | 'html'

/** A proxy before the service, which treats each request as the list says and passes the ones after that. */
async function startProxy (t: Test, address: string, fates: Fate[]): Promise<string> {
  const { hostname, port } = new URL(address)
  const server = createServer((incoming, outgoing) => {
    const fate = fates.shift() ?? 'pass'
    if (fate === 'refuse') return incoming.socket.destroy()
    if (fate === 'html') {
      return outgoing.writeHead(503, { 'content-type': 'text/html', 'retry-after': '0' }).end(
        '<html>'
      )
    }
    incoming.pipe(request({
      hostname, port, method: 'POST', path: incoming.url, headers: incoming.headers
    }, (answer) => {
      if (fate === 'lose') answer.resume().on('end', () => incoming.socket.destroy())
      else answer.pipe(outgoing.writeHead(answer.statusCode as number, answer.headers))
    }))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

await onEachEngine(t, 'the client', { schema, only: await anyEngine(t) }, async (t, { server, sql }) => {
  const address = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const url = `${address}/api`
  const db = createClient({ url, token: TOKEN }).database('shop')
  const fates: Fate[] = []
  const proxied = createClient({
    url: `${await startProxy(t, address, fates)}/api`, token: TOKEN, idempotencyKeys: true
  }).database('shop')

  await t.test('selects rows, groups, pages and totals', async (t) => {
    t.same(await db.select('customers', {
      columns: ['id', 'name'], filters: { status: 'new' }, orderBy: 'id DESC', limit: 1
    }), { rows: [{ id: 2, name: 'Grace' }], count: 1 })
    t.match(
      await db.select('customers', { columns: ['id'], orderBy: [{ id: 'ASC' }], limit: 2, after: null, total: true }),
      { count: 2, next: { id: 2 }, total: 4 }
    )
    t.match(await db.select('customers', { offset: 3, total: 2, expect: 1 }), { count: 1, next: null, total: 2 })
    t.same((await db.select('customers', {
      groupBy: ['status'],
      aggregates: { n: { $count: '*' }, sum: { $sum: 'credit' } },
      having: { n: { $gt: 1 } },
      orderBy: 'status'
    })).rows, [
      { status: 'new', n: 2, sum: '13.49' }, { status: 'old', n: 2, sum: '999997.01' }
    ])
    t.equal((await db.select('orders')).count, 2)
    const ids: unknown[] = []
    for await (const { id } of db.pages('customers', {
      orderBy: 'status DESC', limit: 3, columns: ['id'], filters: { id: { $gt: 1 } }
    })) ids.push(id)
    t.same(ids, [4, 3, 2])
    t.same(
      await Array.fromAsync(db.pages('customers', { after: { id: 3 }, columns: ['name'] }, { consistency: 'primary' })),
      [{ name: 'Zoë' }]
    )
  })

  await t.test('inserts, updates and deletes', async (t) => {
    t.same(await db.insert('things', { data: { id: 1, name: 'a' } }), { inserted: 1, id: 1 })
    t.same(await db.insert('things', {
      data: [{ id: 1, n: 5 }, { id: 2, n: 6 }], onConflict: { key: ['id'], set: ['n'] }, returning: ['id', 'n']
    }),
    { inserted: 1, updated: 1, unchanged: 0, id: null, rows: [{ id: 1, n: 5 }, { id: 2, n: 6 }] })
    t.same(await db.update('things', {
      data: { n: { $inc: 2n } }, filters: { id: [1, 2] }, expect: { $lte: 2 }, dryRun: true
    }), { updated: 2, dryRun: true })
    t.same(await db.update('things', { data: { n: { $inc: 2n } }, filters: { id: 1 }, expect: 1, returning: '*' }), {
      updated: 1, rows: [{ id: 1, name: 'a', n: 7 }]
    })
    t.same(await db.delete('things', { filters: { $is: { id: 1, name: 'a', n: 7 } }, returning: ['n'] }), {
      deleted: 1, rows: [{ n: 7 }]
    })
    t.same(await db.transaction([
      { table: 'things', verb: 'insert', data: { id: 3 } },
      { table: 'things', verb: 'insert', data: { id: 4, n: { $ref: '/0/id' } } },
      { table: 'things', verb: 'select', filters: { n: { $gte: { $ref: '/0/id' } } }, columns: ['id'], lock: true }
    ], { isolation: 'serializable' }), {
      results: [{ inserted: 1, id: 3 }, { inserted: 1, id: 4 }, { rows: [{ id: 2 }, { id: 4 }], count: 2 }]
    })
    t.same(await db.transaction([{ table: 'things', verb: 'delete', filters: { id: { $gt: 0 } } }], { dryRun: true }), {
      results: [{ deleted: 3 }], dryRun: true
    })
    t.equal((await db.select('things')).count, 3)
  })

  await t.test('reads and writes integers of 64 bits, also in JSON', async (t) => {
    const rows = [{
      id: 9223372036854775807n,
      j: {
        big: 9007199254740993n, list: [18446744073709551615n, 1.5, '9007199254740993'], small: 9007199254740991
      }
    }, { id: -9007199254740993n, j: null }]
    await db.insert('numbers', { data: rows })
    t.strictSame((await db.select('numbers', {
      filters: { id: [9223372036854775807n, '-9007199254740993'] }, orderBy: 'id DESC'
    })).rows, rows)
    t.strictSame((await db.select('numbers', { filters: { $is: rows[0] as object } })).count, 1, 'a row finds itself')
    t.strictSame(
      (await db.select('numbers', { orderBy: 'id', after: { id: -9007199254740993n }, columns: ['id'] })).rows,
      [{ id: 9223372036854775807n }]
    )
    t.strictSame(await Array.fromAsync(db.pages('numbers', { limit: 1, columns: ['id'] })), [
      { id: -9007199254740993n }, { id: 9223372036854775807n }
    ])
    t.strictSame((await db.select('numbers', { aggregates: { most: { $max: 'id' }, sum: { $sum: 'id' } } })).rows, [
      { most: 9223372036854775807n, sum: '9214364837600034814' }
    ])
    const strings = createClient({ url, token: TOKEN, numbers: 'string' }).database('shop')
    t.strictSame((await strings.select('numbers', { columns: ['id'], orderBy: 'id' })).rows, [
      { id: '-9007199254740993' }, { id: '9223372036854775807' }
    ])
    t.equal(
      (await Array.fromAsync(strings.pages('numbers', { limit: 1 }))).length, 2, 'a position of strings is one, too'
    )
    t.match(await sql('select count(*) as n from numbers where id = 9223372036854775807'), [{ n: 1 }])
  })

  await t.test('sends a write again with its key, so that it happens once', async (t) => {
    fates.push('lose', 'html', 'refuse')
    t.match(await proxied.insert('orders', { data: { customer_id: 1, note: 'once' } }), { inserted: 1 })
    t.equal(fates.length, 0, 'three attempts have failed')
    t.equal((await db.select('orders', { filters: { note: 'once' } })).count, 1)
    fates.push('lose')
    t.match(await proxied.transaction([{ table: 'orders', verb: 'insert', data: { customer_id: 1, note: 'both' } }]), {
      results: [{ inserted: 1 }]
    })
    t.equal((await db.select('orders', { filters: { note: 'both' } })).count, 1)
    fates.push('lose', 'html')
    t.equal((await proxied.select('orders', { filters: { note: 'both' } })).count, 1, 'reads as well')
    fates.push('lose')
    await t.rejects(proxied.insert('orders', { data: { customer_id: 1, note: 'lost' } }, { retries: 0 }), {
      code: 'NO_ANSWER'
    })
    await t.rejects(proxied.insert('orders', { data: { customer_id: 1 } }, { idempotencyKey: 'a key' }), {
      code: 'INVALID_IDEMPOTENCY_KEY', status: 400
    })
  })

  await t.test('throws what the service refuses', async (t) => {
    await t.rejects(db.select('nowhere'), {
      name: 'RowQueryError', code: 'TABLE_NOT_FOUND', status: 404, requestId: String, details: []
    })
    await t.rejects(db.insert('orders', { data: { customer_id: 'x' } }), {
      code: 'INVALID_VALUE', details: [{ path: '/data/customer_id' }]
    })
    await t.rejects(db.update('orders', { data: { note: 'x' }, filters: {} }), { code: 'FILTERS_REQUIRED' })
    await t.rejects(db.update('orders', { data: { note: 'x' }, filters: { id: 1 }, expect: 5 }), {
      code: 'EXPECTATION_FAILED', status: 412
    })
    await t.rejects(db.transaction([
      { table: 'orders', verb: 'select' }, { table: 'orders', verb: 'insert', data: { id: 1, customer_id: 1 } }
    ]), { code: 'UNIQUE_VIOLATION' })
    await t.rejects(createClient({ url, token: 'wrong' }).database('shop').select('orders'), {
      code: 'UNAUTHENTICATED', status: 401, retryAfter: undefined
    })
    await t.rejects(createClient({ url: address, token: TOKEN }).database('shop').select('orders'), {
      code: 'NOT_FOUND', status: 404
    })
    await t.rejects(createClient({ url, token: TOKEN }).database('other').select('orders'), {
      code: 'DATABASE_NOT_FOUND'
    })
  })
})
