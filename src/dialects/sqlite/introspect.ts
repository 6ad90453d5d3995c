import {
  type Check, type Column, describeAll, type ForeignKey, type Index, type IndexPart, type Key, type TableFacts,
  type Trigger, type TriggerEvent, type Triggers, type TriggerTiming
} from '../../catalog/catalog.ts'
import { linkTables } from '../../catalog/relations.ts'
import { writesOf } from '../../catalog/triggers.ts'
import { getOrCreate } from '../../bounded-map.ts'
import { inPieces } from '../../in-pieces.ts'
import {
  type ColumnRow, COLUMNS, FOREIGN_KEYS, FULL_TEXTS, INDEXES, TABLES, TRIGGERS
} from '../../sql/sqlite-catalog.ts'
import type { ColumnType } from '../../types/column-type.ts'
import { readDefault } from '../../types/update-operators.ts'
import { sqliteType } from '../../types/sqlite.ts'
import { isLogicError, reasonOf, type SqliteError } from './errors.ts'
import { SCHEMA_VERSION } from './protocol.ts'
import { quoted } from './statements.ts'

/** Rows are objects, and whole numbers JavaScript numbers. @throws SqliteError */
export type Ask = (sql: string, ...parameters: string[]) => Promise<object[]>

/**
 * Describes the columns of a select: the table that each is read from, null for an expression, and its declared type,
 * null if there is none. May be empty.
 */
export type Describe = (sql: string) => Promise<
  ReadonlyArray<Readonly<Record<'table' | 'column' | 'type', string | null>>>
>

/** `column`: null for an expression. */
interface IndexRow {
  table: string
  key: string
  isUnique: number
  origin: 'c' | 'u' | 'pk'
  column: string | null
  collation: string
  isDescending: number
}

/** Column -> collation, in upper case. */
type Collations = ReadonlyMap<string, string>

const BINARY = 'BINARY'

/** The primary key first. `rows`: of the table; there is none for a rowid. */
function toIndexes (rows: readonly IndexRow[], collations: Collations, primaryKey: readonly string[]): Index[] {
  const [primary, others] = [rows.filter(({ origin }) => origin === 'pk'), rows.filter(({ origin }) => origin !== 'pk')]
  const toIndex = (name: string, unique: boolean, parts: readonly IndexPart[]): Index =>
    ({ name, unique, ordered: true, parts })
  const parts = primary.length > 0
    ? primary.map((part) => toPart(part, collations))
    : primaryKey.map((column) => ({ column, descending: false, prefix: false }))
  return [
    ...(parts.length > 0 ? [toIndex('PRIMARY', true, parts)] : []),
    ...Array.from(Map.groupBy(others, (row) => row.key), ([name, parts]) =>
      toIndex(name, parts[0]?.isUnique === 1, parts.map((part) => toPart(part, collations)))
    )
  ]
}

/** A part with another collation than its column's is an expression, which may distinguish other values. */
function toPart ({ column, collation, isDescending }: IndexRow, collations: Collations): IndexPart {
  const isOfColumn = column !== null && collation.toUpperCase() === collations.get(column)
  return { column: isOfColumn ? column : null, descending: isDescending === 1, prefix: false }
}

/** An FTS5 table that indexes the columns of an ordinary table (`content`). */
interface FullText {
  readonly name: string
  readonly content: string
  /** The column of the ordinary table by which it knows the rows. */
  readonly rowid: string
  readonly columns: readonly string[]
}

