/** A fixed number of queries on information_schema. */
import {
  type Check, type Column, describeAll, type ForeignKey, type Index, type Key, type Table, type TableFacts,
  type Trigger, type Triggers, type TriggerTiming
} from '../../catalog/catalog.ts'
import { linkTables } from '../../catalog/relations.ts'
import { EVENTS, writesOf } from '../../catalog/triggers.ts'
import { getOrCreate } from '../../bounded-map.ts'
import { inPieces } from '../../in-pieces.ts'
import {
  checksQuery, columnsQuery, ENGINES_WITHOUT_TRANSACTIONS, foreignKeysQuery, indexesQuery, privilegesQuery,
  ROOTLESS_KEYS, TABLES, TRIGGERS
} from '../../sql/mysql-catalog.ts'
import type { ColumnType, TypeFacts } from '../../types/column-type.ts'
import { parseMembers } from '../../types/text.ts'
import { mysqlType } from '../../types/mysql.ts'
import { LAST_SECOND_OF_64_BITS } from '../../types/temporal.ts'
import { engineOf } from './engines.ts'
import type { Ask, Row } from './session.ts'
import type { MysqlError } from './errors.ts'

/** The indexes of each table, the primary key first. */
async function loadIndexes (ask: Ask, isMariadb: boolean): Promise<ReadonlyMap<string, Index[]>> {
  const tables = Map.groupBy(await ask(indexesQuery(isMariadb)), ([table]) => table as string)
  const indexes = new Map(Array.from(tables, ([table, parts]): [string, Index[]] => [table, toIndexes(parts)]))
  if (!isMariadb) {
    for (const [table, list] of indexes) {
      if (isAmbiguous(list)) indexes.set(table, await sortByDefinition(ask, table, list))
    }
  }
  return indexes
}

function toIndexes (rows: readonly Row[]): Index[] {
  const indexes = [...Map.groupBy(rows, ([, name]) => name as string)].map(([name, parts]): Index => {
    const [, , , nonUnique, , , , type, usable] = parts[0] as Row
    return {
      name,
      unique: nonUnique === '0',
      ordered: type === 'BTREE' && usable === '1',
      ...(type === 'FULLTEXT' && usable === '1' && { fullText: { rowid: null } }),
      parts: parts
        .toSorted((one, other) => Number(one[4]) - Number(other[4]))
        .map(([, , column = null, , , collation, length]) => ({
          column,
          descending: collation === 'D',
          prefix: length !== null
        }))
    }
  })
  return indexes.sort((one, other) => Number(isPrimary(other)) - Number(isPrimary(one)))
}

const isPrimary = ({ name }: Index): boolean => name === 'PRIMARY'

/** Whether their order matters: the first one may identify the rows. */
const isAmbiguous = (indexes: readonly Index[]): boolean =>
  !indexes.some(isPrimary) && indexes.filter(({ unique }) => unique).length > 1

/** Sorts by SHOW INDEX, which alone shows the order in which MySQL's indexes were defined. */
async function sortByDefinition (ask: Ask, table: string, indexes: readonly Index[]): Promise<Index[]> {
  const rows = await ask(`show index from \`${table.replaceAll('`', '``')}\``).catch((error: MysqlError) => {
    if (error.errno === NO_SUCH_TABLE) return []
    throw error
  })
  const order = new Map(rows.map(([, , name], index) => [name, index]))
  return indexes.toSorted((one, other) => (order.get(one.name) ?? 0) - (order.get(other.name) ?? 0))
}

/** The table was dropped after its indexes were read. */
const NO_SUCH_TABLE = 1146

/** The unique keys, without the expressions in them. */
function toKeys (indexes: readonly Index[]): Key[] {
  const keys = indexes
    .filter(({ unique }) => unique)
    .map(({ name, parts }): Key => ({ name, columns: parts.flatMap(({ column }) => column ?? []) }))
  return keys.filter(({ columns }) => columns.length > 0)
}

/** The version; null or 0 if MariaDB has no TIMESTAMPs beyond 2038; 0 if letter case distinguishes tables. */
const SERVER = "select version(), unix_timestamp('2106-02-07 06:28:15'), @@lower_case_table_names"

