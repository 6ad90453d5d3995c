/**
 * Names the other table of a violated foreign key as far as the grant sees it. What it names is the catalog's, whatever
 * the rows are; only a grant that sees every row that may refer to another one learns which table does.
 */
import { type Catalog, type ForeignKey, type Table, traitsOf } from '../catalog/catalog.ts'
import { isServiceError, type ServiceError, type Violated, withDetails } from '../errors.ts'
import { findTableGrant, type Grant, permissionsOn } from './grant.ts'
import { describeTable, type Viewer } from './granted-table.ts'

interface Owned { readonly table: Table, readonly key: ForeignKey }

/** Keys that a message names. */
const MAX_NAMED = 5

/** Adds the other tables to the details of FOREIGN_KEY_VIOLATION, and leaves every other error as it is. */
export function nameTables<E> (
  error: E,
  grant: Grant,
  { name: database, catalog }: { readonly name: string, readonly catalog: Catalog | undefined }
): E {
  if (!isServiceError(error) || error.violated === undefined || catalog === undefined) return error
  const viewer = { grant, database, catalog }
  const { keys, referring, table } = error.violated
  // once, wherever it passes by
  delete error.violated
  if (referring !== undefined) {
    const messages = describeReferring(referring, viewer)
    withMessages(error, () => messages)
    return error
  }
  const base = catalog.tables.get(table)
  // the catalog may have been read again since the plan was made
  const isViolated = ({ name }: ForeignKey): boolean => keys.some((key) => key.name === name)
  const seen = (base?.foreignKeys ?? []).filter((key) => isViolated(key) && seesReferenced(key, viewer))
  withMessages(error, (message) => {
    const key = seen.find(({ name, columns }) => message === `foreign key "${name}" on ${listOf(columns)}`)
    if (key === undefined) return message
    return `${message} refers to ${listOf(key.referencedColumns)} of "${key.referencedTable}"`
  })
  return error
}

const listOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

function withMessages (error: ServiceError, change: (message: string) => string): void {
  withDetails(error, ...error.details.map((detail) => ({ ...detail, message: change(detail.message) })))
}

/** The table as documents show it. */
function seenTable (name: string, viewer: Viewer): Table | undefined {
  const table = viewer.catalog.tables.get(name)
  return table && describeTable(viewer, table)
}

const hasColumns = (table: Table | undefined, names: readonly string[]): boolean =>
  table !== undefined && names.every((name) => table.columns.has(name))

const seesReferenced = ({ referencedTable, referencedColumns }: ForeignKey, viewer: Viewer): boolean =>
  hasColumns(seenTable(referencedTable, viewer), referencedColumns)

const seesKey = ({ table, key }: Owned, viewer: Viewer): boolean =>
  hasColumns(seenTable(table.name, viewer), key.columns) && seesReferenced(key, viewer)

/** The grant sees every row of the table, and the columns of the key. */
const seesRows = (owned: Owned, viewer: Viewer): boolean => {
  const { grant, database } = viewer
  const { name } = owned.table
  return permissionsOn(grant, database, name).has('select') && seesKey(owned, viewer) &&
    (findTableGrant(grant, database, name)?.rules.length ?? 0) === 0
}

function describeReferring (
  { table, event, key: named }: NonNullable<Violated['referring']>,
  viewer: Viewer
): string {
  const all = keysLeadingTo(table, viewer.catalog, event)
  // only SQLite says which keys cascade
  const restricting = all.filter(({ table: owner, key }) =>
    traitsOf(owner).namesForeignKeys ? key.referencedTable === table : key.cascades?.[event] === undefined)
  const exact = named === undefined && restricting.length === 1
    ? restricting[0]
    : all.find((each) => each.table.name === named?.table && each.key.name === named.name)
  if (exact !== undefined && all.every((each) => seesRows(each, viewer))) {
    const { columns, name, referencedTable: other } = exact.key
    const referred = other === table ? 'this one' : `rows of "${other}" that depend on this one`
    return `rows of "${exact.table.name}" refer to ${referred} by ${listOf(columns)} (foreign key "${name}")`
  }
  const seen = restricting.filter((each) => seesKey(each, viewer))
    .map(({ table, key }) => `${listOf(key.columns)} of "${table.name}"`)
  if (seen.length === 0) return 'other rows refer to this one'
  const more = seen.length > MAX_NAMED ? ` and ${seen.length - MAX_NAMED} others` : ''
  return `other rows refer to this one; keys that may: ${seen.slice(0, MAX_NAMED).join(', ')}${more}`
}

/** And keys that refer to rows which the database may change because of them. */
function keysLeadingTo (name: string, catalog: Catalog, event: 'update' | 'delete'): Owned[] {
  const keys: Owned[] = []
  const names = new Set([name])
  for (const referenced of names) {
    for (const table of catalog.tables.values()) {
      for (const key of table.foreignKeys) {
        if (key.referencedTable !== referenced) continue
        keys.push({ table, key })
        if (traitsOf(table).namesForeignKeys || key.cascades?.[event] !== undefined) names.add(table.name)
      }
    }
  }
  return keys
}