const USING_FTS5 = /\busing\s+fts5\s*\(([^]*)\)\s*;?\s*$/i
/** An argument of FTS5, up to a comma that is not in quotes. */
const ARGUMENT = /(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[^,'"`[])+/g

/** Reads `create virtual table f using fts5(title, body, content='docs', content_rowid='id')`. */
function toFullText ({ name, sql }: { readonly name: string, readonly sql: string }): FullText[] {
  const options = new Map<string, string>()
  const columns: string[] = []
  for (const [argument] of USING_FTS5.exec(sql)?.[1]?.matchAll(ARGUMENT) ?? []) {
    const [, option, value = ''] = /^\s*(\w+)\s*=\s*([^]*?)\s*$/.exec(argument) ?? []
    if (option !== undefined) options.set(option.toLowerCase(), unquote(value))
    else {
      const [, column = '', rest = ''] = COLUMN_ARGUMENT.exec(argument) ?? []
      // columns without words are not part of the index, so that no list of columns has them
      if (column === '' || /\S/.test(rest)) return []
      columns.push(unquote(column))
    }
  }
  const [content = '', rowid = 'rowid'] = [options.get('content'), options.get('content_rowid')]
  return content === '' || columns.length === 0 ? [] : [{ name, content, rowid, columns }]
}

/** The full-text tables of a table as indexes, if they know its rows by the rowid. */
function toFullTextIndexes (
  { columns, primaryKey, keys }: {
    readonly columns: readonly ColumnRow[]
    readonly primaryKey: readonly string[]
    readonly keys: readonly IndexRow[]
  },
  found: readonly FullText[]
): Index[] {
  const named = (name: string) => columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
  return found.flatMap(({ name, rowid, columns: words }): Index[] => {
    const column = named(rowid)
    const isOfRows = column === undefined ? ROWIDS.has(rowid.toLowerCase()) : isRowid(column, primaryKey, keys)
    const parts = words.flatMap((word) => named(word)?.name ?? [])
    if (!isOfRows || parts.length < words.length) return []
    return [{
      name,
      unique: false,
      ordered: false,
      parts: parts.map((part) => ({ column: part, descending: false, prefix: false })),
      fullText: { rowid: column?.name ?? rowid.toLowerCase() }
    }]
  })
}

/** Names (https://www.sqlite.org/lang_createtable.html#rowid). */
const ROWIDS = new Set(['rowid', 'oid', '_rowid_'])

/**
 * The collations of the columns that can be read. SQLite shows them only in the program of a statement that sorts by
 * them, such as `k(2,NOCASE,B)`, in which B is BINARY.
 */
async function loadCollations (
  ask: Ask,
  {
    name: table,
    sql,
    columns
  }: { readonly name: string; readonly sql: string; readonly columns: ReadonlyArray<{ readonly name: string }> }
): Promise<Collations> {
  if (!/\bcollate\b/i.test(sql)) return new Map(columns.map(({ name }) => [name, BINARY]))
  const names = columns.map(({ name }) => name)
  try {
    return await collationsOf(ask, table, names)
  } catch (error) {
    if (!isLogicError(error as SqliteError)) throw error
  }
  const collations: Array<readonly [string, string]> = []
  for (const name of names) collations.push(...(await collationsOf(ask, table, [name]).catch(() => new Map())))
  return new Map(collations)
}

async function collationsOf (ask: Ask, table: string, columns: readonly string[]): Promise<Collations> {
  const order = columns.map((name) => '+' + quoted(name)).join()
  const program = (await ask(`explain select 1 from ${quoted(table)} order by ${order}`)) as Array<{
    opcode: string
    p4: string | null
  }>
  const sorter = program.find(({ opcode }) => opcode === 'SorterOpen')?.p4 ?? ''
  const collations = /^k\(\d+,(.*)\)$/.exec(sorter)?.[1]?.split(',') ?? []
  if (collations.length !== columns.length) return new Map()
  return new Map(
    columns.map((name, index) => [
      name,
      collations[index] === 'B' ? BINARY : (collations[index] as string).toUpperCase()
    ])
  )
}

interface TableRow { name: string, type: 'table' | 'view', sql: string }
interface ForeignRow {
  table: string
  id: number
  referenced: string
  from: string
  to: string | null
  onUpdate: string
  onDelete: string
}
interface TriggerRow { table: string, sql: string }

export async function introspectSqlite (ask: Ask, describe: Describe): Promise<readonly TableFacts[]> {
  const byTable = async <Row extends { table: string }>(sql: string): Promise<Map<string, Row[]>> =>
    Map.groupBy((await ask(sql)) as Row[], (row) => row.table)
  // read first, so that a change during the other queries makes this version stale and the catalog is read again
  const [{ version }] = await ask(SCHEMA_VERSION) as [{ readonly version: string }]
  const indexed = await byTable<IndexRow>(INDEXES)
  const foreigns = await byTable<ForeignRow>(FOREIGN_KEYS)
  const triggers = await byTable<TriggerRow>(TRIGGERS)
  const searchable = (await ask(FULL_TEXTS)) as Array<{ name: string; sql: string }>
  const fullTexts = Map.groupBy(searchable.flatMap(toFullText), ({ content }) => content.toLowerCase())
  const textTables = new Set(searchable.map(({ name }) => name))
  const tables: Array<
    TableRow & { columns: ColumnRow[]; broken?: string; primaryKey: string[]; collations: Collations }
  > = []
  for (const table of await ask(TABLES) as TableRow[]) {
    const { columns: found, ...broken } = await columnsOf(ask, table.name)
    const columns = table.type === 'view' ? await withOrigins(found, { view: table.name, describe, textTables }) : found
    const collations: Collations = table.type === 'table' ? await loadCollations(ask, { ...table, columns }) : new Map()
    tables.push({
      ...table,
      ...broken,
      columns,
      collations,
      primaryKey: columns
        .filter(({ pk }) => pk > 0)
        .sort((a, b) => a.pk - b.pk)
        .map(({ name }) => name)
    })
  }
  const primaryKeys = new Map(tables.map(({ name, primaryKey }) => [name.toLowerCase(), primaryKey]))
  const typeOf = createTypes()
  const toFacts = ({ name, type, sql, columns, broken, primaryKey, collations }: typeof tables[number]): TableFacts => {
    const parts = withOwnNames(indexed.get(name) ?? [])
    const keys = parts.filter(({ isUnique }) => isUnique === 1)
    const indexes = toIndexes(parts, collations, primaryKey)
    const searched = type === 'table' ? fullTexts.get(name.toLowerCase()) ?? [] : []
    return {
      name,
      kind: type,
      ...(broken !== undefined && { broken }),
      comment: '',
      engine: 'sqlite',
      version,
      transactional: true,
      triggers: toTriggers(triggers.get(name) ?? []),
      ...(type === 'table' && /conflict/i.test(sql) && { hasConflictClause: true as const }),
      columns: columns.map((column) =>
        toColumn(column, { rowid: isRowid(column, primaryKey, keys), collation: collations.get(column.name), typeOf })
      ),
      primaryKey: identifiesRows(indexes) ? primaryKey : [],
      uniqueKeys: toKeys(keys, primaryKey),
      indexes: [...indexes, ...toFullTextIndexes({ columns, primaryKey, keys }, searched)],
      foreignKeys: toForeignKeys(name, foreigns.get(name) ?? [], primaryKeys),
      checks: toChecks(sql)
    }
  }
  return linkTables(await inPieces(describeAll(tables, toFacts)), true)
}

/** The reason, for a view that SQLite cannot open. */
async function columnsOf (
  ask: Ask,
  table: string
): Promise<{ readonly columns: ColumnRow[]; readonly broken?: string }> {
  try {
    return { columns: (await ask(COLUMNS, table)) as ColumnRow[] }
  } catch (error) {
    if (isLogicError(error as SqliteError)) return { columns: [], broken: reasonOf((error as SqliteError).message) }
    throw error
  }
}

/**
 * SQLite calls a column of a view BLOB also if it is one without a declared type, as columns of a full-text table are,
 * which have texts. Such a column gets the type that it has in its table.
 */
async function withOrigins (
  columns: ColumnRow[],
  { view, describe, textTables }: {
    readonly view: string
    readonly describe: Describe
    readonly textTables: ReadonlySet<string>
  }
): Promise<ColumnRow[]> {
  if (columns.every(({ type }) => type !== 'BLOB')) return columns
  const origins = await describe(`select * from ${quoted(view)}`).catch((error) => {
    if (isLogicError(error as SqliteError)) return []
    throw error
  })
  if (origins.length !== columns.length) return columns
  return columns.map((column, index) => {
    const { table, column: origin, type } = origins[index] as typeof origins[number]
    if (column.type !== 'BLOB' || type !== null) return column
    // the hidden columns of a full-text table are its name and the rank
    const isText = table !== null && textTables.has(table) && origin !== table && origin !== 'rank'
    return { ...column, type: isText ? 'TEXT' : '' }
  })
}

/** An INTEGER PRIMARY KEY, the only primary key without an index. */
function isRowid (column: ColumnRow, primaryKey: readonly string[], keys: readonly IndexRow[]): boolean {
  return column.pk === 1 && primaryKey.length === 1 && !keys.some(({ origin }) => origin === 'pk')
}

/** Whether the primary key identifies rows by its columns, which it does not if it has other collations. */
const identifiesRows = ([first]: readonly Index[]): boolean =>
  first?.name !== 'PRIMARY' || first.parts.every(({ column }) => column !== null)

/** Columns with the same declaration share a type, because thousands of columns have dozens of types. */
function createTypes (): (declaration: string) => ColumnType {
  const types = new Map<string, ColumnType>()
  return (declaration) => getOrCreate(types, declaration, () => {
    const [, name, length, scale] = DECLARATION.exec(declaration.toLowerCase()) as unknown as [
      whole: string,
      name: string,
      length?: string,
      scale?: string
    ]
    return sqliteType({
      name,
      declaration,
      length: toNumber(length),
      bytes: null,
      scale: toNumber(scale),
      charset: null,
      srid: null,
      json: false
    })
  })
}

/** Matches `decimal(10, 2)`, and every other text that begins with a name. */
const DECLARATION = /^([^(]*)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?/

function toColumn (
  row: ColumnRow,
  {
    rowid,
    collation,
    typeOf
  }: { rowid: boolean; collation: string | undefined; typeOf: (declaration: string) => ColumnType }
): Column {
  const generated = row.hidden === 2 || row.hidden === 3
  const nullable = row.notnull === 0 && !rowid
  const type = typeOf(row.type)
  return {
    name: row.name,
    type,
    declaration: row.type,
    nullable,
    generated,
    ...(!rowid && collation !== undefined && { collation }),
    autoIncrement: rowid,
    optional: nullable || rowid || generated || row.dflt_value !== null,
    ...defaultOf(row.dflt_value, type),
    comment: ''
  }
}

function defaultOf (
  sql: string | null,
  type: ColumnType
): Pick<Column, 'defaultText' | 'defaultComputed' | 'defaultSql'> {
  const defaultText = constantIn(sql, type)
  return {
    defaultText,
    defaultSql: sql === null ? 'null' : `(${withQuotedTexts(sql)})`,
    ...(defaultText === null && sql !== null && sql.toLowerCase() !== 'null' && { defaultComputed: true })
  }
}

/** Replaces double quotes, in which a text of a definition may stand, and outside of it a column. */
const withQuotedTexts = (sql: string): string =>
  sql.replace(/'(?:[^']|'')*'|"((?:[^"]|"")*)"/g, (found, text?: string) =>
    text === undefined ? found : `'${text.replaceAll('""', '"').replaceAll("'", "''")}'`)

/** SQLite writes it unchanged if a column stores it as a text, unlike 1.50. */
const WHOLE_NUMBER = /^(?:0|-?[1-9]\d{0,17})$/

/**
 * The constant in the SQL of a default: `'it''s'`, `-5`. Null for an expression, and for a constant that is stored in
 * another form than the type's.
 */
function constantIn (sql: string | null, type: ColumnType): string | null {
  const [, quoted, number = ''] = /^(?:'((?:[^']|'')*)'|([-+]?\d+(?:\.\d+)?))$/.exec(sql ?? '') ?? []
  const text = quoted?.replaceAll("''", "'") ?? number
  const value = readDefault(type, text)
  if (value === undefined || (quoted === undefined && number === '')) return null
  const isStoredText = typeof value === 'string' && !type.structured
  return isStoredText && (value !== text || (quoted === undefined && !WHOLE_NUMBER.test(number))) ? null : text
}

