import type { Catalog } from './catalog.ts'

/** The catalog of one database: read once, kept, read again in the background. */
export interface CatalogStore {
  /** The newest catalog; waits for the first one only. @throws what loading it threw */
  current (): Catalog | Promise<Catalog>
  /** Reads it again now. Calls that come while one is running share that one. */
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

/** Keeps one refresh under way at a time: a slow database gets one set of questions, however many ask. */
export function createCatalogStore ({ load, interval, onError }: CatalogStoreOptions): CatalogStore {
  let catalog: Catalog | undefined
  let loading: Promise<Catalog> | undefined

  const refresh = (): Promise<Catalog> => {
    loading ??= load()
      .then((loaded) => (catalog = loaded))
      .finally(() => { loading = undefined })
    return loading
  }

  const timer = setInterval(() => { refresh().catch(onError) }, interval)
  timer.unref()

  return {
    current: () => catalog ?? refresh(),
    refresh,
    stop: () => clearInterval(timer)
  }
}
