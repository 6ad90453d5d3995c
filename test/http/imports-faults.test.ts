/**
 * Imports that meet deadlocks, lost connections and changes of their table: what is written then, and what the answer
 * says of it.
 */
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { countItems as count, CSV, itemsOf, lines, load } from '../support/load.ts'
import { errorPacket, type Proxy } from '../support/recorder.ts'
import { onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'
import { until } from '../support/until.ts'

const schema = itemsOf('n int')
const servers = ['mariadb', 'mysql'] as const
const BATCH = '?transaction=batch'

const INSERT = /^insert into `items`/

const test = sharedOnEachEngine(t, { schema, options: { requestLog: false } })

/** Answers the inserts for which `which` is true with a deadlock; each is a batch, or the same one again. */
function withDeadlocks (t: Test, { proxy }: Service, which: (insert: number) => boolean): Proxy {
  let inserts = 0
  const { onStatement } = proxy as Proxy
  t.teardown(() => { (proxy as Proxy).onStatement = onStatement })
  ;(proxy as Proxy).onStatement = (sql) => INSERT.test(sql) && which(inserts++) ? errorPacket(1213, '40001') : undefined
  return proxy as Proxy
}

await test('a deadlock of a batch is tried again; of a whole only while its ' +
  'first batch is written', async (t, service) => {
  withDeadlocks(t, service, (insert) => insert < 2 || insert === 3)
  t.match(await load(service, 'items', lines('sku', 1100), { query: BATCH }), {
    status: 200, json: { data: { inserted: 1100 } }
  })
  t.equal(await count(service), 1101)
  await service.sql("delete from items where sku <> 'old'")

  withDeadlocks(t, service, (insert) => insert < 1)
  t.match(await load(service, 'items', lines('sku', 1100)), { status: 200, json: { data: { inserted: 1100 } } })
  await service.sql("delete from items where sku <> 'old'")

  withDeadlocks(t, service, (insert) => insert === 1)
  const whole = await load(service, 'items', lines('sku', 1100))
  t.match(whole, {
    status: 503, headers: { 'retry-after': '1' }, json: { error: { code: 'DEADLOCK', committed: undefined } }
  })
  t.equal(await count(service), 1)

  withDeadlocks(t, service, (insert) => insert > 0)
  const batch = await load(service, 'items', lines('sku', 1100), { query: BATCH })
  t.match(batch, {
    status: 503,
    json: {
      error: { code: 'DEADLOCK', message: /no row after line 1001 was changed/, committed: { rows: 1000, line: 1001 } }
    }
  })
  t.notOk('retry-after' in batch.headers)
  t.equal(await count(service), 1001)
}, servers)

await test('a connection that is lost during COMMIT leaves open the last batch, and ' +
  'before it nothing', async (t, service) => {
  const proxy = service.proxy as Proxy
  const cutAt = (pattern: RegExp, which: number): void => {
    let seen = 0
    proxy.onStatement = (sql) => {
      if (pattern.test(sql) && seen++ === which) proxy.cut()
      return undefined
    }
  }
  t.teardown(() => { proxy.onStatement = () => undefined })
  for (const [pattern, query, status, code] of [
    [/^commit/i, BATCH, 502, 'OUTCOME_UNKNOWN'], [INSERT, BATCH, 503, 'DATABASE_UNAVAILABLE'],
    [/^commit/i, '', 502, 'OUTCOME_UNKNOWN'], [INSERT, '', 503, 'DATABASE_UNAVAILABLE']
  ] as const) {
    const isBatch = query === BATCH
    cutAt(pattern, isBatch || code === 'DATABASE_UNAVAILABLE' ? 1 : 0)
    const answer = await load(service, 'items', lines('sku', 1100), { query })
    const committed = isBatch ? { rows: 1000, line: 1001 } : undefined
    t.match(answer, { status, json: { error: { code, committed } } }, `${query} ${pattern}`)
    t.equal('retry-after' in answer.headers, status === 503 && !isBatch)
    const rows = await count(service) - 1
    t.ok(
      (isBatch ? [1000, ...(status === 502 ? [1100] : [])] : [0, ...(status === 502 ? [1100] : [])]).includes(rows),
      `${rows} rows`
    )
    proxy.onStatement = () => undefined
    await service.sql("delete from items where sku <> 'old'")
  }
}, servers)

await onEachEngine(t, 'each batch is planned by the table as it is then', { schema }, async (t, service) => {
  const body = new PassThrough()
  const answer = load(service, 'items', body, { query: BATCH })
  body.write(lines('sku,n', 1100, (index) => `s${index},${index}`))
  await until('the first batch is written', async () => await count(service) === 1001)
  await service.sql('alter table items add column note varchar(10)')
  body.write(lines('', 1100, (index) => `t${index},${index}`).slice(1))
  await until('two batches are written', async () => await count(service) === 2001)
  await service.sql('alter table items drop column n')
  body.end(lines('', 100, (index) => `u${index},${index}`).slice(1))
  // until the catalog has been read twice, the column may come back
  const { status, headers, json } = await answer
  t.match({ status, json }, {
    status: 503, json: { error: { code: 'DATABASE_UNAVAILABLE', committed: { rows: 2000, line: 2001 } } }
  })
  t.notOk('retry-after' in headers)
  t.equal(await count(service), 2001)
})

await test('an import has a line in the log at its end, without a request log too', async (t, service) => {
  service.log.splice(0)
  const read = (): object[] => service.log.splice(0).map((line) => JSON.parse(line))
  await load(service, 'items', 'sku\na\nb\n', { headers: { 'x-request-id': 'mine' } })
  t.match(read(), [{
    level: 30,
    msg: 'import',
    requestId: 'mine',
    verb: 'insert',
    database: 'shop',
    table: 'items',
    token: 'everything',
    status: 200,
    rows: 2,
    bytes: 8,
    ms: Number
  }])
  await load(service, 'items', 'sku\nc\nold\n')
  t.match(read(), [{ level: 30, msg: 'import', status: 409, code: 'UNIQUE_VIOLATION', rows: undefined, bytes: 10 }])
  await load(service, 'items', 'sku\na\n', { token: 'nobody-0123456789' })
  await service.post('items', { verb: 'select', limit: 1 })
  t.same(read(), [], 'other requests have none')
  await service.post('items', { verb: 'select' }, { headers: { accept: CSV } })
  t.match(read(), [{ msg: 'stream', verb: 'select', rows: Number, complete: true }])
})
