import t from 'tap'
import { getGrant } from '../../src/access/authorize.ts'
import {
  createGrant, type Grant, type GrantOptions, permissionsOn, seesDatabase, type TableGrantOptions, withClaims
} from '../../src/access/grant.ts'
import { findGrantedTable } from '../../src/access/granted-table.ts'
import { checkClaims, describeRule, findBrokenRule, readRules, type RuleOptions } from '../../src/access/rules.ts'
import { type Catalog, findIgnoringCase, type Table } from '../../src/catalog/catalog.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const grant = (databases: GrantOptions['databases'], permissions: GrantOptions['permissions'] = [
  'select'
]) => createGrant('test', { permissions, databases })
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
  const some = grant({
    shop: {
      all: {},
      less: {
        permissions: ['insert', 'delete']
      },
      none: { permissions: [] },
      blind: { columns: { insert: ['a'] } }
    }
  }, ['select', 'insert'])
  t.same(verbsOn(some, 'shop', 'all'), ['select', 'insert'])
  t.same(verbsOn(some, 'shop', 'less'), ['insert'])
  t.same(verbsOn(some, 'shop', 'none'), [])
  t.same(verbsOn(some, 'shop', 'blind'), ['insert'], 'a select needs a column')
})

t.test('a role has the claims of each caller', async (t) => {
  const role = createGrant('clerk', {
    permissions: ['select'], databases: { shop: { orders: { rows: { tenant: { $claim: '/tenant' } } } } }
  })
  const one = withClaims(role, { tenant: 1 }, 'one')
  t.equal(one.databases, role.databases)
  t.same([one.name, one.owner, one.claims], ['clerk', 'one', { tenant: 1 }])
  t.not(one.tables, role.tables)
})

t.test('a rule that cannot be used is refused with its path', async (t) => {
  const rule = (tenant: any) => () => grant({ shop: { orders: { rows: { tenant } } } })
  t.throws(rule(2 ** 53), {
    message: 'databases.shop.orders.rows.tenant: a number beyond 2^53 is not exact; write it as a string of digits'
  })
  t.throws(rule(['1', { $claim: '/a' }, 2 ** 60]), {
    message: /databases\.shop\.orders\.rows\.tenant: a number beyond/
  })
  t.throws(rule({ $claim: '/a', $gt: 1 }), {
    message: /databases\.shop\.orders\.rows\.tenant: \$claim cannot be combined/
  })
})

const described: Array<[rule: RuleOptions, text: string]> = [
  ['acme', 'c = "acme"'],
  [null, 'c = null'],
  [{ $claim: '/a~1b' }, 'c = claim /a~1b'],
  [{ $is: true }, 'c = true'],
  [[], 'c in ()'],
  [['new', { $claim: '/s' }, null], 'c in ("new", claim /s, null)'],
  [{ $gt: 1, $lte: { $claim: '/n' }, $null: false }, 'c > 1 and c <= claim /n and c not null'],
  [{ $null: true }, 'c = null']
]

t.test('a rule is described in one line', async (t) => {
  for (const [rule, text] of described) t.equal(readRules({ c: rule }).map(describeRule).join(), text)
})

const broken: Array<[declaration: string, rule: RuleOptions, reason: RegExp | undefined]> = [
  ['int', 5, undefined],
  ['int', { $claim: '/a' }, undefined],
  ['int', { $gt: { $claim: '/a' } }, undefined],
  ['int', 'five', /expected an integer/],
  ['int', { $gte: 1.5 }, /expected an integer/],
  ['varchar(3)', ['abc', 'abcd'], /longer than 3 characters/],
  ['varchar(3)', { $lt: 'b' }, /cannot be compared with </],
  ['char(5)', 'ab ', /is not stored as it is/],
  ['char(5)', 'ab', undefined],
  ["enum('a')", 'b', /expected one of/],
  ["set('a')", 'a', /cannot have rules/],
  ['json', 1, /cannot have rules/],
  ['point', { $null: true }, /cannot have rules/]
]

t.test('a rule that does not apply to its column is found without claims', async (t) => {
  for (const [declaration, rule, reason] of broken) {
    const found = findBrokenRule(readRules({ c: rule }), new Map([['c', mysqlColumn('c', declaration)]]))
    t.match(found, reason, `${declaration} ${JSON.stringify(rule)}: ${found}`)
  }
  t.match(
    findBrokenRule(readRules({ C: 1 }), new Map([['c', mysqlColumn('c', 'int')]])), /"C" does not exist/,
    'names are exact'
  )
})

