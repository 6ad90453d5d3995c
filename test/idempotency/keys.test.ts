/** Keys in use in one process, without a database. */
import t from 'tap'
import { createGrant, type Grant } from '../../src/access/grant.ts'
import { createKeyCleanUp } from '../../src/idempotency/keys-table.ts'
import { createReservation, hashBody, readKey, type Reservation } from '../../src/idempotency/run-once.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { KeysInUse } from '../../src/idempotency/run-once.ts'
import { onEachDialect } from '../support/dialects.ts'
import { orders } from '../support/sql.ts'
import { until } from '../support/until.ts'

const grant = createGrant('clerk', { permissions: ['insert'] })
const reservationOf = (text: string, body = 'a', of: Grant = grant): Reservation =>
  createReservation({
    key: {
      text, body: hashBody(Buffer.from(body))
    },
    grant: of,
    database: 'shop',
    path: 'orders',
    tables: [orders.mysql]
  })

/** The hashes of a reservation. */
const hashesOf = (...of: Parameters<typeof reservationOf>) => {
  const { key, request } = reservationOf(...of)
  return { key, request: request() }
}

t.test('a key belongs to who sent it, and a request to its path, body and tables', async (t) => {
  const { key, request } = hashesOf('k')
  t.equal(key.length, 32)
  t.equal(request.length, 32)
  t.same(hashesOf('k'), { key, request })
  t.notSame(hashesOf('k', 'b').request, request)
  t.same(hashesOf('k', 'b').key, key)
  t.notSame(hashesOf('k', 'a', createGrant('other', { permissions: ['insert'] })).key, key)
  t.notSame(
    hashesOf('k', 'a', createGrant('clerk', { permissions: ['insert'] }, 'app')).key, key, 'of another kind of grant'
  )
  t.throws(() => reservationOf('k', 'a', { ...grant, owner: undefined }), {
    code: 'NOT_SUPPORTED', details: [{ message: /"sub"/ }]
  })
  t.throws(() => readKey({ header: ['a', 'b'], bodyHash: '', dryRun: false }), { code: 'INVALID_IDEMPOTENCY_KEY' })
})

t.test('requests wait for the one that uses their key', async (t) => {
  const keys = new KeysInUse()
  t.equal(await keys.begin(reservationOf('k')), undefined)
  t.equal(await keys.begin(reservationOf('other')), undefined, 'another key is not waited for')
  const same = keys.begin(reservationOf('k'))
  const different = keys.begin(reservationOf('k', 'b'))
  keys.end(reservationOf('k'), { response: 'done', isReplayed: false })
  t.same(await same, { response: 'done', isReplayed: true })
  await t.rejects(different, { code: 'IDEMPOTENCY_KEY_REUSED' })
  t.equal(await keys.begin(reservationOf('k')), undefined, 'then the table is asked')
  const next = keys.begin(reservationOf('k'))
  keys.end(reservationOf('k'), undefined)
  t.equal(await next, undefined, 'after one that failed the next one works')
})

t.test('they wait two seconds at most', async (t) => {
  const keys = new KeysInUse()
  await keys.begin(reservationOf('k'))
  const begin = performance.now()
  await t.rejects(keys.begin(reservationOf('k')), { code: 'IDEMPOTENCY_IN_PROGRESS', retryAfter: 1 })
  t.ok(performance.now() - begin > 1900)
})

t.test('the requests that wait are bounded', async (t) => {
  const keys = new KeysInUse()
  await keys.begin(reservationOf('k'))
  const waiting = Array.from({ length: 1000 }, () => keys.begin(reservationOf('k')))
  await t.rejects(keys.begin(reservationOf('k')), { code: 'OVERLOADED' })
  keys.end(reservationOf('k'), { response: 'done', isReplayed: false })
  t.equal((await Promise.all(waiting)).filter((once) => once?.isReplayed === true).length, 1000)
})

const schema = {
  sqlite: CREATE.sqlite.split(';').map((sql) => sql.trim()).filter((sql) => sql !== ''), mysql: [CREATE.mysql]
}
const HOUR = 3_600_000

await onEachDialect(t, 'keys are deleted when they are old, ' +
  'however many there are', { schema }, async (t, { dialect, engine, sql }) => {
  const old = engine === 'sqlite' ? "datetime('now', '-3 hours')" : 'current_timestamp - interval 3 hour'
  const hex = (number: number): string => `x'${number.toString(16).padStart(64, '0')}'`
  await sql(
    `insert into row_query_keys (k, request, created) values
      ${Array.from({ length: 2100 }, (_, index) => `(${hex(index)}, ${hex(1)}, ${old})`).join()}`
  )
  await sql(`insert into row_query_keys (k, request) values (${hex(9999)}, ${hex(1)})`)
  const errors: unknown[] = []
  const cleanUp = createKeyCleanUp(dialect, {
    lifetime: 2 * HOUR, interval: 20, onError: (error) => errors.push(error)
  })
  const count = async (): Promise<number> =>
    Number((await sql('select count(*) as count from row_query_keys'))[0].count)
  t.equal(await count(), 2101, 'not before a key is used')
  cleanUp.noteUse()
  cleanUp.noteUse()
  await until('the old ones are deleted', async () => await count() === 1)
  cleanUp.stop()
  cleanUp.noteUse()
  t.same(errors, [])
})

await onEachDialect(t, 'a clean-up that fails is told, and ' +
  'the next one runs', { schema: { sqlite: [], mysql: [] } }, async (t, { dialect }) => {
  const errors: unknown[] = []
  const cleanUp = createKeyCleanUp(dialect, { lifetime: HOUR, interval: 10, onError: (error) => errors.push(error) })
  for (let times = 1; times <= 2; times++) {
    await until('it may run', () => {
      cleanUp.noteUse()
      return errors.length >= times
    })
  }
  cleanUp.stop()
  t.ok(errors.length >= 2)
})
