/**
 * The frozen result of introspecting a database. Names from requests are looked up in `Map`s, because a plain object
 * would find `constructor` and `__proto__`.
 */
import { TRAITS } from './traits.ts'
import type { Path } from '../errors.ts'
import { allOf, type LongWork } from '../in-pieces.ts'
import type { ColumnType, Value } from '../types/column-type.ts'

export interface Column {
  readonly name: string
  readonly type: ColumnType
  /** The declaration as the engine writes it: `decimal(10,2) unsigned`. */
  readonly declaration: string
  readonly nullable: boolean
  /** Computed by the database from other columns, so never written. */
  readonly generated: boolean
  /** MySQL and MariaDB: generated, and computed when a row is read, with an error if that fails. */
  readonly virtual?: true
  /**
   * As the database names it: `utf8mb4_0900_ai_ci`, `NOCASE`. MySQL and MariaDB: set for columns of texts. SQLite: set
   * for columns of tables except the rowid, in upper case.
   */
  readonly collation?: string
  /** MySQL and MariaDB: of a column of texts. */
  readonly charset?: string
  /** An update that does not write the column sets it to the current time. */
  readonly onUpdate?: true
  /** The database numbers the column if no value is given. */
  readonly autoIncrement: boolean
  /** An insert may leave it out. */
  readonly optional: boolean
  /** The text of the default, if it is a constant. */
  readonly defaultText: string | null
  /** An expression, whose value only the database knows. */
  readonly defaultComputed?: true
  /** Columns of the same row, if the expression of the default reads any. */
  readonly defaultReads?: readonly string[]
  /** SQLite has no keyword for the default. */
  readonly defaultSql?: string
  /** INVISIBLE in MySQL and MariaDB: `*` in SQL does not include it. */
  readonly invisible?: true
  readonly comment: string
  /** The column of a table whose values a column of a result has by another name. */
  readonly origin?: Column
}

/** Columns of results that are not columns of a table have these in common. */
export const OF_RESULT = {
  generated: true,
  autoIncrement: false,
  optional: true,
  defaultText: null,
  comment: ''
} as const

/** Primary or unique; the columns in order. */
export interface Key {
  readonly name: string
  readonly columns: readonly string[]
}

export interface Index {
  readonly name: string
  readonly unique: boolean
  /** Rows can be read in the order of its parts: a B-tree that the optimizer may use. */
  readonly ordered: boolean
  readonly parts: readonly IndexPart[]
  /**
   * For `$match`, an index of words. On SQLite it is an FTS5 table, of the index's name; `rowid` is what this table
   * knows the rows by: the column that is the rowid, or a name of the rowid. MySQL and MariaDB: null.
   */
  readonly fullText?: { readonly rowid: string | null }
}

export interface IndexPart {
  /** Null for an expression. */
  readonly column: string | null
  readonly descending: boolean
  /** Only the beginning of each value is in the index. */
  readonly prefix: boolean
}

export interface ForeignKey {
  readonly name: string
  readonly columns: readonly string[]
  readonly referencedTable: string
  readonly referencedColumns: readonly string[]
  /** MySQL and MariaDB: there is no such table, so that no value but NULL can be written. */
  readonly broken?: true
  /**
   * What is done to the rows of this table when the row that they refer to is updated or deleted, on engines where that
   * fires triggers (SQLite).
   */
  readonly cascades?: Readonly<Partial<Record<TriggerEvent, TriggerEvent>>>
}

/** `columns`: as far as they are known. */
export interface Check {
  readonly name: string
  readonly columns: readonly string[]
}

export type TriggerEvent = 'insert' | 'update' | 'delete'
/** `instead` is SQLite's INSTEAD OF, which only views have. */
export type TriggerTiming = 'before' | 'after' | 'instead'

/** A write of a trigger to a table, whose name is as the trigger's text has it. */
export interface TriggerWrite {
  readonly table: string
  readonly event: TriggerEvent
}

