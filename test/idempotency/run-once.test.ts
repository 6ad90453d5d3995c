/** Keys in use in one process, without a database. */
import t from 'tap'
import { createGrant, type Grant } from '../../src/access/grant.ts'
import { createReservation, hashBody, readKey, type Reservation } from '../../src/idempotency/key.ts'
import { KeysInUse } from '../../src/idempotency/run-once.ts'
import { orders } from '../support/sql.ts'

const grant = createGrant('clerk', { permissions: ['insert'] })
const reservationOf = (text: string, body = 'a', of: Grant = grant): Reservation =>
  createReservation({ key: { text, body: hashBody(Buffer.from(body)) }, grant: of, database: 'shop', path: 'orders', tables: [orders.mysql] })

t.test('a key belongs to who sent it, and a request to its path, body and tables', async (t) => {
  const { key, request } = reservationOf('k')
  t.equal(key.length, 32)
  t.equal(request.length, 32)
  t.same(reservationOf('k'), { key, request })
  t.notSame(reservationOf('k', 'b').request, request)
  t.same(reservationOf('k', 'b').key, key)
  t.notSame(reservationOf('k', 'a', createGrant('other', { permissions: ['insert'] })).key, key)
  t.notSame(reservationOf('k', 'a', createGrant('clerk', { permissions: ['insert'] }, 'app')).key, key, 'of another kind of grant')
  t.throws(() => reservationOf('k', 'a', { ...grant, owner: undefined }), { code: 'NOT_SUPPORTED', details: [{ message: /"sub"/ }] })
  t.throws(() => readKey({ header: ['a', 'b'], bodyHash: '', dryRun: false }), { code: 'INVALID_IDEMPOTENCY_KEY' })
})

t.test('requests wait for the one that uses their key', async (t) => {
  const keys = new KeysInUse()
  t.equal(await keys.begin(reservationOf('k')), undefined)
  t.equal(await keys.begin(reservationOf('other')), undefined, 'another key is not waited for')
  const same = keys.begin(reservationOf('k'))
  const different = keys.begin(reservationOf('k', 'b'))
  keys.end(reservationOf('k'), { answer: 'done', isReplayed: false })
  t.same(await same, { answer: 'done', isReplayed: true })
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
  keys.end(reservationOf('k'), { answer: 'done', isReplayed: false })
  t.equal((await Promise.all(waiting)).filter((once) => once?.isReplayed === true).length, 1000)
})
