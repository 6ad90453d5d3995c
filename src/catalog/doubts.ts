import type { Catalog, Table } from './catalog.ts'

/** How often the catalog is read again before a missing table or part counts as gone. */
export const CONFIRMATIONS = 3

interface Doubt {
  /** The table as it was. */
  readonly table: Table
  /** How many readings have confirmed that it is not complete. */
  confirmed: number
}

/**
 * Remembers tables that a reading of the catalog lacks, or has without a column, key, check or trigger that they had. This may be
 * temporary: a table may be renamed for a moment, and MariaDB leaves a table out while an ALTER TABLE replaces it.
 */
export class Doubts {
  readonly #doubts = new Map<string, Doubt>()

  get size (): number { return this.#doubts.size }

  /**
   * Compares a reading with the previous catalog. `isConfirmation`: whether it counts as one of the confirming readings. Returns the
   * catalog with its lost tables, and whether any of them are new.
   */
  review (loaded: Catalog, before: Catalog | undefined, isConfirmation: boolean): { readonly catalog: Catalog, readonly isNew: boolean } {
    let isNew = false
    for (const [name, doubt] of this.#doubts) {
      if (isConfirmation) doubt.confirmed++
      if (doubt.confirmed >= CONFIRMATIONS || !lacks(loaded, doubt.table)) this.#doubts.delete(name)
    }
    for (const [name, table] of before?.tables ?? []) {
      if (this.#doubts.has(name) || !lacks(loaded, table)) continue
      this.#doubts.set(name, { table, confirmed: 0 })
      isNew = true
    }
    if (this.#doubts.size === 0) return { catalog: loaded, isNew }
    return { catalog: Object.freeze({ ...loaded, lost: new Map(Array.from(this.#doubts, ([name, { table }]) => [name, table])) }), isNew }
  }
}

/** Whether a reading lacks anything that the previous one had. */
export const lacksSome = (loaded: Catalog, before: Catalog): boolean => [...before.tables.values()].some((table) => lacks(loaded, table))

/**
 * Whether a table was altered between the queries of a reading, so that a key refers to columns that the table does not have in it. An account that does not see
 * all columns has such keys in every reading, so a table that had them in the previous one does not count.
 */
export const tearsSome = (loaded: Catalog, before: Catalog | undefined): boolean => [...loaded.tables.values()].some((table) => isTorn(table) && !isTorn(before?.tables.get(table.name)))

const isTorn = (table: Table | undefined): boolean => table !== undefined && (wholeKeys(table) < table.uniqueKeys.length || wholeForeignKeys(table) < table.foreignKeys.length)

/** Whether a reading lacks a table, or a column, key, check or trigger of it. One that the database cannot open is there. */
function lacks ({ tables, broken }: Catalog, had: Table): boolean {
  const has = tables.get(had.name)
  if (has === undefined) return broken?.has(had.name) !== true
  return had.columnList.some(({ name }) => !has.columns.has(name)) || PARTS.some((partsOf) => partsOf(has) < partsOf(had))
}

/** How many keys have all their columns. */
const countWhole = (keys: ReadonlyArray<{ readonly columns: readonly string[] }>, { columns }: Table): number => keys.filter((key) => key.columns.every((name) => columns.has(name))).length
const wholeKeys = (table: Table): number => countWhole(table.uniqueKeys, table)
const wholeForeignKeys = (table: Table): number => countWhole(table.foreignKeys, table)

const PARTS: ReadonlyArray<(table: Table) => number> = [wholeKeys, wholeForeignKeys, ({ checks }) => checks.length, ({ triggers }) => triggers.list.length]
