import type { Body } from '../../schemas/body.ts'
import { type Catalog, createCatalogInParts } from '../catalog/catalog.ts'
import type { Dialect, Transaction } from '../dialects/dialect.ts'
import { createKeyCleanUp } from '../idempotency/keys-table.ts'
import { type KeyedDatabase, KeysInUse } from '../idempotency/run-once.ts'
import { inPieces } from '../in-pieces.ts'
import type { Plan } from '../plan/plan.ts'
import { type ResponseBudget, UNLIMITED } from '../response/budget.ts'
import type { StatementCounts } from '../sql/statement-cache.ts'
import { createCatalogCache } from './catalog-cache.ts'
import { type StreamLimits, Streams } from './streams.ts'
import { BrokenDefinitions } from './stale-catalog.ts'

export interface Database extends KeyedDatabase {
  readonly statementCounts: StatementCounts
  /** Maximum size of a response, in bytes. */
  readonly resultLimit: number
  /** The memory for responses, which all databases of a registration share. */
  readonly budget: ResponseBudget
  /** Called in the transaction of each write. */
  readonly onWrite: WriteHook | undefined
  /** Tables with a broken trigger, view or routine. */
  readonly broken: BrokenDefinitions
  /** Imports too. */
  readonly streams: Streams
  /** In milliseconds. */
  readonly importTimeout: number
  /** Requests, for which closing waits: Fastify only waits for those that came over a connection. */
  readonly running: Set<Promise<unknown>>
  /** The latest one; undefined until it has been read. */
  readonly catalog: Catalog | undefined
  /** Waits until it has been read. @throws DATABASE_UNAVAILABLE */
  getCatalog (): Promise<Catalog>
  /** Passes on the catalog, now if it has been read, and after each reading. The watcher must not throw. */
  watch (watcher: (catalog: Catalog) => void): void
  refresh (): Promise<Catalog>
  /** Reads the catalog for something that it lacks, unless it has just been read. */
  look (): Promise<Catalog>
  /** Waits for the running requests, up to `closeTimeout`, and then ends the others. */
  close (): Promise<void>
}

/** A write that has run but is not committed. */
export interface PendingWrite {
  readonly tx: Transaction
  readonly grant: { readonly name: string, readonly claims: Readonly<Record<string, unknown>> }
  readonly database: Database
  readonly plan: Plan
  readonly body: Body
  readonly references?: ReadonlyMap<object, unknown> | undefined
  /** The named request that has the body. */
  readonly named?: string | undefined
  /** The response that the client will get. */
  readonly response: string | Buffer
  readonly dryRun: boolean
}

/** Called before COMMIT. An error that it throws undoes the write. */
export type WriteHook = (write: PendingWrite) => Promise<void>

/** In milliseconds. */
const IMPORT_TIMEOUT = 600_000

const ONE: StreamLimits = { ofCaller: 1, ofAll: 1 }

/** In milliseconds. */
const DAY = 86_400_000

export function createDatabase ({
  name,
  dialect,
  resultLimit,
  streams = new Streams(ONE),
  importTimeout = IMPORT_TIMEOUT,
  budget = UNLIMITED,
  refreshInterval,
  keyLifetime = DAY,
  closeTimeout = 0,
  onWrite,
  onRefreshError,
  onCleanUpError = () => {}
}: {
  name: string
  dialect: Dialect
  resultLimit: number
  /** One stream or import at a time if omitted. */
  streams?: Streams | undefined
  importTimeout?: number
  budget?: ResponseBudget | undefined
  /** Milliseconds between background refreshes of the catalog. */
  refreshInterval: number
  /** How long the response to a request with an idempotency key is stored, in milliseconds. */
  keyLifetime?: number | undefined
  /** How long `close` waits for running requests, in milliseconds. */
  closeTimeout?: number
  onWrite?: WriteHook | undefined
  onRefreshError: (error: unknown, database: string) => void
  onCleanUpError?: (error: unknown, database: string) => void
}): Database {
  const keyCleanUp = createKeyCleanUp(dialect, {
    lifetime: keyLifetime,
    onError: (error) => onCleanUpError(error, name)
  })
  const running = new Set<Promise<unknown>>()
  const watchers: Array<(catalog: Catalog) => void> = []
  const cache = createCatalogCache({
    onRead: (catalog, isCertain) => {
      database.catalog = catalog
      if (isCertain) for (const watcher of watchers) watcher(catalog)
    },
    load: async () => await inPieces(createCatalogInParts(await dialect.introspect(), Date.now())),
    interval: refreshInterval,
    onError: (error) => onRefreshError(error, name)
  })
  const database = {
    name,
    dialect,
    statementCounts: { cached: 0, built: 0 },
    resultLimit,
    budget,
    broken: new BrokenDefinitions(),
    streams,
    importTimeout,
    running,
    keysInUse: new KeysInUse(),
    keyCleanUp,
    onWrite,
    catalog: undefined as Catalog | undefined,
    getCatalog: cache.current,
    watch (watcher: (catalog: Catalog) => void) {
      watchers.push(watcher)
      if (database.catalog !== undefined) watcher(database.catalog)
    },
    refresh: cache.refresh,
    look: cache.look,
    async close () {
      cache.stop()
      keyCleanUp.stop()
      await allEnded(running, closeTimeout)
      await dialect.close()
    }
  }
  return database
}

/**
 * Resolves when nothing runs, also not what began meanwhile, or after so many milliseconds. Deletes what has ended:
 * waiting for it again and again would not let the time pass.
 */
export async function allEnded (running: Set<Promise<unknown>>, milliseconds: number): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  const waitForAll = async (): Promise<void> => {
    while (running.size > 0) {
      const begun = [...running]
      await Promise.allSettled(begun)
      for (const promise of begun) running.delete(promise)
    }
  }
  await Promise.race([timeout, waitForAll()])
  clearTimeout(timer)
}
