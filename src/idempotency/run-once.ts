/**
 * Runs a request with a key once. One transaction inserts the key, does the work, stores the response and commits. A
 * second request with the key waits for the first one: in the same process without a connection, in another process for
 * the lock on the row.
 */
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Rule, Table } from '../catalog/catalog.ts'
import { type Dialect, StaleCatalog, type Transaction, type TransactionOptions } from '../dialects/dialect.ts'
import {
  at, idempotencyInProgress, idempotencyKeyReused, invalidBody, invalidIdempotencyKey, outcomeUnknown, overloaded,
  resultTooLarge, type ServiceError, unsupported, withRetryAfter
} from '../errors.ts'
import { requireUndoable } from '../plan/write-options.ts'
import { RowCounter } from '../response/response-sink.ts'
import type { DriverValue } from '../types/column-type.ts'
import { insertReservation, type KeyCleanUp, selectAnswer, updateAnswer } from './keys-table.ts'

// The header `Idempotency-Key`: the requests that may have one, and the comparison of requests.

interface RequestKey {
  readonly text: string
  /** SHA-256 of its bytes. */
  readonly body: string
}

/** A key that a request reserves, as it is stored: hashes of 32 bytes. */
export interface Reservation {
  /** A hash of the key and its owner. */
  readonly key: Buffer
  /** A hash; final when `complete` has run. No getter: V8 would keep the import's plan for long. */
  request (): Buffer
  /** Reads the rest of a body whose hash is known only at its end. Omitted if the body has been read. */
  readonly complete?: () => Promise<void>
}

/** Visible ASCII characters. */
const FORM = /^[\x21-\x7e]{1,255}$/

/** @throws INVALID_IDEMPOTENCY_KEY; INVALID_BODY with a dry run */
export function readKey ({
  header,
  bodyHash,
  dryRun
}: {
  readonly header: unknown
  readonly bodyHash: string
  readonly dryRun: boolean
}): RequestKey {
  if (typeof header !== 'string' || !FORM.test(header)) throw invalidIdempotencyKey()
  if (dryRun) throw at(['dryRun'], invalidBody('"dryRun" is not allowed with the header Idempotency-Key'))
  return { text: header, body: bodyHash }
}

export const hashBody = (bytes: Buffer): string => hash('sha256', bytes)

/** Other callers may use the same keys. `owner`: undefined for a JWT without a subject. */
interface KeyOwner { readonly owner: string | undefined }

/** The table of the path, or a named request; undefined for several operations. */
type RequestPath = string | readonly string[]

export const pathOfNamed = (name: string): RequestPath => ['requests', name]

/** @throws NOT_SUPPORTED for a JWT without a subject */
export function createReservation ({ key, grant, database, path, tables }: {
  readonly key: RequestKey
  readonly grant: KeyOwner
  readonly database: string
  readonly path: RequestPath | undefined
  /** The tables that are used, as the grant sees them. */
  readonly tables: readonly Table[]
}): Reservation {
  const { owner } = grant
  if (owner === undefined) throw unsupported('', 'A JWT without "sub" cannot use Idempotency-Key')
  const request = digest([database, path ?? null, key.body, tables.map(describe)])
  return { key: digest([owner, key.text]), request: () => request }
}

const digest = (parts: unknown): Buffer =>
  hash(
    'sha256',
    JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
    'buffer'
  )

/** The columns that it sees and may write, and its rules with their values. */
function describe ({ name, columns, granted }: Table): unknown {
  if (granted === undefined) return name
  const { writable, rules, parents } = granted
  const values = (each: readonly Rule[] = []): unknown => each.map(({ column, tests }) => [column.name, tests])
  const referred = parents.map(({ key, rules: rulesOf }) => [key.name, tryRules(rulesOf, values)])
  return [name, [...columns.keys()], [...writable.insert.keys()], [...writable.update.keys()], values(rules), referred]
}

