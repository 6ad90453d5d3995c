/** The part of a database that a grant may see and use; documents contain nothing else. */
import { type Verb, VERBS } from '../../schemas/grants.ts'
import type { OpenapiInfo } from '../../schemas/options.ts'
import { createGrant, type Grant, permissionsOn } from '../access/grant.ts'
import { describeTable } from '../access/granted-table.ts'
import type { Catalog, Column, ForeignKey, Table } from '../catalog/catalog.ts'
import { type Pair, relationsBetween } from '../catalog/relations.ts'
import { getOrCreate } from '../bounded-map.ts'
import type { RequestLimits } from '../plan/limits.ts'

export interface VisibleTable { readonly table: Table, readonly verbs: readonly Verb[] }

/** Tables in the order of the catalog, without those that have no possible verb. */
export function visibleTables (catalog: Catalog, grant: Grant, database: string): VisibleTable[] {
  return [...catalog.tables.values()].flatMap((base) => {
    const permissions = permissionsOn(grant, database, base.name)
    const table = describeTable({ grant, database, catalog }, base)
    if (table === undefined) return []
    const verbs = VERBS.filter((verb) => permissions.has(verb) && isPossible(table, verb))
    return verbs.length === 0 ? [] : [{ table, verbs }]
  })
}

/** Whether a verb is possible: a select must return a column, an update must write one, and filters need one. */
function isPossible (table: Table, verb: Verb): boolean {
  if (verb === 'select') return table.columns.size > 0
  if (table.kind === 'view') return false
  return verb === 'insert' || (table.columns.size > 0 && (verb === 'delete' || writableColumns(table, verb).length > 0))
}

/** The columns that `data` of an insert or update may contain. */
export function writableColumns (table: Table, verb: 'insert' | 'update'): Column[] {
  const granted = [...(table.granted?.writable[verb] ?? table.columns).values()]
  return granted.filter(({ generated, type }) => !generated && type.writable)
}

/** It is the same for grants that see the same part of a database. */
export function cacheKeyOf (catalog: Catalog, grant: Grant, database: string): string {
  const granted = grant.databases === 'all' ? undefined : grant.databases.get(database)
  if (granted === undefined || granted.tables === 'all') return JSON.stringify(verbsIn(grant.permissions))
  if (!granted.isNarrowed) {
    return JSON.stringify([...granted.tables].map(([name, { permissions }]) => [name, verbsIn(permissions)]).sort())
  }
  return JSON.stringify(
    visibleTables(catalog, grant, database).map(({ table: { name, columns, requiredColumns, granted }, verbs }) => {
      if (granted === undefined) return [name, verbs]
      // a rule may give a value to a column that would otherwise be required
      return [
        name,
        verbs,
        ...[columns, granted.writable.insert, granted.writable.update].map((each) => [...each.keys()]),
        [...granted.required],
        requiredColumns.map((column) => column.name)
      ]
    })
  )
}

const verbsIn = (permissions: ReadonlySet<Verb>): Verb[] => VERBS.filter((verb) => permissions.has(verb))

/** A grant with all permissions, for public documents and the command line. */
export const EVERYTHING: Grant = createGrant('everything', { permissions: VERBS, requests: '*' })

/** A table whose rows are related to another table's by only one relation, so that `on` can be omitted. */
interface RelatedTable { readonly other: Table, readonly on: readonly Pair[] }

/** For each table with foreign keys from or to others: the related tables from which the caller may select. */
export function findRelatedTables (tables: readonly VisibleTable[]): ReadonlyMap<Table, readonly RelatedTable[]> {
  const byName = new Map(tables.filter(({ verbs }) => verbs.includes('select')).map(({ table }) => [table.name, table]))
  const neighbours = new Map<Table, Set<Table>>()
  const connect = (table: Table, other: Table): unknown => getOrCreate(neighbours, table, () => new Set()).add(other)
  for (const table of byName.values()) {
    for (const { referencedTable } of table.foreignKeys) {
      const referenced = byName.get(referencedTable)
      if (referenced === undefined) continue
      connect(table, referenced)
      connect(referenced, table)
    }
  }
  return new Map(Array.from(neighbours, ([table, others]) => [table, [...others].flatMap((other): RelatedTable[] => {
    const relations = relationsBetween(table, other)
    return relations.length === 1 ? [{ other, on: relations[0] as readonly Pair[] }] : []
  })]))
}

export type DocumentLimits = Pick<RequestLimits, 'values' | 'pattern' | 'offset' | 'operations' | 'include'>

export interface DocumentSettings {
  /** Path prefix of the service. */
  readonly prefix: string
  readonly limits: DocumentLimits
  /** Replaces the title, licence and so on. */
  readonly info?: OpenapiInfo | undefined
}

export interface Subject extends VisibleTable {
  /** Prefix of schema names. */
  readonly name: string
  readonly limits: DocumentLimits
  /** The names of tables that filters can relate without `on`, and the prefixes of their schemas. */
  readonly related: ReadonlyArray<{ readonly table: string, readonly name: string }>
  /** Whether the document may name the table and columns that a foreign key refers to. */
  readonly isVisible: (key: ForeignKey) => boolean
  readonly hasMembers: boolean
}
