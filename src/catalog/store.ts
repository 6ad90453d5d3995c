import type { Catalog, Table } from './catalog.ts'

/** How many further readings must lack a table, or a part of it, before it counts as removed. */
const CONFIRMATIONS = 3

/**
 * Remembers tables that a reading of the catalog lacks, or has without a column, key, check or trigger that they had.
 * This may be temporary: a table may be renamed for a moment, and MariaDB leaves a table out while an ALTER TABLE
 * replaces it.
 */
class UnconfirmedRemovals {
  /** By name: the table as it was, and the number of readings that have confirmed that it is not complete. */
  readonly #removals = new Map<string, { readonly table: Table, confirmed: number }>()

  get size (): number {
    return this.#removals.size
  }

  /**
   * Compares a reading with the previous catalog. `isConfirmation`: whether it counts as one of the confirming
   * readings. Returns the catalog with its missing tables, and whether any of them are new.
   */
  review (
    loaded: Catalog,
    before: Catalog | undefined,
    isConfirmation: boolean
  ): { readonly catalog: Catalog; readonly isNew: boolean } {
    let isNew = false
    for (const [name, removal] of this.#removals) {
      if (isConfirmation) removal.confirmed++
      if (removal.confirmed >= CONFIRMATIONS || !lacks(loaded, removal.table)) this.#removals.delete(name)
    }
    for (const [name, table] of before?.tables ?? []) {
      if (this.#removals.has(name) || !lacks(loaded, table)) continue
      this.#removals.set(name, { table, confirmed: 0 })
      isNew = true
    }
    if (this.#removals.size === 0) return { catalog: loaded, isNew }
    return {
      catalog: Object.freeze({
        ...loaded,
        missing: new Map(Array.from(this.#removals, ([name, { table }]) => [name, table]))
      }),
      isNew
    }
  }
}

/** Whether a reading lacks anything that the previous one had. */
const lacksSome = (loaded: Catalog, before: Catalog): boolean =>
  [...before.tables.values()].some((table) => lacks(loaded, table))

/**
 * Whether a table was altered between the queries of a reading, so that a key refers to columns that the table lacks in
 * this reading. With an account that does not see all columns, every reading has such keys, so a table that had them in
 * the previous reading does not count.
 */
const tearsSome = (loaded: Catalog, before: Catalog | undefined): boolean =>
  [...loaded.tables.values()].some((table) => isTorn(table) && !isTorn(before?.tables.get(table.name)))

const isTorn = (table: Table | undefined): boolean =>
  table !== undefined &&
  (wholeKeys(table) < table.uniqueKeys.length || wholeForeignKeys(table) < table.foreignKeys.length)

/**
 * Whether a reading lacks a table, or a column, key, check or trigger of it. A table that the database cannot open is
 * not missing.
 */
function lacks ({ tables, broken }: Catalog, had: Table): boolean {
  const has = tables.get(had.name)
  if (has === undefined) return broken?.has(had.name) !== true
  return (
    had.columnList.some(({ name }) => !has.columns.has(name)) || PARTS.some((partsOf) => partsOf(has) < partsOf(had))
  )
}

/** How many keys have all their columns. */
const countWhole = (keys: ReadonlyArray<{ readonly columns: readonly string[] }>, { columns }: Table): number =>
  keys.filter((key) => key.columns.every((name) => columns.has(name))).length
const wholeKeys = (table: Table): number => countWhole(table.uniqueKeys, table)
const wholeForeignKeys = (table: Table): number => countWhole(table.foreignKeys, table)

const PARTS: ReadonlyArray<(table: Table) => number> = [
  wholeKeys,
  wholeForeignKeys,
  ({ checks }) => checks.length,
  ({ triggers }) => triggers.list.length
]

/** The catalog of one database: loaded once, cached, and refreshed in the background. */
interface CatalogStore {
  /** The newest catalog; a promise until the first one is loaded. @throws the error of loading it */
  current (): Catalog | Promise<Catalog>
  /** The newest catalog, if there is one yet. */
  latest (): Catalog | undefined
  /**
   * Loads the catalog again. A running load may miss a change that was made since it began, so all calls during it
   * share the next load.
   */
  refresh (): Promise<Catalog>
  /** Ends the background refresh. */
  stop (): void
}

/**
 * The delays in milliseconds between a reading that lacks a table and those that confirm the removal: the catalog is
 * read again 1, 2 and 4 seconds later.
 */
const CONFIRMED_AFTER: readonly number[] = [1000, 1000, 2000]

/**
 * Runs one refresh at a time, so that a slow database gets the queries once, however many requests need them. If the
 * result lacks anything that the catalog had, or a key lacks columns, the queries run once more: a table that was
 * missing while it was altered would be a 404 until the next refresh. `interval`: milliseconds between background
 * refreshes. `onError`: called when one has failed; the old catalog stays in use.
 */
export function createCatalogStore ({
  load,
  interval,
  onError
}: {
  readonly load: () => Promise<Catalog>
  readonly interval: number
  readonly onError: (error: unknown) => void
}): CatalogStore {
  let catalog: Catalog | undefined
  let running: Promise<Catalog> | undefined
  let next: Promise<Catalog> | undefined
  const removals = new UnconfirmedRemovals()
  /** Whether the next reading confirms removals. */
  let isDue = false
  let confirmations = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const start = (): Promise<Catalog> => {
    next = undefined
    const isConfirmation = isDue
    isDue = false
    running = load()
      .then((loaded) =>
        tearsSome(loaded, catalog) || (catalog !== undefined && lacksSome(loaded, catalog)) ? load() : loaded
      )
      .then((loaded) => {
        const reviewed = removals.review(loaded, catalog, isConfirmation)
        if (reviewed.isNew) confirmations = 0
        return (catalog = reviewed.catalog)
      })
      .finally(() => {
        running = undefined
        if (isConfirmation) timer = undefined
        confirm()
      })
    return running
  }

  /**
   * Schedules the next confirmation, unless no removal is unconfirmed or one is already scheduled. A failed one is
   * repeated.
   */
  const confirm = (): void => {
    if (stopped || removals.size === 0 || timer !== undefined) return
    timer = setTimeout(() => {
      isDue = true
      refresh().catch(() => {})
    }, CONFIRMED_AFTER[Math.min(confirmations++, CONFIRMED_AFTER.length - 1)])
    timer.unref()
  }

  const refresh = (): Promise<Catalog> => {
    if (running === undefined) return start()
    next ??= running.then(start, start)
    return next
  }

  const background = setInterval(() => { if (running === undefined) start().catch(onError) }, interval)
  background.unref()

  return {
    current: () => catalog ?? running ?? start(),
    latest: () => catalog,
    refresh,
    stop () {
      stopped = true
      clearInterval(background)
      clearTimeout(timer)
    }
  }
}
