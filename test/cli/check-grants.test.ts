/** What `row-query check` tells of grants. */
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { runCheck } from '../support/check.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'

const SCHEMA = 'create table orders (id integer primary key, tenant_id int not null, status TEXT not null, total int, place JSON, code char(5) not null default \'x\')'

async function check (t: Test, tokens: TokenOptions[], roles = {}, ...args: string[]) {
  const folder = t.testdir({
    'row-query.json': JSON.stringify({
      databases: { shop: { url: `sqlite:${t.testdirName}/shop.db` } },
      tokens,
      roles,
      ...(Object.keys(roles).length > 0 && { jwt: [{ issuer: 'https://login.example.com', audience: 'rows', secret: 'x'.repeat(32), algorithms: ['HS256'], role: '/role' }] })
    })
  })
  const database = new DatabaseSync(`${folder}/shop.db`)
  database.exec(`${SCHEMA}; create view totals as select id, total from orders`)
  database.close()
  return await runCheck(t, ['--config', `${folder}/row-query.json`, ...args])
}

t.test('what a token or a role may do is printed', async (t) => {
  const tables = {
    orders: {
      columns: { select: ['id', 'status', 'total'], insert: ['status', 'total'], update: ['status'] },
      rows: { tenant_id: { $claim: '/tenant' }, status: ['new', 'paid', null], total: { $gte: 0, $null: false } }
    }
  }
  const { code, stdout } = await check(t as Test, [
    tokenOf('all', {}), tokenOf('whole', { permissions: ['select'], databases: { shop: '*' } }), tokenOf('list', { permissions: ['select', 'delete'], databases: { shop: ['orders'] } }),
    tokenFor('narrow', tables, { tenant: 1 }), tokenFor('form', { orders: { permissions: ['insert'], columns: { insert: ['status'] }, rows: { tenant_id: 1 } } }),
    tokenFor('nothing', { orders: { permissions: [] } })
  ], { clerk: { permissions: ['select'], databases: { shop: tables } } })
  t.equal(code, 0)
  const rows = 'tenant_id = claim /tenant and status in ("new", "paid", null) and total >= 0 and total not null'
  t.match(stdout, `
  token "all": select, insert, update, delete on all tables
  token "whole": select on all tables
  token "list": select, delete on orders
  token "narrow": select id, status, total; insert status, total; update status; delete on orders, rows with ${rows}
  token "form": insert status on orders, rows with tenant_id = 1
  token "nothing": nothing on orders
  role "clerk": select id, status, total on orders, rows with ${rows}
`)
})

const errors: Array<[error: string, table: Parameters<typeof tokenFor>[1][string]]> = [
  ['insert into "orders" always fails: column "tenant_id" has no default, cannot be written and gets no value by a rule', { columns: { select: ['id', 'status'] } }],
  ['insert into "orders" always fails: column "code" has a rule that gives it no value, and cannot be written', { columns: { select: ['id', 'status', 'tenant_id'] }, rows: { code: ['a', 'b'] } }],
  ['"orders" does not exist for it: a rule does not apply: column "nope" does not exist', { rows: { nope: 1 } }],
  ['"orders" does not exist for it: a rule does not apply: column "place": the type JSON cannot have rules', { rows: { place: 1 } }],
  ['"orders" does not exist for it: a rule does not apply: column "status": the type TEXT cannot be compared with >', { rows: { status: { $gt: { $claim: '/a' } } } }],
  ['"orders" does not exist for it: a rule does not apply: column "total": expected an integer or a string of digits', { rows: { total: 'many' } }]
]

for (const [error, table] of errors) {
  t.test(`a grant that cannot work is an error: ${error}`, async (t) => {
    const { code, stdout } = await check(t as Test, [tokenFor('bad', { orders: table })])
    t.equal(code, 1)
    t.match(stdout, `\n  error: token "bad": ${error}\n`)
  })
}

/** What is wrong with each token, by the name of the token. */
const cases: Array<[token: TokenOptions, finding: string]> = [
  [tokenFor('claimless', { orders: { rows: { tenant_id: { $claim: '/tenant' } } } }, { team: 1 }), 'error: token "claimless": each request to "orders" is refused: The claim "/tenant" is missing or cannot be used'],
  [tokenFor('unfit', { orders: { rows: { tenant_id: { $claim: '/tenant' } } } }, { tenant: 'acme' }), 'error: token "unfit": each request to "orders" is refused: A claim does not fit the column that it is compared with'],
  [tokenFor('ruled', { invoices: { rows: { tenant_id: 1 } } }), 'error: token "ruled": the database has no table "invoices", for which there are rules'],
  [{ ...tokenFor('lacking', { orders: { permissions: ['select', 'delete'] } }), permissions: ['select'] }, 'error: token "lacking": "orders" names the permission delete, which "permissions" of the entry lacks'],
  [tokenFor('view', { totals: { permissions: ['select', 'insert'] } }), 'error: token "view": "totals" is a view, which can only be selected from: insert always fails'],
  [tokenOf('list', { databases: { shop: ['orders', 'totals'] } }), 'warning: token "list": "totals" is a view, which can only be selected from: insert, update, delete always fails'],
  [tokenOf('old', { expires: '2020-01-01' }), 'warning: token "old": has expired at 2020-01-01T00:00:00.000Z']
]

t.test('grants that can never work, and tokens that are not valid any more, are found all at once', async (t) => {
  const fine = tokenFor('fine', { orders: { rows: { tenant_id: { $claim: '/tenant' } } }, totals: { permissions: ['select'] } }, { tenant: 7 })
  const { code, stdout } = await check(t as Test, [...cases.map(([token]) => token), fine])
  t.equal(code, 1)
  const found = Array.from(stdout.matchAll(/^ {2}((?:error|warning): .*)$/gm), ([, line]) => line)
  t.same(found.toSorted(), cases.map(([, finding]) => finding).toSorted())
})

t.test('without a token, and with roles that nobody can have, there is a warning', async (t) => {
  t.match(await check(t as Test, []), { code: 0, stdout: /\ntokens and keys:\n {2}warning: no token is configured, so all requests are refused\n$/ })
  t.equal((await check(t as Test, [], {}, '--strict')).code, 1)
})

t.test('a name that the database does not have is a warning', async (t) => {
  const tokens = [tokenFor('old', { orders: { columns: { select: ['id', 'gone'] }, permissions: ['select'] }, invoices: {} })]
  const { code, stdout } = await check(t as Test, tokens)
  t.equal(code, 0)
  t.match(stdout, '\n  warning: token "old": "orders" has no column "gone"\n  warning: token "old": the database has no table "invoices"\n')
  t.equal((await check(t as Test, tokens, {}, '--strict')).code, 1)
})
