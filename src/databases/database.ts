import type { Body } from '../../schemas/body.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { BrokenDefinitions } from './broken-definitions.ts'
import { createCatalog } from '../catalog/catalog.ts'
import { createCatalogStore } from '../catalog/store.ts'
import type { Dialect, Transaction } from '../dialects/dialect.ts'
import { createKeyCleanUp } from '../idempotency/clean-up.ts'
import { KeysInUse } from '../idempotency/run-once.ts'
import type { KeyedDatabase } from '../idempotency/run-with-key.ts'
import type { Plan } from '../plan/plan.ts'
import { RunningRequests } from './running-requests.ts'
import { Streams } from './streams.ts'
import { UNLIMITED, type AnswerBudget } from '../response/budget.ts'
import type { StatementCounts } from '../sql/statement-cache.ts'

/** A configured database: its name in paths, its dialect and its catalog. */
export interface Database extends KeyedDatabase {
  readonly statementCounts: StatementCounts
  /** Bytes that an answer may have. */
  readonly resultLimit: number
  /** The memory for answers, which all databases of a registration share. */
  readonly budget: AnswerBudget
  /** Called in the transaction of each write, if there is one. */
  readonly onWrite: WriteHook | undefined
  /** Tables with a broken trigger, view or routine. */
  readonly broken: BrokenDefinitions
  /** The streams that run on the database. */
  readonly streams: Streams
  /** The requests that run on the database. Closing waits for them. */
  readonly running: RunningRequests
  /** A promise only until the catalog has been read. @throws DATABASE_UNAVAILABLE until the catalog has been read */
  getCatalog (): Catalog | Promise<Catalog>
  /** The catalog without reading it; undefined until it has been read. */
  latestCatalog (): Catalog | undefined
  /** Reads the catalog again. */
  refresh (): Promise<Catalog>
  /** Waits for the running requests, up to `closeTimeout`, and then ends those that are left. */
  close (): Promise<void>
}

/** A write that has run and is not committed. */
export interface PendingWrite {
  readonly tx: Transaction
  readonly grant: { readonly name: string, readonly claims: Readonly<Record<string, unknown>> }
  readonly database: Database
  readonly plan: Plan
  readonly body: Body
  /** The answer that the client will get. */
  readonly answer: string | Buffer
  readonly dryRun: boolean
}

/** Called in the transaction of each write, before COMMIT. An error that it throws undoes the write. */
export type WriteHook = (write: PendingWrite) => Promise<void>

export interface DatabaseSettings {
  name: string
  dialect: Dialect
  resultLimit: number
  /** Streams that may run at a time; 1 if omitted. */
  streams?: number | undefined
  budget?: AnswerBudget | undefined
  /** Milliseconds between background refreshes of the catalog. */
  refreshInterval: number
  /** Milliseconds that the answer to a request with an idempotency key is kept. */
  keyLifetime?: number | undefined
  /** Milliseconds that `close` waits for running requests. */
  closeTimeout?: number
  onWrite?: WriteHook | undefined
  onRefreshError: (error: unknown, database: string) => void
  onCleanUpError?: (error: unknown, database: string) => void
}

/** In milliseconds. */
const DAY = 86_400_000

export function createDatabase ({ name, dialect, resultLimit, streams = 1, budget = UNLIMITED, refreshInterval, keyLifetime = DAY, closeTimeout = 0, onWrite, onRefreshError, onCleanUpError = () => {} }: DatabaseSettings): Database {
  const keyCleanUp = createKeyCleanUp(dialect, { lifetime: keyLifetime, onError: (error) => onCleanUpError(error, name) })
  const running = new RunningRequests()
  const store = createCatalogStore({
    load: async () => createCatalog(await dialect.introspect(), Date.now()),
    interval: refreshInterval,
    onError: (error) => onRefreshError(error, name)
  })
  return {
    name,
    dialect,
    statementCounts: { kept: 0, built: 0 },
    resultLimit,
    budget,
    broken: new BrokenDefinitions(),
    streams: new Streams(streams),
    running,
    keysInUse: new KeysInUse(),
    keyCleanUp,
    onWrite,
    getCatalog: store.current,
    latestCatalog: store.latest,
    refresh: store.refresh,
    async close () {
      store.stop()
      keyCleanUp.stop()
      await running.ended(closeTimeout)
      await dialect.close()
    }
  }
}
