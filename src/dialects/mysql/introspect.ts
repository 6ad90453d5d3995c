/** Five queries on information_schema for a whole database, whatever the number of its tables. */
import type { Column, ForeignKey, Key, TableFacts } from '../../catalog/catalog.ts'
import { mysqlType } from '../../types/mysql.ts'

const TABLES = `select TABLE_NAME, TABLE_TYPE, TABLE_COMMENT from information_schema.TABLES
  where TABLE_SCHEMA = database() and TABLE_TYPE in ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') order by TABLE_NAME`
const COLUMNS = `select TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, GENERATION_EXPRESSION, COLUMN_COMMENT,
  coalesce(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION), CHARACTER_OCTET_LENGTH, coalesce(DATETIME_PRECISION, NUMERIC_SCALE), CHARACTER_SET_NAME
  from information_schema.COLUMNS where TABLE_SCHEMA = database() order by TABLE_NAME, ORDINAL_POSITION`
const UNIQUE_KEYS = `select TABLE_NAME, INDEX_NAME, COLUMN_NAME from information_schema.STATISTICS
  where TABLE_SCHEMA = database() and NON_UNIQUE = 0 and COLUMN_NAME is not null order by TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX`
const FOREIGN_KEYS = `select TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
  from information_schema.KEY_COLUMN_USAGE where TABLE_SCHEMA = database() and REFERENCED_TABLE_SCHEMA = database()
  order by TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`
/** MariaDB's JSON is a LONGTEXT with this check; MySQL has a type and an information_schema of its own. */
const JSON_CHECKS = `select TABLE_NAME, CHECK_CLAUSE from information_schema.CHECK_CONSTRAINTS
  where CONSTRAINT_SCHEMA = database() and lower(CHECK_CLAUSE) like 'json\\_valid(%'`

type Row = ReadonlyArray<string | null>
/** Runs a query and gives its rows as text. */
export type Ask = (sql: string) => Promise<Row[]>

export async function introspectMysql (ask: Ask): Promise<TableFacts[]> {
  const tables = await ask(TABLES)
  const columns = groupByTable(await ask(COLUMNS))
  const uniques = groupByTable(await ask(UNIQUE_KEYS))
  const foreigns = groupByTable(await ask(FOREIGN_KEYS))
  const [[version]] = await ask('select version()') as [[string]]
  const json = groupByTable(/mariadb/i.test(version) ? await ask(JSON_CHECKS) : [])
  return tables.map((row) => {
    const [name, type, comment] = row as [string, string, string]
    const checked = new Set(json.get(name)?.map(([, clause]) => (clause as string).toLowerCase()))
    const keys = toKeys(uniques.get(name) ?? [])
    return {
      name,
      kind: type === 'VIEW' ? 'view' : 'table',
      comment: type === 'VIEW' ? '' : comment,
      columns: (columns.get(name) ?? []).map((column) => toColumn(column, checked)),
      primaryKey: keys.find((key) => key.name === 'PRIMARY')?.columns ?? [],
      uniqueKeys: keys,
      foreignKeys: toForeignKeys(name, foreigns.get(name) ?? [])
    }
  })
}

const groupByTable = (rows: Row[]): Map<string, Row[]> => Map.groupBy(rows, ([table]) => table as string)

function toColumn (row: Row, jsonChecks: ReadonlySet<string>): Column {
  const [, name, type, declaration, nullable, defaultText, extra, expression, comment] = row as [string, string, string, string, string, string | null, string, string | null, string]
  const [length, bytes, scale] = row.slice(9, 12).map((digits) => digits === null ? null : Number(digits)) as [number | null, number | null, number | null]
  const generated = (expression ?? '') !== ''
  const autoIncrement = /auto_increment/i.test(extra)
  const json = jsonChecks.has(`json_valid(\`${name.toLowerCase().replaceAll('`', '``')}\`)`)
  return {
    name,
    type: mysqlType({ name: type.toLowerCase(), declaration, length, bytes, scale, charset: row[12] ?? null, srid: null, json }),
    declaration: json ? 'json' : declaration,
    nullable: nullable === 'YES',
    generated,
    autoIncrement,
    optional: nullable === 'YES' || generated || autoIncrement || defaultText !== null || /default_generated/i.test(extra),
    defaultText,
    comment
  }
}

function toKeys (rows: Row[]): Key[] {
  return [...Map.groupBy(rows, ([, name]) => name as string)].map(([name, parts]) => ({ name, columns: parts.map(([, , column]) => column as string) }))
}

function toForeignKeys (table: string, rows: Row[]): ForeignKey[] {
  return [...Map.groupBy(rows, ([, name]) => name as string)].map(([name, parts]) => ({
    name,
    table,
    columns: parts.map((part) => part[2] as string),
    referencedTable: (parts[0] as Row)[3] as string,
    referencedColumns: parts.map((part) => part[4] as string)
  }))
}