/** Ignores missing claims, because a table may be used without those that a referenced table needs. */
function tryRules (
  rulesOf: () => readonly Rule[] | undefined,
  values: (rules: readonly Rule[] | undefined) => unknown
): unknown {
  try {
    return values(rulesOf())
  } catch {
    return null
  }
}

/** How long a request waits for another one with its key, in milliseconds. */
const PATIENCE = 2000
/** The most waiting requests for all keys of a database. */
const MAX_WAITING = 1000
/** Maximum size of a stored response, in bytes. */
const MAX_RESPONSE = 2 ** 20

interface Once {
  readonly response: string | Buffer
  /** An earlier request has done the work. */
  readonly isReplayed: boolean
}

interface Done { readonly request: Buffer, readonly response: string | Buffer }

/** The keys of one database that requests of this process are using. */
export class KeysInUse {
  readonly #running = new Map<string, PromiseWithResolvers<Done | undefined>>()
  #waiting = 0

  /**
   * Waits until no other request of this process uses the key. Returns its response, if it has one; otherwise the key
   * is in use until `end`. @throws IDEMPOTENCY_IN_PROGRESS, OVERLOADED, IDEMPOTENCY_KEY_REUSED
   */
  async begin (reservation: Reservation): Promise<Once | undefined> {
    const name = reservation.key.toString('latin1')
    const end = performance.now() + PATIENCE
    for (let running = this.#running.get(name); running !== undefined; running = this.#running.get(name)) {
      if (this.#waiting >= MAX_WAITING) throw overloaded()
      this.#waiting++
      const timer = new AbortController()
      try {
        const done = await Promise.race([
          running.promise,
          sleep(end - performance.now(), 'late' as const, { signal: timer.signal })
        ])
        if (done === 'late') throw inProgress()
        if (done !== undefined) return await replay(done, reservation)
      } finally {
        this.#waiting--
        timer.abort()
      }
    }
    this.#running.set(name, Promise.withResolvers())
    return undefined
  }

  end (reservation: Reservation, once: Once | undefined): void {
    const name = reservation.key.toString('latin1')
    this.#running.get(name)?.resolve(once && { request: reservation.request(), response: once.response })
    this.#running.delete(name)
  }
}

const inProgress = (): ServiceError => withRetryAfter(idempotencyInProgress(), 1000)

/** @throws IDEMPOTENCY_KEY_REUSED */
async function replay ({ request, response }: Done, reservation: Reservation): Promise<Once> {
  await reservation.complete?.()
  if (!request.equals(reservation.request())) throw idempotencyKeyReused()
  return { response, isReplayed: true }
}

interface OnceOptions {
  readonly dialect: Dialect
  readonly keysInUse: KeysInUse
  readonly reservation: Reservation
  readonly transaction: TransactionOptions
}

/**
 * @throws NOT_SUPPORTED without the table; IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_KEY_REUSED, RESULT_TOO_LARGE; what
 * `work` throws
 */
async function runOnce (options: OnceOptions, work: (tx: Transaction) => Promise<string | Buffer>): Promise<Once> {
  const { keysInUse, reservation } = options
  const waited = await keysInUse.begin(reservation)
  if (waited !== undefined) return waited
  let once: Once | undefined
  try {
    once = await runInTransaction(options, work)
    return once
  } finally {
    keysInUse.end(reservation, once)
  }
}

async function runInTransaction (
  { dialect, reservation, transaction }: OnceOptions,
  work: (tx: Transaction) => Promise<string | Buffer>
): Promise<Once> {
  try {
    return await dialect.transaction(
      async (tx) => {
        const done = await reserveKey(tx, dialect, reservation)
        if (done !== undefined) return await replay(done, reservation)
        const response = await work(tx)
        if (response.length > MAX_RESPONSE) {
          throw resultTooLarge(`a response with an Idempotency-Key may have ${MAX_RESPONSE} bytes`)
        }
        await tx.run(updateAnswer[dialect.engine](reservation.request(), Buffer.from(response), reservation.key))
        return { response, isReplayed: false }
      },
      transaction
    )
  } catch (error) {
    if ((error as ServiceError).code !== outcomeUnknown().code) throw error
    // the connection was lost during COMMIT, so the table shows whether it succeeded
    const done = await dialect
      .transaction((tx) => findResponse(tx, dialect, reservation), {
        ...transaction,
        client: undefined
      })
      .catch(() => undefined)
    if (done === undefined) throw error
    return await replay(done, reservation)
  }
}

/** Reserves the key, or returns the response that is stored under it. */
async function reserveKey (tx: Transaction, dialect: Dialect, reservation: Reservation): Promise<Done | undefined> {
  try {
    await tx.run(insertReservation[dialect.engine](reservation.key, reservation.request()), undefined, PATIENCE)
    return undefined
  } catch (error) {
    if ((error as ServiceError).code !== 'UNIQUE_VIOLATION') throw toReservationError(error)
  }
  const done = await findResponse(tx, dialect, reservation)
  // not found because it was just deleted
  return done ?? await reserveKey(tx, dialect, reservation)
}

class StoredAnswer extends RowCounter {
  done: Done | undefined

