import type { Catalog, Table } from './catalog.ts'

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

/** How long after a reading that lacks something the catalog is read again, in milliseconds. */
const SECOND_AFTER = 1000

/**
 * Runs one reading at a time, so that a slow database gets the queries once, however many requests need them.
 * `interval`: milliseconds between background refreshes. `onError`: called when one has failed; the old catalog stays
 * in use.
 *
 * A reading may lack a table, or a column, key, check or trigger of it, for a moment: a table may be renamed, and
 * MariaDB leaves it out while an ALTER TABLE replaces it. So the catalog is read again a second later, and what both
 * readings lack is gone. Until then, the table stays in the catalog as it was or, if `refresh` was called for the
 * reading, because a statement has failed, is one of the missing ones.
 */
export function createCatalogStore ({
  load,
  interval,
  onError
}: {
  readonly load: () => Promise<Catalog>
  readonly interval: number
  readonly onError: (error: unknown) => void
}): {
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
  } {
  let catalog: Catalog | undefined
  let running: Promise<Catalog> | undefined
  let next: Promise<Catalog> | undefined
  /** By name: the tables that the last reading lacked, as they were, and those that the second reading decides on. */
  let lacked: ReadonlyMap<string, Table> = new Map()
  let doubted = lacked
  /** Whether `refresh` was called for the next reading, and whether it is the second one. */
  let isAsked = false
  let isSecond = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const start = (): Promise<Catalog> => {
    const asked = isAsked
    const decided = isSecond ? doubted : undefined
    isAsked = isSecond = false
    next = undefined
    running = load()
      .then((loaded) => {
        const isTornNow = tearsSome(loaded, catalog)
        const before = [...catalog?.tables ?? [], ...lacked]
        lacked = new Map(before.filter(([name, table]) => decided?.has(name) !== true && lacks(loaded, table)))
        if (lacked.size > 0 || isTornNow) readAgain()
        const kept = asked ? { missing: lacked } : { tables: new Map([...loaded.tables, ...lacked]) }
        catalog = lacked.size === 0 ? loaded : Object.freeze({ ...loaded, ...kept })
        return catalog
      })
      .finally(() => { running = undefined })
    return running
  }

  const enqueue = (): Promise<Catalog> => {
    if (running === undefined) return start()
    next ??= running.then(start, start)
    return next
  }

  /** Schedules the second reading, unless it is scheduled. One that fails is repeated. */
  const readAgain = (): void => {
    if (stopped || timer !== undefined) return
    doubted = lacked
    timer = setTimeout(() => {
      timer = undefined
      isSecond = true
      enqueue().catch(readAgain)
    }, SECOND_AFTER)
    timer.unref()
  }

  const background = setInterval(() => { if (running === undefined) start().catch(onError) }, interval)
  background.unref()

  return {
    current: () => catalog ?? running ?? start(),
    latest: () => catalog,
    refresh () {
      isAsked = true
      return enqueue()
    },
    stop () {
      stopped = true
      clearInterval(background)
      clearTimeout(timer)
    }
  }
}