t.test('a name is found whatever its case, the exact one first', async (t) => {
  const names = new Map([['a', 1], ['A', 2], ['Bc', 3]])
  t.same(['a', 'A', 'bC', 'd'].map((name) => findIgnoringCase(names, name)), [1, 2, 3, undefined])
})

t.test('a claim is a part of the JSON value, not of what represents it', async (t) => {
  const claims = { list: ['a'], number: JSON.rawJSON('12345678901234567890'), name: 'x' }
  const check = (claim: string) => checkClaims(readRules({ c: { $claim: claim } }), claims)
  for (const claim of ['/list/0', '/number', '/name']) t.doesNotThrow(() => check(claim), claim)
  for (const claim of ['/list', '/list/length', '/list/00', '/number/rawJSON', '/name/length', '/none']) {
    t.throws(
      () => check(claim), { code: 'PERMISSION_DENIED' }, claim
    )
  }
})

const columns = Array.from({ length: 1000 }, (_, index) => mysqlColumn(`c${index}`, 'int'))
const wide = tableOf({
  name: 'wide',
  columns,
  primaryKey: ['c0'],
  uniqueKeys: [
    { name: 'PRIMARY', columns: ['c0'] }, { name: 'both', columns: ['c1', 'c2'] }
  ]
})
const catalog: Catalog = { tables: new Map([['wide', wide]]), loadedAt: 0 }

const grantOf = (table: TableGrantOptions, claims = {}): Grant => createGrant('test', {
  permissions: ['select', 'insert', 'update'], databases: { shop: { wide: table } }, claims
})
const grantedTable = (grant: Grant, of = catalog): Table =>
  findGrantedTable({ grant, database: 'shop', catalog: of }, of.tables.get('wide') as Table) as Table

t.test('a grant without columns and rows gets the table of the catalog itself', async (t) => {
  t.equal(grantedTable(grantOf({})), wide)
  t.equal(grantedTable(createGrant('all', { permissions: ['select'] })), wide)
})

t.test('grants that see the same share what statements are kept for, and not the values of rules', async (t) => {
  const rows = { c9: { $claim: '/a' }, c8: { $gte: 1 } }
  const [one, other] = [{ a: 1 }, { a: 2 }].map(
    (claims) => grantedTable(grantOf({ columns: { select: ['c0', 'c1'] }, rows }, claims))
  ) as [Table, Table]
  t.not(one, other)
  t.equal(one.granted?.shape, other.granted?.shape)
  t.equal(one.columnList, other.columnList)
  t.same([one, other].map((table) => table.granted?.rules[0]?.tests), [
    [{ kind: 'in', values: [1n] }], [{ kind: 'in', values: [2n] }]
  ])
  t.same(one.granted?.shape?.granted?.rules, [], 'the shape has no values')
  t.not(grantedTable(grantOf({ columns: { select: ['c0', 'c2'] }, rows }, { a: 1 })).granted?.shape, one.granted?.shape)
  t.same([one.columnList.map(({ name }) => name), one.primaryKey, one.uniqueKeys.map(({ name }) => name)], [
    ['c0', 'c1'], ['c0'], ['PRIMARY']
  ])
})

t.test('a grant keeps its table until the catalog is read again', async (t) => {
  const grant = grantOf({ rows: { c1: 1 } })
  t.equal(grantedTable(grant), grantedTable(grant))
  const next: Catalog = {
    tables: new Map([['wide', tableOf({ name: 'wide', columns: columns.slice(0, 5) })]]), loadedAt: 1
  }
  t.equal(grantedTable(grant, next).granted?.base, next.tables.get('wide'))
})

t.test('the granted tables of a catalog are bounded: the least recently used one is made again', async (t) => {
  const other: Catalog = { tables: new Map([['wide', wide]]), loadedAt: 0 }
  const shapeWith = (index: number): Table => grantedTable(grantOf({ columns: { select: [`c${index}`] } }), other)
  const [first, second] = [shapeWith(0), shapeWith(1)]
  for (let index = 2; index < 200; index++) shapeWith(index)
  t.equal(shapeWith(0), first, 'two hundred tables of a thousand columns are kept')
  shapeWith(200)
  t.equal(shapeWith(0), first)
  t.not(shapeWith(1), second)
})

t.test('a request without a grant is refused, whichever route it reaches', async (t) => {
  const grant = createGrant('test', { permissions: ['select'] })
  t.equal(getGrant({ rowQueryGrant: grant }), grant)
  t.throws(() => getGrant({ rowQueryGrant: null }), { code: 'UNAUTHENTICATED' })
})
