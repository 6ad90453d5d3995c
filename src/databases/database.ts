import { setTimeout as sleep } from 'node:timers/promises'
import type { Body } from '../../schemas/body.ts'
import { type Catalog, createCatalogInParts } from '../catalog/catalog.ts'
import type { Dialect, Transaction } from '../dialects/dialect.ts'
import { streamsBusy } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import { createKeyCleanUp } from '../idempotency/keys-table.ts'
import { type KeyedDatabase, KeysInUse } from '../idempotency/run-once.ts'
import { inPieces } from '../in-pieces.ts'
import type { Plan } from '../plan/plan.ts'
import { type ResponseBudget, UNLIMITED } from '../response/budget.ts'
import type { StatementCounts } from '../sql/statement-cache.ts'
import { createCatalogStore, BrokenDefinitions } from './stale-catalog.ts'

/** Closing a database waits for them. Fastify only waits for those that came over a connection. */
export class RunningRequests {
  #count = 0
  #onEnd: (() => void) | undefined

  begin (): void {
    this.#count++
  }

  end (): void {
    if (--this.#count === 0) this.#onEnd?.()
  }

  /** Resolves when no request runs, or after so many milliseconds. May be called once. */
  async ended (milliseconds: number): Promise<void> {
    if (this.#count === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onEnd = resolve
    const timer = setTimeout(resolve, milliseconds)
    await promise
    clearTimeout(timer)
  }
}

interface RunningStream {
  /** Cuts the stream off, or ends the import. */
  fail (error: Error): void
}

/** The maximum number of streams at a time: of one caller, and of all callers together. */
export interface StreamLimits {
  readonly ofCaller: number
  readonly ofAll: number
}

/** The callers that may use their full number of streams at the same time, unless the pool is too small for them. */
const CALLERS = 4

/**
 * `most`: the setting `limits.streams`. A stream keeps its connection for minutes: half of the pool remains for short
 * requests, and half of the rest for other callers.
 */
export function limitStreams (most: number, poolSize: number): StreamLimits {
  const half = (number: number): number => Math.max(1, Math.floor(number / 2))
  return { ofCaller: Math.min(most, half(half(poolSize))), ofAll: Math.min(CALLERS * most, half(poolSize)) }
}

type Kind = 'streams' | 'imports'

/** The running streams and imports of a database, with the callers that they belong to. */
export class Streams {
  readonly #limits: Readonly<Record<Kind | 'both', StreamLimits>>
  readonly #running = new Map<RunningStream, { readonly caller: string, readonly kind: Kind }>()

  /** `both`: of streams and imports together. */
  constructor (
    streams: StreamLimits,
    { imports = streams, both = streams }: { readonly imports?: StreamLimits, readonly both?: StreamLimits } = {}
  ) {
    this.#limits = { streams, imports, both }
  }

  get running (): number {
    return this.count('streams')
  }

  count (kind: Kind): number {
    return this.#count(kind, undefined)
  }

  #count (kind: Kind | 'both', caller: string | undefined): number {
    let count = 0
    for (const each of this.#running.values()) {
      if ((kind === 'both' || each.kind === kind) && (caller === undefined || each.caller === caller)) count++
    }
    return count
  }

  /** @throws OVERLOADED if the caller has too many, or all callers have */
  add (stream: RunningStream, caller: string, kind: Kind = 'streams'): void {
    for (const each of [kind, 'both'] as const) {
      const { ofCaller, ofAll } = this.#limits[each]
      if (this.#count(each, undefined) >= ofAll || this.#count(each, caller) >= ofCaller) {
        throw streamsBusy(each === 'both' ? 'streams and imports' : kind)
      }
    }
    this.#running.set(stream, { caller, kind })
  }

  remove (stream: RunningStream): void {
    this.#running.delete(stream)
  }

  failAll (kind: Kind, error: () => Error): void {
    for (const [stream, each] of this.#running) if (each.kind === kind) stream.fail(error())
  }
}

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
  /** Closing waits for them. */
  readonly running: RunningRequests
  /** A promise only until the catalog has been read. @throws DATABASE_UNAVAILABLE until then */
  getCatalog (): Catalog | Promise<Catalog>
  latestCatalog (): Catalog | undefined
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
  readonly answer: string | Buffer
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
  const running = new RunningRequests()
  const watchers: Array<(catalog: Catalog) => void> = []
  const store = createCatalogStore({
    onRead: (catalog) => { for (const watcher of watchers) watcher(catalog) },
    load: async () => await inPieces(createCatalogInParts(await dialect.introspect(), Date.now())),
    interval: refreshInterval,
    onError: (error) => onRefreshError(error, name)
  })
  return {
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
    getCatalog: store.current,
    latestCatalog: store.latest,
    watch (watcher) {
      watchers.push(watcher)
      const catalog = store.latest()
      if (catalog !== undefined) watcher(catalog)
    },
    refresh: store.refresh,
    look: store.look,
    async close () {
      store.stop()
      keyCleanUp.stop()
      await running.ended(closeTimeout)
      await dialect.close()
    }
  }
}

// Several load balancers ask at once, every few seconds.

export interface Readiness {
  /** Cached for one second; resolves within one second. Never rejects. */
  isReady (): Promise<boolean>
  /** The service is not ready any more. */
  end (): void
}

/** In milliseconds. */
const CACHED_FOR = 1000
/** How long a database may take to answer, in milliseconds: less than the second that a probe of Kubernetes waits. */
const PATIENCE = 800

export function createReadiness (databases: () => ReadonlyMap<string, Database>): Readiness {
  /** The checks that run, of which a database never has more than one, also if it hangs. */
  const checks = new WeakMap<Database, Promise<boolean>>()
  let ended = false
  let cached: { readonly isReady: boolean, readonly until: number } | undefined
  let running: Promise<boolean> | undefined

  const check = (database: Database): Promise<boolean> => Promise.race([
    getOrCreate(checks, database, () => ask(database).finally(() => checks.delete(database))),
    sleep(PATIENCE, false, { ref: false })
  ])

  const checkAll = async (): Promise<boolean> => {
    const each = await Promise.all(Array.from(databases().values(), check))
    const isReady = each.length > 0 && !each.includes(false)
    cached = { isReady, until: performance.now() + CACHED_FOR }
    running = undefined
    return isReady
  }

  return {
    async isReady () {
      if (ended) return false
      if (cached !== undefined && performance.now() < cached.until) return cached.isReady
      running ??= checkAll()
      return await running && !ended
    },
    end () { ended = true }
  }
}

async function ask ({ getCatalog, dialect }: Database): Promise<boolean> {
  try {
    await getCatalog()
    await dialect.check?.()
    return true
  } catch {
    return false
  }
}
