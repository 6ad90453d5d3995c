import type { Catalog, Table } from '../catalog/catalog.ts'
import type { TableSource } from '../catalog/table-source.ts'
import { brokenDefinition, tableNotFound, withReason } from '../errors.ts'
import { permissionsOn, type Grant } from './grant.ts'
import { findGrantedTable } from './granted-table.ts'

export interface Seen {
  readonly grant: Grant
  /** The name of the database. */
  readonly database: string
  readonly catalog: Catalog
}

/** The tables of one reading of the catalog as a grant sees them. */
export class SeenTables implements TableSource {
  readonly #seen: Seen
  readonly table: Table

  constructor (seen: Seen, table: Table) {
    this.#seen = seen
    this.table = table
  }

  /** @throws TABLE_NOT_FOUND; BROKEN_DEFINITION; PERMISSION_DENIED for claims that cannot be used */
  see (name: string): Table {
    const { grant, database } = this.#seen
    const table = permissionsOn(grant, database, name).size === 0 ? undefined : findNamed(this.#seen, name)
    if (table === undefined) throw tableNotFound(name, database)
    return table
  }
}

/** The tables for a request to a table on which the grant holds a permission; undefined if the catalog does not have that table. @throws as `see` */
export function findSeen (seen: Seen, name: string): SeenTables | undefined {
  const table = findNamed(seen, name)
  return table && new SeenTables(seen, table)
}

function findNamed ({ grant, database, catalog }: Seen, name: string): Table | undefined {
  const table = catalog.tables.get(name)
  const reason = table === undefined ? catalog.broken?.get(name) : undefined
  if (reason !== undefined) throw withReason(brokenDefinition(), reason)
  return table && findGrantedTable(grant, database, catalog, table)
}