export interface Trigger {
  readonly timing: TriggerTiming
  readonly event: TriggerEvent
  /** The tables that the trigger writes, as far as its text shows. */
  readonly writes?: readonly TriggerWrite[]
}

/** The triggers of a table, as far as the account may see them. */
export interface Triggers {
  /**
   * The list is complete: MySQL shows triggers only to accounts that hold the TRIGGER privilege, MariaDB by version
   * also to those that may write.
   */
  readonly isComplete: boolean
  readonly list: readonly Trigger[]
  /** The tables that triggers of each event write, also by further triggers, as far as their texts show. */
  readonly written?: Readonly<Record<TriggerEvent, readonly string[]>>
}

/** What plans and statements must know about a server of MySQL's protocol (src/dialects/mysql/engines.ts). */
export interface ServerTraits {
  /** Rows can be locked shared; otherwise they are locked as for an update. */
  readonly sharesLocks: boolean
  /**
   * How an upsert finds its rows: by one statement, which names the row of the insert as each version does or by
   * `values()`; or row by row, by the key.
   */
  readonly upsert: 'byVersion' | 'values' | 'byKey'
  /** Paths inside JSON can count from the end of a list. */
  readonly countsFromEnd: boolean
  /**
   * Subqueries belong into the arguments of aggregates. MariaDB refuses there subqueries on views that compute
   * aggregates (1111), and reads the related rows of equal values again for each row.
   */
  readonly nestsInAggregates: boolean
}

export interface Table {
  readonly name: string
  readonly kind: 'table' | 'view'
  readonly comment: string
  /** In lower case: `innodb`, `myisam`, `sqlite`; empty if the server names none, as for views. */
  readonly engine: string
  /**
   * False only if the server says that the engine has no transactions, so that a failed statement may leave rows
   * changed.
   */
  readonly transactional: boolean
  /** What the server of the table has; all of it if omitted. */
  readonly traits?: ServerTraits
  readonly triggers: Triggers
  /**
   * MariaDB: the table keeps its history (`with system versioning`): also an update that changes no value writes a row,
   * and counts.
   */
  readonly versioned?: true
  /**
   * MySQL and MariaDB: what a select names to show the present columns: `*` and the INVISIBLE columns or, if the
   * account may not select the whole table, the columns that it may select.
   */
  readonly shownBy?: { readonly all: boolean, readonly names: readonly string[] }
  /**
   * SQLite: the definition may have an ON CONFLICT clause, which applies to statements without one (`on conflict
   * replace`).
   */
  readonly hasConflictClause?: true
  /** SQLite: the file that the table was read from, and the version of its definitions. */
  readonly version?: string
  /** In the order of the table. */
  readonly columns: ReadonlyMap<string, Column>
  readonly columnList: readonly Column[]
  /** The columns of a row if a request names none. */
  readonly visibleColumns: readonly Column[]
  /** An insert must not leave them out. */
  readonly requiredColumns: readonly Column[]
  readonly primaryKey: readonly string[]
  readonly uniqueKeys: readonly Key[]
  /** The primary key first, then the others in the order of their definition. */
  readonly indexes: readonly Index[]
  readonly foreignKeys: readonly ForeignKey[]
  readonly outerKeys?: readonly ForeignKey[]
  /** The account may not see the columns of some foreign keys. */
  readonly hidesKeys?: true
  readonly checks: readonly Check[]
  /**
   * `id` in a response refers to it: the one that the database numbers, or else the single column of the primary key.
   */
  readonly identity: Column | undefined
  /** Set on a table that `src/access` derived for a grant; the other fields then contain only what the grant sees. */
  readonly granted?: GrantedAccess
}

