import { lacksSome, type Catalog } from './catalog.ts'

/** The catalog of one database: loaded once, cached, and refreshed in the background. */
export interface CatalogStore {
  /** The newest catalog; a promise until the first one is loaded. @throws the error of loading it */
  current (): Catalog | Promise<Catalog>
  /** The newest catalog, if there is one yet. */
  latest (): Catalog | undefined
  /**
   * Loads the catalog again now. A load that is running may miss a change that was made since it began, so all calls meanwhile share
   * the next load.
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
