/** No field that the planner reads contains a hidden column. */
import {
  baseTable, type Catalog, type Column, type ForeignKey, type GrantedAccess, type Parent, type Rule, type Table,
  type UncheckedKey, visibleAmong
} from '../catalog/catalog.ts'
import { BoundedMap, getOrCreate } from '../bounded-map.ts'
import {
  type ColumnGrant, type DatabaseGrant, findTableGrant, type Grant, permissionsOn, type TableGrant
} from './grant.ts'
import { bindRules, type ConfiguredRule, findBrokenRule, resolveRules, RuleBroken } from './rules.ts'

/** Who sees tables, in one reading of the catalog of a database. */
export interface Viewer {
  readonly grant: Grant
  readonly database: string
  readonly catalog: Catalog
}

// Foreign keys to tables with rules whose rows the service cannot look up.

/**
 * For a grant they can only be null: those to a table with rules that is in another database or that the account does
 * not see, and every column of a table whose keys the account does not see if the grant has any rules.
 */
export function findUncheckedKeys (
  { grant, database, catalog }: Viewer,
  { foreignKeys, outerKeys = [], hidesKeys, columnList }: Table
): UncheckedKey[] {
  if (grant.databases === 'all') return []
  const { databases } = grant
  const databaseGrant = databases.get(database)
  // the database of an outer key may be on another server: the name of the table is all that is known
  const hasRulesElsewhere = (table: string): boolean =>
    [...databases].some(([name, granted]) => name !== database && hasRules(granted, table))
  const unseen = foreignKeys.filter(
    ({ referencedTable }) =>
      !catalog.tables.has(referencedTable) &&
      databaseGrant !== undefined && hasRules(databaseGrant, referencedTable, catalog)
  )
  const outer = outerKeys.filter(({ referencedTable }) => hasRulesElsewhere(referencedTable))
  const hidden =
    hidesKeys === true &&
    [...databases.values()].some(
      ({ tables }) => tables !== 'all' && [...tables.values()].some(({ rules }) => rules.length > 0)
    )
      ? columnList
      : []
  return [
    ...unseen.map(({ name, columns, referencedTable }) => ({
      columns,
      reason: `foreign key "${name}" refers to "${referencedTable}", which the database account does not see`
    })),
    ...outer.map(({ name, columns, referencedTable }) => ({
      columns,
      reason: `foreign key "${name}" refers to "${referencedTable}" in another database`
    })),
    ...hidden.map(({ name }) => ({
      columns: [name],
      reason: `the database account does not see whether column "${name}" belongs to a foreign key`
    }))
  ]
}

/**
 * The grant may name the table in another letter case. A table of the catalog is not the one that the account does not
 * see.
 */
function hasRules ({ tables }: DatabaseGrant, table: string, catalog?: Catalog): boolean {
  if (tables === 'all') return false
  const lower = table.toLowerCase()
  return [...tables].some(
    ([name, { rules }]) => rules.length > 0 && name.toLowerCase() === lower && catalog?.tables.has(name) !== true
  )
}

/**
 * Undefined if the table must appear not to exist, because a rule does not apply to it.
 * @throws PERMISSION_DENIED if the claims of the grant cannot be used
 */
export function findGrantedTable (viewer: Viewer, table: Table): Table | undefined {
  const { grant, database } = viewer
  const granted = grant.databases === 'all' ? undefined : grant.databases.get(database)
  if (granted === undefined) return table
  const { tables, isNarrowed } = granted
  if (tables !== 'all' && isNarrowed) {
    return grant.tables.get(table) ?? createGrantedTable(viewer, tables, table)
  }
  return table.outerKeys === undefined && table.hidesKeys !== true
    ? table
    : (grant.tables.get(table) ?? createGrantedTable(viewer, NO_TABLES, table))
}

/**
 * For documents, before the claims are known: the columns without the rules. Undefined if the table must appear not to
 * exist.
 */
export function describeTable ({ grant, database, catalog }: Viewer, table: Table): Table | undefined {
  if (permissionsOn(grant, database, table.name).size === 0) return undefined
  const granted = findTableGrant(grant, database, table.name)
  if (granted === undefined || (granted.columns === undefined && granted.rules.length === 0)) return table
  return findBrokenRule(granted.rules, table.columns) === undefined
    ? getSharedTable(catalog, table, granted.columns, granted.rules)
    : undefined
}

const NO_TABLES: ReadonlyMap<string, TableGrant> = new Map()