export async function introspectMysql (ask: Ask): Promise<readonly TableFacts[]> {
  const [[version, last, lowerCase]] = await ask(SERVER) as [[string, string | null, string]]
  const engine = engineOf(version)
  const isMariadb = engine.name === 'MariaDB'
  const lastTimestamp = isMariadb && Number(last) === LAST_SECOND_OF_64_BITS ? LAST_SECOND_OF_64_BITS : undefined
  const tables = await ask(TABLES)
  const columns = groupByTable(await ask(columnsQuery(isMariadb)))
  const indexes = await loadIndexes(ask, isMariadb)
  const foreigns = groupByTable(await ask(foreignKeysQuery(isMariadb)))
  const rootless = await loadRootless(ask, tables, foreigns)
  const withoutTransactions = new Set(
    (await ask(ENGINES_WITHOUT_TRANSACTIONS)).map(([engine]) => (engine as string).toLowerCase())
  )
  const triggers = groupByTable(await ask(TRIGGERS))
  const privileges = await ask(privilegesQuery(engine.revokesPartially))
  const seesTriggers = engine.hasTriggers ? holdersOf(privileges, showingTriggers(privileges)) : () => true
  const seesRows = holdersOf(privileges, ['SELECT'])
  const checks = groupByTable(await ask(checksQuery(isMariadb)))
  // shared by columns with the same facts, because thousands of columns have dozens of types
  const types = new Map<string, ColumnType>()
  const typeOf: Surroundings['typeOf'] = (facts) => getOrCreate(types, JSON.stringify(facts), () => mysqlType(facts))
  return linkTables(await inPieces(describeAll(tables, (row) => {
    const [name, type, comment] = row as [string, string, string]
    const storage = (row[3] ?? '').toLowerCase()
    const checked = checks.get(name) ?? []
    const jsonChecks = new Set(isMariadb ? checked.map(([, , clause]) => (clause as string).toLowerCase()) : [])
    const columnsOfTable = columns.get(name) ?? []
    const names = columnsOfTable.map((column) => column[1] as string)
    const indexesOfTable = indexes.get(name) ?? []
    const keys = toKeys(indexesOfTable)
    const [linked, outer] = ['1', '0'].map((isOwn) =>
      toForeignKeys((foreigns.get(name) ?? []).filter((part) => part[5] === isOwn))
    ) as [ForeignKey[], ForeignKey[]]
    const foreignKeys = linked.map((key) =>
      rootless.has(`${name}\0${key.name}`) ? { ...key, broken: true as const } : key)
    return {
      name,
      kind: type === 'VIEW' ? 'view' : 'table',
      // the servers show no columns of a view that they cannot open
      ...(type === 'VIEW' && columnsOfTable.length === 0 && { broken: 'ER_VIEW_INVALID' }),
      comment: type === 'VIEW' ? '' : comment,
      engine: storage,
      transactional: !withoutTransactions.has(storage),
      traits: engine.traits,
      triggers: toTriggers(triggers.get(name) ?? [], seesTriggers(name)),
      shownBy: toShown(columnsOfTable, seesRows(name)),
      ...(type === 'SYSTEM VERSIONED' && { versioned: true as const }),
      columns: columnsOfTable.map((column) =>
        toColumn(column, { isView: type === 'VIEW', names, jsonChecks, isMariadb, lastTimestamp, typeOf })
      ),
      primaryKey: keys.find((key) => key.name === 'PRIMARY')?.columns ?? [],
      uniqueKeys: keys,
      indexes: indexesOfTable,
      foreignKeys,
      ...(outer.length > 0 && { outerKeys: outer }),
      ...(foreigns.get(name)?.some(([, key]) => ![...foreignKeys, ...outer].some(({ name }) => name === key)) && {
        hidesKeys: true as const
      }),
      checks: checked.map((check) => toCheck(check, names))
    }
  })), lowerCase !== '0')
}

/**
 * The foreign keys, by table and name, whose table does not exist: one that the account does not see, and for which the
 * server knows no key.
 */
async function loadRootless (ask: Ask, tables: readonly Row[], foreigns: ReadonlyMap<string, readonly Row[]>) {
  const names = new Set(tables.map(([name]) => name))
  const parts = [...foreigns.values()].flat().filter(([, , , , , isHere]) => isHere === '1')
  const toUnseen = parts.filter(([, , , referenced]) => !names.has(referenced as string))
  const unseen = new Set(toUnseen.map(([table, key]) => `${table}\0${key}`))
  if (unseen.size === 0) return unseen
  return new Set((await ask(ROOTLESS_KEYS)).map(([table, key]) => `${table}\0${key}`).filter((key) => unseen.has(key)))
}

const toNumber = (digits: string | null | undefined): number | null =>
  digits === null || digits === undefined ? null : Number(digits)
const groupByTable = (rows: Row[]): Map<string, Row[]> => Map.groupBy(rows, ([table]) => table as string)

const showingTriggers = (rows: Row[]): string[] =>
  rows.some(([level, , nullable]) => level === 'definer' && nullable === 'YES')
    ? ['TRIGGER', 'INSERT', 'UPDATE', 'DELETE']
    : ['TRIGGER']

/**
 * Returns whether the account certainly holds one of the privileges on a table. The server applies one of several
 * matching patterns, so all of them must have it.
 */
function holdersOf (rows: Row[], sufficient: readonly string[]): (table: string) => boolean {
  const at = (level: string): Row[] => rows.filter((row) => row[0] === level)
  const isEnough = (granted: Row[]): boolean =>
    granted.some(([, , privilege]) => sufficient.includes(privilege as string))
  const patterns = [...Map.groupBy(at('database'), ([, pattern]) => pattern).values()]
  const everywhere = isEnough(at('all')) || (patterns.length > 0 && patterns.every(isEnough))
  const tables = Map.groupBy(at('table'), ([, table]) => table)
  return (table) => everywhere || isEnough(tables.get(table) ?? [])
}

const isInvisible = (row: Row): boolean => /\binvisible\b/i.test(row[6] ?? '')

