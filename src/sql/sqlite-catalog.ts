/** The pragmas of https://www.sqlite.org/pragma.html#pragfunc; rows are objects. */
import { sql } from 'kysely'
import { queriesOn, textOf } from './builder.ts'

/** The types of values are those that introspect.ts gives to the rows of a query. */
type Row<Columns extends string> = Record<Columns, any>

const db = queriesOn<{ sqlite_schema: Row<'name' | 'type' | 'tbl_name' | 'sql'> }>()
const toText = (query: Parameters<typeof textOf>[0]): string => textOf(query, 'sqlite')
const lit = sql.lit

/** Excludes virtual tables and their shadow tables, which store their rows. */
const ordinary = db
  .selectFrom(sql<Row<'schema' | 'name' | 'type'>>`pragma_table_list`.as('l'))
  .select('name')
  .where('schema', '=', lit('main'))
  .where('type', 'in', [lit('table'), lit('view')])

/** Tables and views of the file, without SQLite's own (`sqlite_sequence`). */
const objects = db
  .selectFrom('sqlite_schema')
  .select(['name', 'type', 'sql'])
  .where('type', 'in', [lit('table'), lit('view')])
  .where(sql<string>`substr(name, 1, 7)`, '<>', lit('sqlite_'))
  .where('name', 'in', ordinary)
  .orderBy('name')

export const TABLES = toText(objects)

export interface ColumnRow {
  name: string
  type: string
  notnull: number
  dflt_value: string | null
  pk: number
  hidden: number
}

export const FULL_TEXTS = toText(
  db
    .selectFrom('sqlite_schema')
    .select(['name', 'sql'])
    .where('type', '=', lit('table'))
    .where(sql<string>`lower(sql)`, 'like', lit('create virtual table%fts5%'))
    .orderBy('name')
)

/** Parameter: the name of the table. */
export const COLUMNS = toText(
  db
    .selectFrom(sql<ColumnRow & { cid: number }>`pragma_table_xinfo(${null})`.as('c'))
    .select(['name', 'type', 'notnull', 'dflt_value', 'pk', 'hidden'])
    .orderBy('cid')
)

/** SQLite lists the indexes in reverse order of their definition. */
export const INDEXES = toText(
  db
    .selectFrom([
      objects.as('t'),
      sql<Row<'seq' | 'name' | 'unique' | 'origin' | 'partial'>>`pragma_index_list(t.name)`.as('i'),
      sql<Row<'seqno' | 'name' | 'desc' | 'coll' | 'key'>>`pragma_index_xinfo(i.name)`.as('c')
    ])
    .select([
      't.name as table', 'i.name as key', 'i.unique as isUnique', 'i.origin', 'c.name as column', 'c.coll as collation',
      'c.desc as isDescending'
    ])
    .where('t.type', '=', lit('table'))
    .where('i.partial', '=', lit(0))
    .where('c.key', '=', lit(1))
    .orderBy('t.name')
    .orderBy('i.seq', 'desc')
    .orderBy('c.seqno')
)

export const FOREIGN_KEYS = toText(
  db
    .selectFrom([
      objects.as('t'),
      sql<Row<'id' | 'seq' | 'table' | 'from' | 'to' | 'on_update' | 'on_delete'>>`pragma_foreign_key_list(t.name)`
        .as('f')
    ])
    .select([
      't.name as table', 'f.id', 'f.table as referenced', 'f.from', 'f.to', 'f.on_update as onUpdate',
      'f.on_delete as onDelete'
    ])
    .where('t.type', '=', lit('table'))
    .orderBy('t.name')
    .orderBy('f.id')
    .orderBy('f.seq')
)

/** Ignoring case, because a trigger may name its table in another letter case. */
export const TRIGGERS = toText(
  db
    .selectFrom([objects.as('t'), 'sqlite_schema as s'])
    .select(['t.name as table', 's.sql'])
    .where('s.type', '=', lit('trigger'))
    .where('s.tbl_name', '=', sql<string>`${sql.ref('t.name')} collate nocase`)
    .orderBy('s.name')
)
