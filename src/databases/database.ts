import type { Body } from '../../schemas/body.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { BrokenDefinitions } from './broken-definitions.ts'
import { createCatalogInParts } from '../catalog/catalog.ts'
import { createCatalogStore } from '../catalog/store.ts'
import type { Dialect, Transaction } from '../dialects/dialect.ts'
import { inPieces } from '../in-pieces.ts'
import { createKeyCleanUp } from '../idempotency/keys-table.ts'
import { KeysInUse } from '../idempotency/run-once.ts'
import type { KeyedDatabase } from '../idempotency/run-once.ts'
import type { Plan } from '../plan/plan.ts'
import { RunningRequests } from './running-requests.ts'
import { Streams, type StreamLimits } from './streams.ts'
import { UNLIMITED, type AnswerBudget } from '../response/budget.ts'
import type { StatementCounts } from '../sql/statement-cache.ts'

/** A configured database: its name in paths, its dialect and its catalog. */
export interface Database extends KeyedDatabase {
  readonly statementCounts: StatementCounts
  /** Maximum size of an answer, in bytes. */
  readonly resultLimit: number
  /** The memory for answers, which all databases of a registration share. */
  readonly budget: AnswerBudget
  /** Called in the transaction of each write, if there is one. */
  readonly onWrite: WriteHook | undefined
  /** Tables with a broken trigger, view or routine. */
  readonly broken: BrokenDefinitions
  /** The running streams of the database. */
  readonly streams: Streams
  /** The running requests of the database, for which closing waits. */
  readonly running: RunningRequests
  /** Returns the catalog; a promise only until it has been read. @throws DATABASE_UNAVAILABLE until the catalog has been read */
  getCatalog (): Catalog | Promise<Catalog>
  /** Returns the catalog without reading it; undefined until it has been read. */
  latestCatalog (): Catalog | undefined
  /** Reads the catalog again. */
  refresh (): Promise<Catalog>
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
  /** One stream at a time if omitted. */
  streams?: StreamLimits | undefined
  budget?: AnswerBudget | undefined
  /** Milliseconds between background refreshes of the catalog. */
  refreshInterval: number
  /** How long the answer to a request with an idempotency key is kept, in milliseconds. */
  keyLifetime?: number | undefined
  /** How long `close` waits for running requests, in milliseconds. */
  closeTimeout?: number
  onWrite?: WriteHook | undefined
  onRefreshError: (error: unknown, database: string) => void
  onCleanUpError?: (error: unknown, database: string) => void
}

const ONE: StreamLimits = { ofCaller: 1, ofAll: 1 }

/** A day in milliseconds. */
const DAY = 86_400_000

export function createDatabase ({ name, dialect, resultLimit, streams = ONE, budget = UNLIMITED, refreshInterval, keyLifetime = DAY, closeTimeout = 0, onWrite, onRefreshError, onCleanUpError = () => {} }: DatabaseSettings): Database {
  const keyCleanUp = createKeyCleanUp(dialect, { lifetime: keyLifetime, onError: (error) => onCleanUpError(error, name) })
  const running = new RunningRequests()
  const store = createCatalogStore({
    load: async () => await inPieces(createCatalogInParts(await dialect.introspect(), Date.now())),
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
