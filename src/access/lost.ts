import type { Table } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { databaseUnavailable, isServiceError, withReason, type ServiceError } from '../errors.ts'
import type { Grant } from './grant.ts'
import { viewTable } from './table-view.ts'

/** A table that a request names. */
interface Named { readonly grant: Grant, readonly database: Database, readonly tableName: string }

/** The table as the grant saw it before the latest reading of the catalog lost it or parts of it; undefined unless that may be a passing state. */
export function findLost ({ grant, database, tableName }: Named): Table | undefined {
  const catalog = database.latestCatalog()
  const lost = catalog?.lost?.get(tableName)
  return catalog && lost && viewTable(grant, database.name, catalog, lost)
}

/**
 * Calls `work`, which plans, with the table. What it refuses but would not refuse if the table were as it was a moment ago is
 * DATABASE_UNAVAILABLE until it is sure that what is missing is gone. @throws what `work` throws
 */
export function orUnavailable<T> (named: Named, table: Table, work: (table: Table) => T): T {
  try {
    return work(table)
  } catch (error) {
    const lost = isServiceError(error) ? findLost(named) : undefined
    if (lost === undefined) throw error
    work(lost)
    throw lostForNow()
  }
}

/** A table or a part of it is not in the latest reading of the catalog, and it may come back. */
export const lostForNow = (): ServiceError => withReason(databaseUnavailable(), 'lost from the catalog a moment ago')
