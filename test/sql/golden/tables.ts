/** The tables of the golden files: a shop, tables of each way of writing, and tables whose names are odd. */
import {
  type Catalog, type Column, createCatalog, type Index, type ServerTraits, type TableFacts
} from '../../../src/catalog/catalog.ts'
import type { Engine } from '../../../src/catalog/traits.ts'
import { mysqlColumn, sqliteColumn } from '../../support/tables.ts'

const GIVEN = { nullable: false, optional: false }
const NUMBERED = { nullable: false, autoIncrement: true }

const indexOf = (name: string, columns: readonly string[], unique = false): Index =>
  ({ name, unique, ordered: true, parts: columns.map((column) => ({ column, descending: false, prefix: false })) })

/** `traits`: of another server of MySQL's protocol than MySQL. */
export function createTables (engine: Engine, traits?: ServerTraits): Catalog {
  const isSqlite = engine === 'sqlite'
  const column = isSqlite ? sqliteColumn : mysqlColumn
  const text = (name: string, rest: Partial<Column> = {}): Column => column(name, 'varchar(20)', {
    ...isSqlite ? { collation: 'NOCASE' } : { charset: 'utf8mb4', collation: 'utf8mb4_general_ci' }, ...rest
  })
  /** `keys`: the primary key first. */
  const tableOf = (
    name: string, columns: Column[], keys: ReadonlyArray<readonly string[]>, rest: Partial<TableFacts> = {}
  ): TableFacts => {
    const unique = keys.map((key, place) => indexOf(place === 0 ? 'PRIMARY' : `by_${key.join('_')}`, key, true))
    return {
      name,
      kind: 'table',
      comment: '',
      engine: isSqlite ? 'sqlite' : 'innodb',
      transactional: true,
      ...traits !== undefined && { traits },
      triggers: { isComplete: true, list: [] },
      columns,
      primaryKey: keys[0] ?? [],
      uniqueKeys: unique.map(({ name }, place) => ({ name, columns: keys[place] as string[] })),
      foreignKeys: [],
      checks: [],
      ...rest,
      indexes: [...unique, ...rest.indexes ?? []]
    }
  }
  const refers = (column: string, referencedTable: string, referencedColumn = 'id') => ({
    foreignKeys: [{ name: `of_${column}`, columns: [column], referencedTable, referencedColumns: [referencedColumn] }]
  })
  const fires = (timing: 'before' | 'after', event: 'insert' | 'update') =>
    ({ triggers: { isComplete: true, list: [{ timing, event }] } })
  const wordsBy = (rowid: string): Index =>
    ({ ...indexOf('note_words', ['note']), ordered: false, fullText: { rowid: isSqlite ? rowid : null } })
  return createCatalog([
    tableOf('customers', [
      column('id', 'bigint', NUMBERED), column('tenant', 'int', GIVEN), text('email', GIVEN), text('name')
    ], [['id'], ['email']]),
    tableOf('orders', [
      column('id', 'bigint', NUMBERED), column('tenant', 'int', GIVEN), column('customer_id', 'bigint', GIVEN),
      column('total', 'decimal(10,2)', GIVEN), column('ratio', 'double'),
      text('status', isSqlite ? { defaultSql: "'new'" } : {}), text('note'), column('meta', 'json'),
      column('ordered_at', 'datetime')
    ], [['id']], {
      ...refers('customer_id', 'customers'),
      indexes: [indexOf('by_customer', ['customer_id', 'ordered_at']), wordsBy('id')]
    }),
    tableOf('totals', [column('customer_id', 'bigint'), column('total', 'decimal(10,2)')], [], { kind: 'view' }),
    tableOf('plain', [column('code', 'bigint', GIVEN), column('n', 'int'), column('m', 'int')], [['code']]),
    tableOf('numbered', [
      column('id', 'bigint', NUMBERED), column('code', 'bigint', GIVEN), column('n', 'int')
    ], [['id'], ['code']]),
    tableOf('defaulted', [column('code', 'bigint', GIVEN), column('n', 'int', { defaultText: '3' })], [['code']]),
    tableOf('filled', [
      column('code', 'bigint', GIVEN), column('n', 'int', { defaultText: '3' })
    ], [['code']], fires('before', 'insert')),
    tableOf('watched', [column('code', 'bigint', GIVEN), column('n', 'int')], [['code']], fires('before', 'update')),
    ...['computed', 'g0'].map((name) => tableOf(name, [
      column('id', 'bigint', NUMBERED), column('tenant', 'int', GIVEN), column('order_id', 'bigint'), text('note'),
      column('twice', 'int', { generated: true, virtual: true })
    ], [['id']], { ...refers('order_id', 'orders'), indexes: [indexOf('by_order', ['order_id']), wordsBy('id')] })),
    tableOf('replacing', [
      column('code', 'bigint', GIVEN), column('n', 'int')
    ], [['code']], isSqlite ? { hasConflictClause: true } : {}),
    tableOf('t', [column('id', 'bigint', NUMBERED), column('1', 'int')], [['id']], {
      ...refers('1', 't0', '2'), shownBy: { all: false, names: ['1', 'id'] }
    }),
    tableOf('t0', [
      column('2', 'bigint', GIVEN), column('1', 'int'), text('a.b'), column('x as y', 'decimal(10,2)'),
      text('__proto__'), text('"`\''), text('t0')
    ], [['2']]),
    ...['given', 'found'].map((name) => tableOf(name, [
      column('code', 'bigint', GIVEN), text('v0'), column('note', 'text')
    ], [['code']], { indexes: [wordsBy('code')] }))
  ], 0)
}
