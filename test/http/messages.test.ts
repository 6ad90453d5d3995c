/** What messages and the log say so that people find the mistake. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { onEachEngine, type ServiceOptions } from '../support/service.ts'

const READER = 'a-token-that-may-only-select-0123456789'
const OLD = 'a-token-that-has-expired-in-2020-0123456789'
const TENANT = 'a-token-whose-claim-is-missing-0123456789'
const KEYLESS = 'create table keyless (n int)'
const orders = (more: string): string => `create table orders (id int primary key, tenant int)${more}`

const options: ServiceOptions = {
  schema: (engine) => [orders(''), 'insert into orders values (1, 1), (2, 1), (3, 2)', KEYLESS, ...engine === 'sqlite' ? [] : [orders(' engine = MyISAM').replace('orders', 'plain')]],
  options: { requestLog: true },
  tokens: [
    { name: 'reader', sha256: hashToken(READER), permissions: ['select'] },
    { name: 'old', sha256: hashToken(OLD), permissions: ['select'], expires: '2020-01-01' },
    { name: 'tenant', sha256: hashToken(TENANT), permissions: ['select', 'update'], databases: { shop: { orders: { rows: { tenant: { $claim: '/tenant' } } } } } }
  ]
}

await onEachEngine(t, 'messages name the table, the numbers, the place and the cause', options, async (t, { post, operate, engine }) => {
  const messageOf = async (body: unknown, table = 'orders'): Promise<string> => (await post(table, body)).json.error.message
  const remove = (filters: object, expect: unknown) => messageOf({ verb: 'delete', filters, expect })
  t.equal(await remove({ id: 9 }, 1), '"expect" does not hold: there are 0 rows in "orders" for these filters, and 1 is expected')
  t.equal(await remove({ tenant: 1 }, { $gte: 5 }), '"expect" does not hold: there are 2 rows in "orders" for these filters, and at least 5 are expected')
  t.equal(await remove({ tenant: 1 }, { $lte: 1 }), '"expect" does not hold: there is more than 1 row in "orders" for these filters, and at most 1 is expected')
  t.equal(await remove({ tenant: 1 }, { $gt: 2, $lt: 5 }), '"expect" does not hold: there are 2 rows in "orders" for these filters, and 3 to 4 are expected')
  t.match(await remove({ tenant: 1 }, { $gt: 5, $lt: 5 }), /, and no number is within its bounds$/)
  t.match((await operate([{ table: 'orders', verb: 'select', filters: { id: 9 }, expect: 1 }])).json.error, { message: /0 rows in "orders" .* 1 is expected/, details: [{ path: '/operations/0/expect' }] })

  for (const body of ['', ' \n ']) t.equal(await messageOf(body), 'The body is not valid JSON: the body is empty')
  t.equal(await messageOf('{"verb": "select",\n  "limit": 1,\n}'), 'The body is not valid JSON: error at line 3 column 1')
  t.equal(await messageOf('{"verb": select}'), 'The body is not valid JSON: error at line 1 column 10')
  t.equal(await messageOf('{"verb": "select"'), 'The body is not valid JSON: error at line 1 column 18')
  t.match(await messageOf('['.repeat(100_000)), /cannot be parsed/)

  for (const columns of ['*', ['id', '*']]) t.match(await messageOf({ verb: 'select', columns }), /[;:] leave (it|out "columns") (out )?for all columns$/)
  t.notMatch(await messageOf({ verb: 'select', orderBy: '*' }), /leave/)

  t.match(await messageOf({ verb: 'select', after: null }, 'keyless'), /^table "keyless" has no primary key/)
  if (engine !== 'sqlite') {
    const cause = 'the engine of table "plain" has no transactions, so that nothing can be undone'
    const insert = { verb: 'insert', data: { id: 1 } }
    t.match((await post('plain', { ...insert, dryRun: true })).json.error, { code: 'NOT_SUPPORTED', message: cause, details: [{ path: '/dryRun', message: cause }] })
    t.match((await operate([{ table: 'plain', ...insert }])).json.error, { message: cause, details: [{ path: '/operations/0', message: cause }] })
    t.match((await operate([{ table: 'plain', verb: 'select', lock: true }])).json.error, { message: /lock/, details: [{ path: '/operations/0/lock' }] })
  }
})

await onEachEngine(t, 'the log names an expired token, and says why a permission is missing', options, async (t, { post, log }) => {
  const lineFor = async (token: string, body: unknown) => {
    log.splice(0)
    await post('orders', body, { token })
    return JSON.parse(log.at(-1) as string)
  }
  const select = { verb: 'select' }
  t.match(await lineFor(OLD, select), { status: 401, code: 'UNAUTHENTICATED', reason: 'the token "old" has expired' })
  t.equal((await lineFor(`${OLD}?`, select)).reason, undefined, 'a token that nobody knows')
  t.match(await lineFor(READER, { verb: 'delete', filters: { id: 1 } }), { status: 403, token: 'reader', reason: 'The token does not have the permission delete' })
  t.match(await lineFor(TENANT, select), { status: 403, token: 'tenant', reason: 'The claim "/tenant" is missing or cannot be used' })
})