  override begin (): void {
    super.begin()
    this.done = undefined
  }

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    const [request, response] = values.map((value) => Buffer.from(value as Uint8Array ?? '')) as [Buffer, Buffer]
    this.done = { request, response }
  }
}

async function findResponse (tx: Transaction, dialect: Dialect, { key }: Reservation): Promise<Done | undefined> {
  const stored = new StoredAnswer()
  await tx.run(selectAnswer(dialect, key), stored)
  return stored.done
}

/** Errors of a late insert, which can only mean that it waited for a lock. */
const LATE = new Set(['QUERY_TIMEOUT', 'LOCK_TIMEOUT'])

function toReservationError (error: unknown): unknown {
  if (error instanceof StaleCatalog) {
    return unsupported(
      '',
      'The database has no table for idempotency keys; row-query keys prints the statement that creates it'
    )
  }
  const { code, reason } = error as ServiceError
  return LATE.has(code) && reason !== 'CLIENT_GONE' ? inProgress() : error
}

export interface KeyedDatabase {
  readonly name: string
  readonly dialect: Dialect
  readonly keysInUse: KeysInUse
  readonly keyCleanUp: KeyCleanUp
}

export interface Keyed {
  readonly key?: RequestKey | undefined
  /** The response is that to an earlier request. */
  readonly onReplay?: (() => void) | undefined
}

/**
 * Runs `work` in a transaction. With a key it may return the response to an earlier request. @throws as runOnce;
 * NOT_SUPPORTED with a key for a table without transactions
 */
export async function transactOnce (
  request: Keyed & {
    readonly grant: KeyOwner
    readonly database: KeyedDatabase
    readonly path: RequestPath | undefined
    /** The tables that are used, as the grant sees them. */
    readonly tables: readonly Table[]
    readonly transaction: TransactionOptions
    /** For a body whose hash is known only at its end: the hash so far, and what reads the rest. */
    readonly reading?: { readonly bodyHash: () => string, readonly complete: () => Promise<void> } | undefined
  },
  work: (tx: Transaction) => Promise<string | Buffer>
): Promise<string | Buffer> {
  const { key, grant, database, path, tables, transaction, reading } = request
  const { dialect, keysInUse } = database
  if (key === undefined) return await dialect.transaction(work, transaction)
  for (const table of tables) requireUndoable(table, '')
  const reserve = (body = key.body): Reservation =>
    createReservation({ key: { ...key, body }, grant, database: database.name, path, tables })
  const reservation: Reservation = reading === undefined
    ? reserve()
    : { key: reserve().key, request: () => reserve(reading.bodyHash()).request(), complete: reading.complete }
  const { response, isReplayed } = await runOnce({ dialect, keysInUse, reservation, transaction }, work)
  database.keyCleanUp.noteUse()
  if (isReplayed) request.onReplay?.()
  return response
}
