import t from 'tap'
import { createGrant } from '../../src/access/grant.ts'
import { describeFirstContact } from '../../src/cli/first-contact.ts'

const where = { address: 'http://[::1]:81', prefix: '/rows', docs: false }
const everything = createGrant('me', { permissions: ['select'] })

t.test('the addresses, the tables and a request are shown', async (t) => {
  const tables = new Map([['shop', ['customers', 'orders']], ['crm', ['people']]])
  t.equal(describeFirstContact({ ...where, docs: true, tables, grants: [everything] }), `
  address  http://[::1]:81/rows/shop/{customers,orders}
           http://[::1]:81/rows/crm/{people}
  page     http://[::1]:81/rows/docs
  token    that of "me"; export it as API_TOKEN before you run this command

Try it:

  curl -s 'http://[::1]:81/rows/shop/customers' -H "Authorization: Bearer $API_TOKEN" -H 'Content-Type: application/json' -d '{"verb":"select","limit":3}'

`)
})

t.test('the request is one that a token may send', async (t) => {
  const tables = new Map([['shop', ['customers', 'orders']], ['crm', ['people']]])
  const writer = createGrant('writer', { permissions: ['insert'] })
  const reader = createGrant('reader', { permissions: ['select'], databases: { crm: ['people', 'gone'] } })
  const text = describeFirstContact({ ...where, tables, grants: [writer, reader] })
  t.match(text, "curl -s 'http://[::1]:81/rows/crm/people'")
  t.match(text, 'that of "reader"')
  for (const grants of [[], [writer]]) t.notMatch(describeFirstContact({ ...where, tables, grants }), 'curl')
})

t.test('names are safe in a terminal and a shell', async (t) => {
  const text = describeFirstContact({ ...where, tables: new Map([['shop', ["it's $(a)/\u001b[2J"]]]), grants: [everything] })
  t.match(text, "{it's%20%24(a)%2F%1B%5B2J}")
  t.match(text, "'http://[::1]:81/rows/shop/it%27s%20%24(a)%2F%1B%5B2J'")
})

t.test('only the first databases and tables are listed, and what is not known is said', async (t) => {
  const names = Array.from({ length: 500 }, (_, index) => `t${index}`)
  const many = describeFirstContact({ ...where, tables: new Map(names.map((name) => [name, names])), grants: [everything] })
  t.match(many, 'http://[::1]:81/rows/t9/{t0,t1,t2,t3,t4,t5,t6,t7,t8,t9,…}  (500 tables)\n           and 490 more databases\n')
  t.ok(many.length < 2000)
  const none = describeFirstContact({ ...where, tables: new Map([['empty', []], ['down', undefined]]), grants: [everything] })
  t.match(none, '/rows/empty/{table}  (there are no tables)\n')
  t.match(none, '/rows/down/{table}  (the database has not answered yet)\n')
  t.notMatch(none, 'curl')
})
