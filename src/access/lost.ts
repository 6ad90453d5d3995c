import type { TableSource } from '../catalog/table-source.ts'
import type { Database } from '../databases/database.ts'
import { databaseUnavailable, isServiceError, withReason, type ServiceError } from '../errors.ts'
import type { Grant } from './grant.ts'
import { findSeen } from './seen-tables.ts'

/** A table that a request names. */
interface Named { readonly grant: Grant, readonly database: Database, readonly tableName: string }

/**
 * The tables as the grant saw them before the latest reading of the catalog lost a table or a part of one; undefined unless the loss may be
 * temporary.
 */
export function findLost ({ grant, database, tableName }: Named): TableSource | undefined {
  const catalog = database.latestCatalog()
  if (catalog?.lost === undefined) return undefined
  return findSeen({ grant, database: database.name, catalog: { ...catalog, tables: new Map([...catalog.tables, ...catalog.lost]) } }, tableName)
}

/**
 * Calls `work`, which plans, with the tables. If it refuses, but would accept the tables as they were a moment ago, the refusal is
 * DATABASE_UNAVAILABLE until the loss is confirmed. @throws what `work` throws
 */
export function orUnavailable<T> (named: Named, source: TableSource, work: (source: TableSource) => T): T {
  try {
    return work(source)
  } catch (error) {
    const lost = isServiceError(error) ? findLost(named) : undefined
    if (lost === undefined) throw error
    work(lost)
    throw lostForNow()
  }
}

/** The error for a table, or a part of it, that the latest reading of the catalog lacks and that may come back. */
export const lostForNow = (): ServiceError => withReason(databaseUnavailable(), 'lost from the catalog a moment ago')