const GAP = String.raw`(?:\s|--[^\n]*\n|/\*[^]*?\*/)`
const BARE_NAME = String.raw`[\w$\u0080-\uffff]+(?![\w$\u0080-\uffff])`
const NAME = String.raw`(?:"(?:[^"]|"")*"|\[[^\]]*\]|\`(?:[^\`]|\`\`)*\`|'(?:[^']|'')*'|${BARE_NAME})`
/** A trigger as SQLite stores it: CREATE TRIGGER, and the original text from the name on. */
const TRIGGER = new RegExp(
  `^create trigger ${GAP}*${NAME}${GAP}*(?:(before|after|instead)${GAP}+(?:of${GAP}+)?)?(insert|update|delete)\\b`,
  'i'
)

/** A column of a full-text table, and what follows it. */
const COLUMN_ARGUMENT = new RegExp(`^${GAP}*(${NAME})([^]*)$`)

const NAMED_CHECK = new RegExp(`\\bconstraint${GAP}*(${NAME})${GAP}*check\\b`, 'gi')

/** The named CHECKs, because the error of another one has its expression. Their columns are not determined. */
function toChecks (sql: string): Check[] {
  return Array.from(sql.matchAll(NAMED_CHECK), ([, name]) => ({ name: unquote(name as string), columns: [] }))
}