/** `all`: the whole table may be selected. */
function toShown (columns: readonly Row[], all: boolean): NonNullable<Table['shownBy']> {
  const isNamed = (row: Row): boolean => all ? isInvisible(row) : /select/i.test(row[15] ?? '')
  return { all, names: columns.filter(isNamed).map(([, name]) => name as string) }
}

/** Listed triggers are visible by any privilege. A trigger of MariaDB 12 can have several events. */
function toTriggers (rows: Row[], visible: boolean): Triggers {
  const list = rows.flatMap((row): Trigger[] => {
    const [, timing, manipulation, text, schema] = row as [string, string, string, string | null, string]
    const writes = writesOf(text ?? '', 'mysql', schema)
    return EVENTS.filter((event) => manipulation.toLowerCase().includes(event)).map((event) => ({
      timing: timing.toLowerCase() as TriggerTiming,
      event,
      ...(writes.length > 0 && { writes })
    }))
  })
  return { isComplete: visible || list.length > 0, list }
}

/**
 * What the row of a column does not have. `jsonChecks`: checks that make a LONGTEXT a JSON column in MariaDB, which has
 * no type for it.
 */
interface Surroundings {
  readonly isView: boolean
  readonly names: readonly string[]
  readonly jsonChecks: ReadonlySet<string>
  readonly isMariadb: boolean
  readonly lastTimestamp: number | undefined
  readonly typeOf: (facts: TypeFacts) => ColumnType
}

function toColumn (row: Row, { isView, names, jsonChecks, isMariadb, lastTimestamp, typeOf }: Surroundings): Column {
  const [, name, type, declaration, nullable, defaultText, extra, expression, comment] = row as [
    string,
    string,
    string,
    string,
    string,
    string | null,
    string,
    string | null,
    string
  ]
  const [length, bytes, scale] = row.slice(9, 12).map(toNumber) as [number | null, number | null, number | null]
  const generated = (expression ?? '') !== ''
  const autoIncrement = /auto_increment/i.test(extra)
  const [charset = null, srid, collation = null] = row.slice(12)
  const json = jsonChecks.has(`json_valid(\`${name.toLowerCase().replaceAll('`', '``')}\`)`)
  return {
    name,
    type: typeOf({
      name: type.toLowerCase(),
      declaration,
      length,
      bytes,
      scale,
      charset,
      srid: toNumber(srid),
      json,
      lastTimestamp,
      ...(isView && { computed: true })
    }),
    declaration: json ? 'json' : declaration,
    nullable: nullable === 'YES',
    generated,
    ...(/virtual generated/i.test(extra) && { virtual: true as const }),
    ...(charset !== null && collation !== null && { charset, collation }),
    ...(/on update/i.test(extra) && { onUpdate: true }),
    autoIncrement,
    optional: nullable === 'YES' || generated || autoIncrement || defaultText !== null,
    ...readDefault(defaultText, isMariadb, extra, names),
    ...(isInvisible(row) && { invisible: true as const }),
    comment
  }
}

/** SQL NULL without a default; MariaDB returns the text NULL if the default is null. */
function readDefault (
  sql: string | null,
  isMariadb: boolean,
  extra: string,
  names: readonly string[]
): Pick<Column, 'defaultText' | 'defaultComputed' | 'defaultReads'> {
  const defaultText = isMariadb ? constantIn(sql) : isExpression(extra) ? null : sql
  const isNull = sql === null || (isMariadb && sql.toLowerCase() === 'null')
  if (defaultText !== null || isNull) return { defaultText }
  const reads = columnsIn(sql, names)
  return { defaultText, defaultComputed: true, ...(reads.length > 0 && { defaultReads: reads }) }
}

/** MySQL marks expressions; a constant comes as it is. */
const isExpression = (extra: string): boolean => /default_generated/i.test(extra)

/** MariaDB returns SQL: `'it''s'`, `5`, `b'101'`, `NULL`, `current_timestamp()`. */
function constantIn (sql: string | null): string | null {
  if (sql?.startsWith("'")) return parseMembers(sql)[0] as string
  return sql !== null && /^(-?\d|b')/.test(sql) ? sql : null
}

/** In MariaDB, a CHECK of a column has the name of the column. */
const toCheck = ([, name, clause]: Row, columns: readonly string[]): Check =>
  ({ name: name as string, columns: columnsIn(clause as string, columns) })

function columnsIn (expression: string, columns: readonly string[]): string[] {
  const named = new Set(
    Array.from(expression.matchAll(/`((?:[^`]|``)+)`/g), ([, identifier]) =>
      (identifier as string).replaceAll('``', '`').toLowerCase()
    )
  )
  return columns.filter((column) => named.has(column.toLowerCase()))
}

function toForeignKeys (rows: Row[]): ForeignKey[] {
  return [...Map.groupBy(rows, ([, name]) => name as string)].map(([name, parts]) => ({
    name,
    columns: parts.map((part) => part[2] as string),
    referencedTable: (parts[0] as Row)[3] as string,
    referencedColumns: parts.map((part) => part[4] as string)
  }))
}
