import t from 'tap'
import { createCatalog, type Column, type TableFacts } from '../../src/catalog/catalog.ts'
import { mysqlColumn } from '../support/tables.ts'

const facts = (name: string, columns: Column[], primaryKey: string[] = []): TableFacts =>
  ({ name, kind: 'table', comment: '', engine: '', transactional: true, triggers: { known: true, list: [] }, columns, primaryKey, uniqueKeys: [], indexes: [], foreignKeys: [], checks: [] })

t.test('inherited property names are not tables or columns', async (t) => {
  const { tables } = createCatalog([facts('orders', [mysqlColumn('id', 'int')])], 5)
  for (const name of ['__proto__', 'constructor', 'toString', 'Orders', '']) {
    t.equal(tables.get(name), undefined)
    t.equal(tables.get('orders')?.columns.get(name), undefined)
  }
  const odd = createCatalog([facts('__proto__', [mysqlColumn('constructor', 'int')])], 5)
  t.equal(odd.tables.get('__proto__')?.columns.get('constructor')?.name, 'constructor')
})

t.test('a catalog is frozen and knows when it was read', async (t) => {
  const catalog = createCatalog([facts('orders', [mysqlColumn('id', 'int')])], 5)
  t.equal(catalog.loadedAt, 5)
  for (const part of [catalog, catalog.tables.get('orders'), catalog.tables.get('orders')?.columns.get('id')]) t.ok(Object.isFrozen(part))
})

t.test('columns stay in the order of the table', async (t) => {
  const names = ['z', '10', 'a', '2']
  const table = createCatalog([facts('t', names.map((name) => mysqlColumn(name, 'int')))], 0).tables.get('t')
  t.same([...table?.columns.keys() ?? []], names)
})

t.test('the identity of a table is its AUTO_INCREMENT column, otherwise the only column of its primary key', async (t) => {
  const id = mysqlColumn('id', 'int')
  const number = mysqlColumn('number', 'int', { autoIncrement: true })
  const identityOf = (columns: Column[], primaryKey: string[]) => createCatalog([facts('t', columns, primaryKey)], 0).tables.get('t')?.identity?.name
  t.equal(identityOf([id, number], ['id']), 'number')
  t.equal(identityOf([id, number], ['id', 'number']), 'number')
  t.equal(identityOf([id], ['id']), 'id')
  t.equal(identityOf([id, mysqlColumn('line', 'int')], ['id', 'line']), undefined)
  t.equal(identityOf([id], []), undefined)
})

t.test('a view without columns, which the database cannot open, is not in the catalog', async (t) => {
  t.same([...createCatalog([facts('broken', []), facts('whole', [mysqlColumn('id', 'int')])], 0).tables.keys()], ['whole'])
})