function createGrantedTable (
  viewer: Viewer,
  tables: ReadonlyMap<string, TableGrant>,
  base: Table
): Table | undefined {
  const { grant, catalog } = viewer
  const { columns, rules: configured = [] } = tables.get(base.name) ?? {}
  const rules = tryBind(configured, grant, base)
  if (rules === undefined) return undefined
  const parents = base.foreignKeys.flatMap((key): Parent[] => {
    const table = catalog.tables.get(key.referencedTable)
    const theirs = (table && tables.get(table.name)?.rules) ?? []
    return table === undefined || theirs.length === 0
      ? []
      : [{ key, table, rules: () => tryBind(theirs, grant, table) }]
  })
  const unchecked = findUncheckedKeys(viewer, base)
  const isFree = rules.length === 0 && parents.length === 0 && unchecked.length === 0
  const shape = columns === undefined && isFree ? base : getSharedTable(catalog, base, columns, configured)
  const table = isFree
    ? shape
    : Object.freeze({ ...shape, granted: { ...(shape.granted as GrantedAccess), shape, rules, parents, unchecked } })
  grant.tables.set(base, table)
  return table
}

function tryBind (configured: readonly ConfiguredRule[], { claims }: Grant, { columns }: Table): Rule[] | undefined {
  const resolved = resolveRules(configured, claims)
  try {
    return bindRules(resolved, columns)
  } catch (error) {
    if (error instanceof RuleBroken) return undefined
    throw error
  }
}

/** Columns of all derived tables of a catalog: enough for thousands of usual tables. */
const MAX_COLUMNS = 200_000

/** Dropped with their catalog. */
const sharedTables = new WeakMap<Catalog, BoundedMap<string, Table>>()

/** Without the values of rules: grants that see the same share a table. The least recently used ones are removed. */
function getSharedTable (
  catalog: Catalog,
  base: Table,
  columns: ColumnGrant | undefined,
  rules: readonly ConfiguredRule[]
): Table {
  const cached = getOrCreate(sharedTables, catalog, () =>
    new BoundedMap<string, Table>(Infinity, MAX_COLUMNS, (table) => baseTable(table).columnList.length)
  )
  const [filled, required] = [true, false].map((isEquality) =>
    rules
      .filter((rule) => rule.isEquality === isEquality)
      .map(({ column }) => column)
      .sort()
  ) as [string[], string[]]
  const key = JSON.stringify([
    base.name,
    columns && [columns.select, columns.insert, columns.update].map((names) => [...names].sort()),
    filled,
    required
  ])
  const shape =
    cached.get(key) ?? createSharedTable(base, columns, { filled: new Set(filled), required: new Set(required) })
  cached.set(key, shape)
  return shape
}

/** `filled`: the columns to which a rule gives a value; `required`: those with another rule. */
function createSharedTable (
  base: Table,
  grant: ColumnGrant | undefined,
  { filled, required }: Readonly<Record<'filled' | 'required', ReadonlySet<string>>>
): Table {
  const among = (names: ReadonlySet<string> | undefined): Column[] =>
    names === undefined ? [...base.columnList] : base.columnList.filter(({ name }) => names.has(name))
  const byName = (columns: readonly Column[]): Map<string, Column> =>
    new Map(columns.map((column) => [column.name, column]))
  const columnList = among(grant?.select)
  const columns = byName(columnList)
  const insertable = byName(among(grant?.insert))
  const isSeen = (names: readonly string[]): boolean => names.every((name) => columns.has(name))
  const hidesSome = columnList.length < base.columnList.length
  const { name, kind, comment, engine, transactional, traits, triggers, versioned, hasConflictClause, outerKeys } = base
  // No spread: a field that is added to Table must be decided on here.
  return Object.freeze({
    name,
    kind,
    comment,
    engine,
    transactional,
    ...(traits !== undefined && { traits }),
    triggers,
    ...(versioned !== undefined && { versioned }),
    ...(hasConflictClause !== undefined && { hasConflictClause }),
    columns,
    columnList,
    visibleColumns: visibleAmong(columnList),
    requiredColumns: base.requiredColumns.filter(
      ({ name }) => (columns.has(name) || insertable.has(name)) && !filled.has(name)
    ),
    primaryKey: isSeen(base.primaryKey) ? base.primaryKey : [],
    indexes: base.indexes.filter(({ parts }) => parts.every(({ column }) => column !== null && columns.has(column))),
    uniqueKeys: base.uniqueKeys.filter((key) => isSeen(key.columns)),
    foreignKeys: base.foreignKeys.filter((key: ForeignKey) => isSeen(key.columns)),
    ...(outerKeys !== undefined && { outerKeys: outerKeys.filter((key) => isSeen(key.columns)) }),
    // the columns of a check are not always known
    checks: base.checks.filter((check) => !hidesSome || (check.columns.length > 0 && isSeen(check.columns))),
    identity: base.identity !== undefined && columns.has(base.identity.name) ? base.identity : undefined,
    granted: {
      base,
      shape: undefined,
      required,
      writable: { insert: insertable, update: byName(among(grant?.update)) },
      rules: [],
      parents: [],
      unchecked: []
    }
  } satisfies Table)
}
