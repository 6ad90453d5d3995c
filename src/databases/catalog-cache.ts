/**
 * The cache of the schema of a database, as introspected: its catalog, which is read again in the background, when a
 * statement has shown that it is stale, and when a request names what it lacks.
 */
import type { Catalog, Table } from '../catalog/catalog.ts'

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

/** How long a reading counts for those that look for something, in milliseconds. */
const LOOKED_FOR = 1000
/** Of the time, readings for those that look for something take no more than one part in so many. */
const SHARE = 4

/** How long after a reading that lacks something the catalog is read again, in milliseconds. */
const SECOND_AFTER = 1000

/**
 * Runs one reading at a time, so that a slow database gets the queries once, however many requests need them.
 * `interval`: milliseconds between background refreshes. `onError`: called when one has failed; the old catalog stays
 * in use. `onRead`: called with each catalog, and whether it is certain.
 *
 * A reading may lack a table, or a column, key, check or trigger of it, for a moment: a table may be renamed, and
 * MariaDB leaves it out while an ALTER TABLE replaces it. So the catalog is read again a second later, and what both
 * readings lack is gone. Until then, the table stays in the catalog as it was or, if `refresh` was called for the
 * reading, because a statement has failed, is one of the missing ones.
 */
export function createCatalogCache ({
  load,
  interval,
  onError,
  onRead
}: {
  readonly load: () => Promise<Catalog>
  readonly interval: number
  readonly onError: (error: unknown) => void
  readonly onRead: (catalog: Catalog, isCertain: boolean) => void
}): {
    /** Waits for the first catalog. @throws the error of loading it */
    current (): Promise<Catalog>
    /** A running load may miss a change that was made since it began, so all calls during it share the next load. */
    refresh (): Promise<Catalog>
    /**
     * Loads the catalog, unless a load that began within the last second shows what there is; waits for a running one.
     * Slow loads are not repeated as often, because one client could keep the process busy with them.
     */
    look (): Promise<Catalog>
    stop (): void
  } {
  let catalog: Catalog | undefined
  let running: Promise<Catalog> | undefined
  let next: Promise<Catalog> | undefined
  /** Tables that the last reading lacked, as they were, and when the first reading that did so began. */
  let lacked: ReadonlyMap<string, { readonly table: Table, readonly since: number }> = new Map()
  /** `refresh` was called for the next reading. */
  let isAsked = false
  let timer: NodeJS.Timeout | undefined
  /** When the last load began, and how long it took. */
  let began = -Infinity
  let took = 0
  let stopped = false

  const start = (): Promise<Catalog> => {
    const asked = isAsked
    isAsked = false
    next = undefined
    const begin = began = performance.now()
    running = load()
      .then((loaded) => {
        took = performance.now() - begin
        const isTornNow = tearsSome(loaded, catalog)
        const had = new Map(Array.from(catalog?.tables ?? [], ([name, table]) => [name, { table, since: begin }]))
        for (const [name, each] of lacked) had.set(name, each)
        lacked = new Map([...had].filter(([, { table, since }]) =>
          begin - since < SECOND_AFTER && lacks(loaded, table)
        ))
        if (lacked.size > 0 || isTornNow) readAgain(begin)
        const missing = new Map(Array.from(lacked, ([name, { table }]) => [name, table]))
        const { tables } = loaded
        const kept = asked
          ? { missing }
          : { tables: new Map([...tables, ...missing]), found: new Map([...missing, ...tables]) }
        catalog = lacked.size === 0 ? loaded : Object.freeze({ ...loaded, ...kept })
        onRead(catalog, lacked.size === 0)
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

  /** A second after `since`, unless a reading is scheduled. One that fails is repeated. */
  const readAgain = (since = performance.now()): void => {
    if (stopped || timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      enqueue().catch(() => readAgain())
    }, Math.max(0, since + SECOND_AFTER - performance.now())).unref()
  }

  const background = setInterval(() => { if (running === undefined) start().catch(onError) }, interval)
  background.unref()

  return {
    current: async () => catalog ?? await (running ?? start()),
    refresh () {
      isAsked = true
      return enqueue()
    },
    look () {
      const isNew = performance.now() - began <= Math.max(LOOKED_FOR, SHARE * took)
      return isNew ? Promise.resolve(running ?? catalog ?? start()) : enqueue()
    },
    stop () {
      stopped = true
      clearInterval(background)
      clearTimeout(timer)
    }
  }
}