const QUOTES = new Map([['"', '"'], ['`', '`'], ["'", "'"], ['[', ']']])

function unquote (name: string): string {
  const quote = QUOTES.get(name.charAt(0))
  return quote === undefined ? name : name.slice(1, -1).replaceAll(quote + quote, quote)
}

function toTriggers (rows: TriggerRow[]): Triggers {
  const list = rows.flatMap(({ sql }): Trigger[] => {
    const [, timing = 'before', event] =
      (TRIGGER.exec(sql)?.map((text) => text?.toLowerCase()) as
        [string, TriggerTiming | undefined, TriggerEvent] | undefined) ?? []
    const writes = writesOf(sql, 'sqlite')
    return event === undefined ? [] : [{ timing, event, ...writes.length > 0 && { writes } }]
  })
  // a trigger that this pattern does not match may be of any event
  return { isComplete: list.length === rows.length, list }
}

const toNumber = (digits: string | undefined): number | null => digits === undefined ? null : Number(digits)

/**
 * Names after columns. SQLite numbers the unique constraints and foreign keys of a table, and a number would tell a
 * grant how many others it does not see; here only keys of the same columns are numbered, which it sees together.
 */
function namer (): (prefix: string, columns: ReadonlyArray<string | null>) => string {
  const counts = new Map<string, number>()
  return (prefix, columns) => {
    const key = JSON.stringify(columns)
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return [prefix, ...columns, ...(count > 1 ? [count] : [])].join('_')
  }
}

