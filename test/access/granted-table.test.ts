import t from 'tap'
import type { Catalog, Table } from '../../src/catalog/catalog.ts'
import { createGrant, type Grant, type TableGrantOptions } from '../../src/access/grant.ts'
import { findGrantedTable } from '../../src/access/granted-table.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const columns = Array.from({ length: 1000 }, (_, index) => mysqlColumn(`c${index}`, 'int'))
const wide = tableOf({ name: 'wide', columns, primaryKey: ['c0'], uniqueKeys: [{ name: 'PRIMARY', columns: ['c0'] }, { name: 'both', columns: ['c1', 'c2'] }] })
const catalog: Catalog = { tables: new Map([['wide', wide]]), loadedAt: 0 }

const grantOf = (table: TableGrantOptions, claims = {}): Grant => createGrant('test', { permissions: ['select', 'insert', 'update'], databases: { shop: { wide: table } }, claims })
const grantedTable = (grant: Grant, of = catalog): Table => findGrantedTable(grant, 'shop', of, of.tables.get('wide') as Table) as Table

t.test('a grant without columns and rows gets the table of the catalog itself', async (t) => {
  t.equal(grantedTable(grantOf({})), wide)
  t.equal(grantedTable(createGrant('all', { permissions: ['select'] })), wide)
})

t.test('grants that see the same share what statements are kept for, and not the values of rules', async (t) => {
  const rows = { c9: { $claim: '/a' }, c8: { $gte: 1 } }
  const [one, other] = [{ a: 1 }, { a: 2 }].map((claims) => grantedTable(grantOf({ columns: { select: ['c0', 'c1'] }, rows }, claims))) as [Table, Table]
  t.not(one, other)
  t.equal(one.granted?.shape, other.granted?.shape)
  t.equal(one.columnList, other.columnList)
  t.same([one, other].map((table) => table.granted?.rules[0]?.tests), [[{ kind: 'in', values: [1n] }], [{ kind: 'in', values: [2n] }]])
  t.same(one.granted?.shape?.granted?.rules, [], 'the shape has no values')
  t.not(grantedTable(grantOf({ columns: { select: ['c0', 'c2'] }, rows }, { a: 1 })).granted?.shape, one.granted?.shape)
  t.same([one.columnList.map(({ name }) => name), one.primaryKey, one.uniqueKeys.map(({ name }) => name)], [['c0', 'c1'], ['c0'], ['PRIMARY']])
})

t.test('a grant keeps its table until the catalog is read again', async (t) => {
  const grant = grantOf({ rows: { c1: 1 } })
  t.equal(grantedTable(grant), grantedTable(grant))
  const next: Catalog = { tables: new Map([['wide', tableOf({ name: 'wide', columns: columns.slice(0, 5) })]]), loadedAt: 1 }
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
