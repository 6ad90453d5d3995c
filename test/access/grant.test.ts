import t from 'tap'
import { createGrant, permissionsOn, seesDatabase, withClaims, type GrantOptions } from '../../src/access/grant.ts'

const grant = (databases: GrantOptions['databases'], permissions: GrantOptions['permissions'] = ['select']) => createGrant('test', { permissions, databases })
const verbsOn = (...args: Parameters<typeof permissionsOn>): string[] => [...permissionsOn(...args)]

t.test('a grant for every database sees all of them and their tables', async (t) => {
  for (const databases of ['*', undefined] as const) {
    t.ok(seesDatabase(grant(databases), 'shop'))
    t.same(verbsOn(grant(databases), 'shop', 'orders'), ['select'])
  }
})

t.test('a grant for named databases and tables sees only those', async (t) => {
  const some = grant({ shop: '*', staff: ['people', '__proto__'], crm: { contacts: {}, ['__proto__']: {} } })
  const seen: Array<[database: string, table: string, database_: boolean, table_: boolean]> = [
    ['shop', 'anything', true, true],
    ['staff', 'people', true, true],
    ['staff', '__proto__', true, true],
    ['staff', 'People', true, false],
    ['staff', 'wages', true, false],
    ['staff', 'constructor', true, false],
    ['crm', 'contacts', true, true],
    ['crm', '__proto__', true, true],
    ['crm', 'constructor', true, false],
    ['other', 'people', false, false],
    ['__proto__', 'people', false, false],
    ['constructor', 'name', false, false]
  ]
  for (const [database, table, seesIt, seesTableOfIt] of seen) {
    t.equal(seesDatabase(some, database), seesIt, database)
    t.equal(verbsOn(some, database, table).length > 0, seesTableOfIt, `${database}.${table}`)
  }
})

t.test('a grant for nothing sees nothing', async (t) => {
  for (const nothing of [grant({}), grant({ shop: { orders: { permissions: ['insert'] } } })]) {
    t.notOk(seesDatabase(nothing, 'shop'))
    t.same(verbsOn(nothing, 'shop', 'orders'), [])
  }
})

t.test('permissions of a table narrow those of the entry', async (t) => {
  const some = grant({ shop: { all: {}, less: { permissions: ['insert', 'delete'] }, none: { permissions: [] }, blind: { columns: { insert: ['a'] } } } }, ['select', 'insert'])
  t.same(verbsOn(some, 'shop', 'all'), ['select', 'insert'])
  t.same(verbsOn(some, 'shop', 'less'), ['insert'])
  t.same(verbsOn(some, 'shop', 'none'), [])
  t.same(verbsOn(some, 'shop', 'blind'), ['insert'], 'a select needs a column')
})

t.test('a role has the claims of each caller', async (t) => {
  const role = createGrant('clerk', { permissions: ['select'], databases: { shop: { orders: { rows: { tenant: { $claim: '/tenant' } } } } } })
  const one = withClaims(role, { tenant: 1 }, 'one')
  t.equal(one.databases, role.databases)
  t.same([one.name, one.owner, one.claims], ['clerk', 'one', { tenant: 1 }])
  t.not(one.tables, role.tables)
})

t.test('a rule that cannot be used is refused with its path', async (t) => {
  const rule = (tenant: any) => () => grant({ shop: { orders: { rows: { tenant } } } })
  t.throws(rule(2 ** 53), { message: 'databases.shop.orders.rows.tenant: a number beyond 2^53 is not exact; write it as a string of digits' })
  t.throws(rule(['1', { $claim: '/a' }, 2 ** 60]), { message: /databases\.shop\.orders\.rows\.tenant: a number beyond/ })
  t.throws(rule({ $claim: '/a', $gt: 1 }), { message: /databases\.shop\.orders\.rows\.tenant: \$claim cannot be combined/ })
})