/** SQLite calls the index of a unique constraint `sqlite_autoindex_people_2`. */
function withOwnNames (rows: readonly IndexRow[]): IndexRow[] {
  const nameOf = namer()
  return [...Map.groupBy(rows, ({ key }) => key).values()].flatMap((parts) => {
    const { table, origin } = parts[0] as IndexRow
    if (origin !== 'u') return parts
    const key = nameOf(`sqlite_autoindex_${table}`, parts.map(({ column }) => column))
    return parts.map((part) => ({ ...part, key }))
  })
}

/** The columns of a key, without the expressions in it. */
function toKeys (rows: IndexRow[], primaryKey: readonly string[]): Key[] {
  const partsByKey = Map.groupBy(rows.filter(({ origin }) => origin !== 'pk'), (row) => row.key)
  const keys = Array.from(partsByKey, ([name, parts]): Key =>
    ({ name, columns: parts.flatMap(({ column }) => column ?? []) }))
  return primaryKey.length === 0 ? keys : [{ name: 'PRIMARY', columns: primaryKey }, ...keys]
}

/** They have no names, and reference the primary key if they name no columns. */
function toForeignKeys (
  table: string,
  rows: ForeignRow[],
  primaryKeys: ReadonlyMap<string, readonly string[]>
): ForeignKey[] {
  const nameOf = namer()
  return [...Map.groupBy(rows, (row) => row.id).values()].map((parts) => {
    const { referenced, onUpdate, onDelete } = parts[0] as ForeignRow
    const cascades = { ...cascade('update', onUpdate), ...cascade('delete', onDelete) }
    const named = parts.flatMap(({ to }) => to ?? [])
    const columns = parts.map((part) => part.from)
    return {
      name: nameOf(table, columns),
      columns,
      referencedTable: referenced,
      referencedColumns: named.length > 0 ? named : (primaryKeys.get(referenced.toLowerCase()) ?? []),
      ...(Object.keys(cascades).length > 0 && { cascades })
    }
  })
}

/** See https://www.sqlite.org/foreignkeys.html#fk_actions. */
function cascade (event: 'update' | 'delete', action: string): NonNullable<ForeignKey['cascades']> {
  if (action === 'CASCADE') return { [event]: event }
  return action.startsWith('SET ') ? { [event]: 'update' } : {}
}
