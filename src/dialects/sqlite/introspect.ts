import type { DatabaseSync } from 'node:sqlite'
import type { Column, ForeignKey, Key, TableFacts } from '../../catalog/catalog.ts'
import { sqliteType } from '../../types/sqlite.ts'

/** Tables and views of the file; SQLite's own (`sqlite_sequence`) are none of the user's. */
const TABLES = 'select name, type, sql from sqlite_schema where type in (\'table\', \'view\') and substr(name, 1, 7) <> \'sqlite_\''
const COLUMNS = `select t.name as "table", c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden
  from (${TABLES}) t, pragma_table_xinfo(t.name) c order by t.name, c.cid`
const UNIQUE_KEYS = `select t.name as "table", i.name as "key", c.name as "column"
  from (${TABLES}) t, pragma_index_list(t.name) i, pragma_index_info(i.name) c where i."unique" = 1 and i.partial = 0 order by t.name, i.seq, c.seqno`
const FOREIGN_KEYS = `select t.name as "table", f.id, f."table" as referenced, f."from", f."to"
  from (${TABLES}) t, pragma_foreign_key_list(t.name) f order by t.name, f.id, f.seq`

interface TableRow { name: string, type: 'table' | 'view', sql: string }
interface ColumnRow { table: string, name: string, type: string, notnull: number, dflt_value: string | null, pk: number, hidden: number }
interface UniqueRow { table: string, key: string, column: string }
interface ForeignRow { table: string, id: number, referenced: string, from: string, to: string | null }

/** Four queries, whatever the number of tables. */
export function introspectSqlite (database: DatabaseSync): TableFacts[] {
  const all = <Row>(sql: string): Row[] => database.prepare(sql).all() as unknown[] as Row[]
  const columns = Map.groupBy(all<ColumnRow>(COLUMNS), (row) => row.table)
  const uniques = Map.groupBy(all<UniqueRow>(UNIQUE_KEYS), (row) => row.table)
  const foreigns = Map.groupBy(all<ForeignRow>(FOREIGN_KEYS), (row) => row.table)
  return all<TableRow>(TABLES).map((table) => {
    const own = columns.get(table.name) ?? []
    const primaryKey = own.filter((column) => column.pk > 0).sort((a, b) => a.pk - b.pk).map((column) => column.name)
    return {
      name: table.name,
      kind: table.type,
      comment: '',
      columns: own.map((column) => toColumn(column, isRowid(table, column, primaryKey))),
      primaryKey,
      uniqueKeys: toKeys(uniques.get(table.name) ?? [], primaryKey),
      foreignKeys: toForeignKeys(table.name, foreigns.get(table.name) ?? [])
    }
  })
}

/** INTEGER PRIMARY KEY is the row's number, given by SQLite (https://www.sqlite.org/lang_createtable.html#rowid). */
function isRowid (table: TableRow, column: ColumnRow, primaryKey: readonly string[]): boolean {
  return primaryKey.length === 1 && column.pk === 1 && column.type.toLowerCase() === 'integer' && !/without\s+rowid/i.test(table.sql)
}

function toColumn (row: ColumnRow, rowid: boolean): Column {
  const [, name = '', length, scale] = /^([^(]*)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?/.exec(row.type.toLowerCase()) ?? []
  const generated = row.hidden === 2 || row.hidden === 3
  const nullable = row.notnull === 0 && !rowid
  return {
    name: row.name,
    type: sqliteType({ name, declaration: row.type, length: toNumber(length), bytes: null, scale: toNumber(scale), charset: null, srid: null, json: false }),
    declaration: row.type,
    nullable,
    generated,
    autoIncrement: rowid,
    optional: nullable || rowid || generated || row.dflt_value !== null,
    defaultText: row.dflt_value,
    comment: ''
  }
}

const toNumber = (digits: string | undefined): number | null => digits === undefined ? null : Number(digits)

function toKeys (rows: UniqueRow[], primaryKey: readonly string[]): Key[] {
  const keys = [...Map.groupBy(rows, (row) => row.key)].map(([name, parts]): Key => ({ name, columns: parts.map((part) => part.column) }))
  return primaryKey.length === 0 ? keys : [{ name: 'PRIMARY', columns: primaryKey }, ...keys]
}

function toForeignKeys (table: string, rows: ForeignRow[]): ForeignKey[] {
  return [...Map.groupBy(rows, (row) => row.id)].map(([id, parts]) => ({
    name: `${table}_${id}`,
    table,
    columns: parts.map((part) => part.from),
    referencedTable: (parts[0] as ForeignRow).referenced,
    referencedColumns: parts.map((part) => part.to ?? '')
  }))
}