/** What a grant may do with a table. */
export interface GrantedAccess {
  /** The table of the catalog. */
  readonly base: Table
  /**
   * The table without values of rules, by which statements are cached: all grants with the same columns and rules of
   * the same shape share it. Undefined in the shape itself.
   */
  readonly shape: Table | undefined
  /** `data` of an insert must contain them because of a rule. */
  readonly required: ReadonlySet<string>
  readonly writable: Readonly<Record<'insert' | 'update', ReadonlyMap<string, Column>>>
  /** Every row that is read or written satisfies all of them. */
  readonly rules: readonly Rule[]
  /** The foreign keys to tables that the grant has rules for. */
  readonly parents: readonly Parent[]
  /** Keys to tables with rules whose rows cannot be looked up: they can only be NULL. */
  readonly unchecked: readonly UncheckedKey[]
}

/** `reason`: the explanation for `row-query check`. */
export interface UncheckedKey {
  readonly columns: readonly string[]
  readonly reason: string
}

/** A row must pass all tests. */
export interface Rule {
  readonly column: Column
  readonly tests: readonly RuleTest[]
}

export type RuleTest =
  | { readonly kind: 'in', readonly values: ReadonlyArray<Value | null> }
  | { readonly kind: 'notNull' }
  | { readonly kind: 'order', readonly operator: '>' | '>=' | '<' | '<=', readonly value: Value }

export interface Parent {
  readonly key: ForeignKey
  readonly table: Table
  /**
   * Undefined if they cannot be applied to it, so that no row satisfies them. @throws PERMISSION_DENIED for claims that
   * cannot be used
   */
  readonly rules: () => readonly Rule[] | undefined
}

export interface Catalog {
  readonly tables: ReadonlyMap<string, Table>
  /** Such as views of a table that was dropped, with the reasons for the log. */
  readonly broken?: ReadonlyMap<string, string>
  /**
   * The tables that this reading, for which a failed statement has asked, lacks, or has without a part, as they were.
   * They may come back.
   */
  readonly missing?: ReadonlyMap<string, Table>
  /** The tables as this reading has them, if `tables` has some as they were, because what they lose may come back. */
  readonly found?: ReadonlyMap<string, Table>
  /** When it was read, in milliseconds since 1970. */
  readonly loadedAt: number
}

/** A table as a dialect's introspection gathers it. */
export type TableFacts = Omit<
  Table,
  'columns' | 'columnList' | 'visibleColumns' | 'requiredColumns' | 'identity' | 'granted'
> & {
  readonly columns: readonly Column[]
  /** Why the database cannot open it, for the log: it has no columns. */
  readonly broken?: string
}

/** Statements are cached by it. */
export const statementTable = (table: Table): Table => table.granted?.shape ?? table

/** Including what a grant does not see. */
export const baseTable = (table: Table): Table => table.granted?.base ?? table

/**
 * Whether a statement of this kind may run a trigger of the table. Also true where the account may not see triggers.
 */
export function mayFire (
  { triggers: { isComplete, list } }: Pick<Table, 'triggers'>,
  event: TriggerEvent,
  timing?: TriggerTiming
): boolean {
  return (
    !isComplete ||
      list.some((trigger) => trigger.event === event && (timing === undefined || trigger.timing === timing))
  )
}

export const traitsOf = ({ engine }: Pick<Table, 'engine'>) => TRAITS[engine === 'sqlite' ? 'sqlite' : 'mysql']

/** Whether a trigger may set columns of a row before it is inserted, its key among them. */
export function mayFillColumns (table: Pick<Table, 'engine' | 'triggers'>): boolean {
  const { isComplete, list } = table.triggers
  if (isComplete && list.length === 0) return false
  return traitsOf(table).triggersSetColumns && mayFire(table, 'insert', 'before')
}

/**
 * A delete may delete or change other rows of the table before the statement reaches them: by foreign keys of the table
 * to itself, or by foreign keys of other tables that lead back to it.
 */
export function mayCascade (table: Table): boolean {
  const { foreignKeys, outerKeys, hidesKeys } = baseTable(table)
  return foreignKeys.length > 0 || outerKeys !== undefined || hidesKeys === true
}

