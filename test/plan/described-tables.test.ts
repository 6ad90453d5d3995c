/** The tables of the golden files are as introspection finds such tables on each server. */
import t from 'tap'
import type { Column, Table } from '../../src/catalog/catalog.ts'
import { loadCatalog } from '../support/catalog.ts'
import { describedCatalog } from '../support/described-tables.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'

const described = `
table customers
  id bigint auto_increment primary key
  email varchar(100) not null unique
  status varchar(3) not null default 'new'
  credit decimal(10,2) not null default '0.00'
  code varchar(10) other
  note text
  made datetime
  day date
  f double
  doc json
  login varchar(200) generated
table orders
  id int not null primary key
  customer_id bigint references customers (id)
  area int not null
  line int not null
  "a b" smallint
  unique (area, line)
  index (line, area)
view seen
  customer_id bigint
`

const schema = (engine: EngineName): string[] => {
  const isSqlite = engine === 'sqlite'
  const quote = isSqlite ? '"' : '`'
  const other = isSqlite ? 'nocase' : 'utf8mb4_bin'
  return [
    `create table customers (id ${isSqlite ? 'integer primary key' : 'bigint auto_increment primary key'},
      email varchar(100) not null unique, status varchar(3) not null default 'new',
      credit decimal(10,2) not null default '0.00', code varchar(10) collate ${other}, note text, made datetime,
      day date,
      f double, doc json, login varchar(200) generated always as (upper(email)) virtual)` +
      (isSqlite ? '' : ' collate utf8mb4_general_ci'),
    `create table orders (id int not null primary key, customer_id bigint
      ${isSqlite ? 'references customers (id)' : ''}, area int not null,
      line int not null, ${quote}a b${quote} smallint, unique (area, line)
      ${isSqlite ? '' : ', foreign key (customer_id) references customers (id), index (line, area)'})`,
    ...isSqlite ? ['create index line_area on orders (line, area)'] : [],
    'create view seen as select customer_id from orders'
  ]
}

/** Without the declaration: MariaDB writes `bigint(20)`, and the rowid of SQLite is an `integer`. */
const factsOf = ({ name, type, ...column }: Column) => [
  name, type.comparison, type.relatedAs, type.comparedAs, type.sortable, type.structured, type.writable,
  type.inside !== undefined, column.collation, column.nullable, column.generated, column.autoIncrement,
  column.optional, column.defaultText
]

const summaryOf = (table: Table) => ({
  kind: table.kind,
  columns: table.columnList.map(factsOf),
  primaryKey: table.primaryKey,
  identity: table.identity?.name,
  uniqueKeys: table.uniqueKeys.map(({ columns }) => columns.join()).sort(),
  indexes: table.indexes.map(({ unique, ordered, parts }) =>
    `${unique} ${ordered} ${parts.map(({ column }) => column).join()}`).sort(),
  foreignKeys: table.foreignKeys.map(({ columns, referencedTable, referencedColumns }) =>
    [columns, referencedTable, referencedColumns])
})

await onEachEngine(t, 'described tables are like those that are read', { schema }, async (t, { engine, url }) => {
  const { tables } = await loadCatalog(url)
  for (const [name, table] of describedCatalog(described, engine).tables) {
    t.same(summaryOf(table), summaryOf(tables.get(name) as Table), name)
  }
})
