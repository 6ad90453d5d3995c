import type { Table } from './catalog.ts'

/** The tables that a request may name, as its grant sees them. */
export interface TableSource {
  /** The table of the request. */
  readonly table: Table
  /** Another table of the same database, by its exact name. @throws TABLE_NOT_FOUND if there is none that the grant sees */
  see (name: string): Table
}

/** A source of a single table, for requests that name no other. */
export const alone = (table: Table): TableSource => ({ table, see: () => table })