/** The table of the service itself (src/idempotency/keys-table.ts), which no request can name. */
export const KEYS_TABLE = 'row_query_keys'

/** In the unit of LongWork. */
const COLUMN_WORK = 1024

/** Leaves out tables without columns: those that the database cannot open, or of which the account sees none. */
export function createCatalog (tables: readonly TableFacts[], loadedAt: number): Catalog {
  return allOf(createCatalogInParts(tables, loadedAt))
}

/** Like `createCatalog`, but other work can run between tables. */
export function * createCatalogInParts (tables: readonly TableFacts[], loadedAt: number): LongWork<Catalog> {
  const byName = new Map<string, Table>()
  const broken = new Map<string, string>()
  for (const facts of tables) {
    if (facts.broken !== undefined) broken.set(facts.name, facts.broken)
    if (facts.columns.length === 0 || facts.name.toLowerCase() === KEYS_TABLE) continue
    byName.set(facts.name, createTable(facts))
    yield facts.columns.length * COLUMN_WORK
  }
  return Object.freeze({ tables: byName, ...broken.size > 0 && { broken }, loadedAt })
}

function createTable (facts: TableFacts): Table {
  const columns = new Map(facts.columns.map((column) => [column.name, Object.freeze(column)]))
  const single = facts.primaryKey.length === 1 ? columns.get(facts.primaryKey[0] as string) : undefined
  const identity = facts.columns.find((column) => column.autoIncrement) ?? single
  return Object.freeze({
    ...facts,
    columns,
    columnList: facts.columns,
    visibleColumns: visibleAmong(facts.columns),
    requiredColumns: facts.columns.filter(({ optional }) => !optional),
    identity
  })
}

/** Those that are not invisible; all of them if a grant sees no others, because a row needs one. */
export function visibleAmong (columns: readonly Column[]): readonly Column[] {
  const visible = columns.filter(({ invisible }) => invisible !== true)
  return visible.length === 0 || visible.length === columns.length ? columns : visible
}

/**
 * A name in a definition is as it was written, where engines ignore the case of names: the exact name, else one in
 * another case.
 */
export function findIgnoringCase<T> (byName: ReadonlyMap<string, T>, name: string): T | undefined {
  const exact = byName.get(name)
  if (exact !== undefined) return exact
  const lower = name.toLowerCase()
  for (const [each, value] of byName) if (each.toLowerCase() === lower) return value
  return undefined
}

/** With the missing columns of the primary key, which InnoDB appends and both servers use. */
export function partsOf ({ parts, name }: Index, { engine, indexes }: Table): readonly IndexPart[] {
  const primary = indexes[0]
  if (
    engine !== 'innodb' ||
    primary?.name !== 'PRIMARY' ||
    name === 'PRIMARY' ||
    primary.parts.some(({ prefix }) => prefix)
  ) { return parts }
  const whole = new Set(parts.filter(({ prefix }) => !prefix).map(({ column }) => column))
  return [...parts, ...primary.parts.filter(({ column }) => !whole.has(column))]
}

/** The tables that a request may name, as its grant sees them. */
export interface TableSource {
  /** Of the request. */
  readonly table: Table
  /**
   * Another table of the same database, by its exact name. `path`: the place in the body that names it. @throws
   * TABLE_NOT_FOUND if there is none that the grant sees
   */
  see (name: string, path: Path): Table
}

export const alone = (table: Table): TableSource => ({ table, see: () => table })

/** Other work can run between tables. */
export function * describeAll<Source> (
  sources: Iterable<Source>,
  describe: (source: Source) => TableFacts
): LongWork<TableFacts[]> {
  const tables: TableFacts[] = []
  for (const source of sources) {
    const table = describe(source)
    tables.push(table)
    yield (table.columns.length + 1) * COLUMN_WORK
  }
  return tables
}
