import { lacksSome, type Catalog } from './catalog.ts'

/** The catalog of one database: read once, kept, read again in the background. */
export interface CatalogStore {
  /** The newest catalog; waits for the first one only. @throws what loading it threw */
  current (): Catalog | Promise<Catalog>
  /** The newest catalog, if there is one yet. */
  latest (): Catalog | undefined
  /**
   * Reads it again now. One reading that is under way may have passed by what has changed since: who comes meanwhile
   * gets the next one, together with all the others.
   */
  refresh (): Promise<Catalog>
  /** Ends the background refresh. */
  stop (): void
}

export interface CatalogStoreOptions {
  load: () => Promise<Catalog>
  /** Milliseconds between background refreshes. */
  interval: number
  /** Told of a background refresh that failed; the old catalog goes on serving. */
  onError: (error: unknown) => void
}

/**
 * Keeps one refresh under way at a time: a slow database gets one set of questions, however many ask. They are asked once more where the answer
 * lacks what there was: a table that is passed by while it is altered would be a 404 until the next refresh.
 */
export function createCatalogStore ({ load, interval, onError }: CatalogStoreOptions): CatalogStore {
  let catalog: Catalog | undefined
  let running: Promise<Catalog> | undefined
  let next: Promise<Catalog> | undefined

  const start = (): Promise<Catalog> => {
    next = undefined
    running = load()
      .then((loaded) => catalog !== undefined && lacksSome(loaded, catalog) ? load() : loaded)
      .then((loaded) => (catalog = loaded))
      .finally(() => { running = undefined })
    return running
  }

  const refresh = (): Promise<Catalog> => {
    if (running === undefined) return start()
    next ??= running.then(start, start)
    return next
  }

  const timer = setInterval(() => { if (running === undefined) start().catch(onError) }, interval)
  timer.unref()

  return {
    current: () => catalog ?? running ?? start(),
    latest: () => catalog,
    refresh,
    stop: () => clearInterval(timer)
  }
}
