import type { Catalog } from './catalog.ts'
import { Doubts, lacksSome, tearsSome } from './doubts.ts'

/** The catalog of one database: loaded once, cached, and refreshed in the background. */
export interface CatalogStore {
  /** The newest catalog; a promise until the first one is loaded. @throws the error of loading it */
  current (): Catalog | Promise<Catalog>
  /** The newest catalog, if there is one yet. */
  latest (): Catalog | undefined
  /**
   * Loads the catalog again. A running load may miss a change that was made since it began, so all calls during it share the next
   * load.
   */
  refresh (): Promise<Catalog>
  /** Ends the background refresh. */
  stop (): void
}

export interface CatalogStoreOptions {
  load: () => Promise<Catalog>
  /** Milliseconds between background refreshes. */
  interval: number
  /** Called when a background refresh has failed; the old catalog stays in use. */
  onError: (error: unknown) => void
}

/**
 * The delays in milliseconds between a reading that lost something and those that confirm the loss: the catalog is read again 1, 2 and 4
 * seconds later.
 */
const CONFIRMED_AFTER: readonly number[] = [1000, 1000, 2000]

/**
 * Runs one refresh at a time, so that a slow database gets the queries once, however many requests need them. If the result lacks anything that
 * the catalog had, or a key lacks columns, they run once more: a table that was missing while it was altered would be a 404 until the next refresh.
 */
export function createCatalogStore ({ load, interval, onError }: CatalogStoreOptions): CatalogStore {
  let catalog: Catalog | undefined
  let running: Promise<Catalog> | undefined
  let next: Promise<Catalog> | undefined
  const doubts = new Doubts()
  /** Whether the next reading confirms what is in doubt. */
  let isDue = false
  let confirmations = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const start = (): Promise<Catalog> => {
    next = undefined
    const isConfirmation = isDue
    isDue = false
    running = load()
      .then((loaded) => tearsSome(loaded, catalog) || (catalog !== undefined && lacksSome(loaded, catalog)) ? load() : loaded)
      .then((loaded) => {
        const reviewed = doubts.review(loaded, catalog, isConfirmation)
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

  /** Schedules the next confirmation, unless nothing is in doubt or one is already scheduled. A failed one is repeated. */
  const confirm = (): void => {
    if (stopped || doubts.size === 0 || timer !== undefined) return
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
