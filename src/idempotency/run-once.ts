/**
 * Runs a request with a key once. One transaction inserts the key, does the work, stores the answer and commits. A second request with the key
 * waits for the first one: in the same process without a connection, in another process for the lock on the row.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { SchemaMoved, type Dialect, type Transaction, type TransactionOptions } from '../dialects/dialect.ts'
import { idempotencyInProgress, idempotencyKeyReused, outcomeUnknown, overloaded, resultTooLarge, unsupported, withRetryAfter, type ServiceError } from '../errors.ts'
import { RowCounter } from '../response/page-sink.ts'
import type { DriverValue } from '../types/column-type.ts'
import type { Reservation } from './key.ts'
import { insertReservation, selectAnswer, updateAnswer } from './keys-table.ts'

/** How long a request waits for another one with its key, in milliseconds. */
const PATIENCE = 2000
/** Maximum number of waiting requests for all keys of a database. */
const MAX_WAITING = 1000
/** Maximum size of a stored answer, in bytes. */
const MAX_ANSWER = 2 ** 20

export interface Once {
  readonly answer: string | Buffer
  /** Whether an earlier request has done the work. */
  readonly isReplayed: boolean
}

interface Done { readonly request: Buffer, readonly answer: string | Buffer }

/** The keys of one database that requests of this process are using. */
export class KeysInUse {
  readonly #running = new Map<string, PromiseWithResolvers<Done | undefined>>()
  #waiting = 0

  /**
   * Waits until no other request of this process uses the key. Returns the answer of the other request, if it has one; otherwise the key is in use
   * until `end`. @throws IDEMPOTENCY_IN_PROGRESS, OVERLOADED, IDEMPOTENCY_KEY_REUSED
   */
  async begin ({ key, request }: Reservation): Promise<Once | undefined> {
    const name = key.toString('latin1')
    const end = performance.now() + PATIENCE
    for (let running = this.#running.get(name); running !== undefined; running = this.#running.get(name)) {
      if (this.#waiting >= MAX_WAITING) throw overloaded()
      this.#waiting++
      const timer = new AbortController()
      try {
        const done = await Promise.race([running.promise, sleep(end - performance.now(), 'late' as const, { signal: timer.signal })])
        if (done === 'late') throw inProgress()
        if (done !== undefined) return replay(done, request)
      } finally {
        this.#waiting--
        timer.abort()
      }
    }
    this.#running.set(name, Promise.withResolvers())
    return undefined
  }

  end ({ key, request }: Reservation, once: Once | undefined): void {
    const name = key.toString('latin1')
    this.#running.get(name)?.resolve(once && { request, answer: once.answer })
    this.#running.delete(name)
  }
}

const inProgress = (): ServiceError => withRetryAfter(idempotencyInProgress(), 1000)

/** @throws IDEMPOTENCY_KEY_REUSED */
function replay ({ request, answer }: Done, asked: Buffer): Once {
  if (!request.equals(asked)) throw idempotencyKeyReused()
  return { answer, isReplayed: true }
}

export interface OnceOptions {
  readonly dialect: Dialect
  readonly keysInUse: KeysInUse
  readonly reservation: Reservation
  readonly transaction: Omit<TransactionOptions, 'readOnly' | 'dryRun'>
}

/** @throws NOT_SUPPORTED without the table; IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_KEY_REUSED, RESULT_TOO_LARGE; what `work` throws */
export async function runOnce (options: OnceOptions, work: (tx: Transaction) => Promise<string | Buffer>): Promise<Once> {
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

async function runInTransaction ({ dialect, reservation, transaction }: OnceOptions, work: (tx: Transaction) => Promise<string | Buffer>): Promise<Once> {
  try {
    return await dialect.transaction(async (tx) => {
      const found = await reserveKey(tx, dialect, reservation)
      if (found !== undefined) return replay(found, reservation.request)
      const answer = await work(tx)
      if (answer.length > MAX_ANSWER) throw resultTooLarge(`an answer with an Idempotency-Key may have ${MAX_ANSWER} bytes`)
      await tx.run(updateAnswer[dialect.engine](Buffer.from(answer), reservation.key))
      return { answer, isReplayed: false }
    }, { ...transaction, readOnly: false })
  } catch (error) {
    if ((error as ServiceError).code !== outcomeUnknown().code) throw error
    // the connection was lost during COMMIT, so the table shows whether it succeeded
    const found = await dialect.transaction((tx) => findAnswer(tx, dialect, reservation), { ...transaction, client: undefined, readOnly: false }).catch(() => undefined)
    if (found === undefined) throw error
    return replay(found, reservation.request)
  }
}

/** Reserves the key, or returns the answer that is stored under it. */
async function reserveKey (tx: Transaction, dialect: Dialect, reservation: Reservation): Promise<Done | undefined> {
  try {
    await tx.run(insertReservation[dialect.engine](reservation.key, reservation.request), undefined, PATIENCE)
    return undefined
  } catch (error) {
    if ((error as ServiceError).code !== 'UNIQUE_VIOLATION') throw toReservationError(error)
  }
  const found = await findAnswer(tx, dialect, reservation)
  // not found because it was just deleted
  return found ?? await reserveKey(tx, dialect, reservation)
}

/** Takes the only row of a select from the table of keys. */
class StoredAnswer extends RowCounter {
  done: Done | undefined

  override begin (): void {
    super.begin()
    this.done = undefined
  }

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    const [request, answer] = values.map((value) => Buffer.from(value as Uint8Array ?? '')) as [Buffer, Buffer]
    this.done = { request, answer }
  }
}

async function findAnswer (tx: Transaction, { engine }: Dialect, { key }: Reservation): Promise<Done | undefined> {
  const stored = new StoredAnswer()
  await tx.run(selectAnswer[engine](key), stored)
  return stored.done
}

/** Errors of a late insert, which can only mean that it waited for a lock. */
const LATE = new Set(['QUERY_TIMEOUT', 'LOCK_TIMEOUT'])

function toReservationError (error: unknown): unknown {
  if (error instanceof SchemaMoved) return unsupported('', 'The database has no table for idempotency keys; row-query keys prints the statement that creates it')
  const { code, reason } = error as ServiceError
  return LATE.has(code) && reason !== 'CLIENT_GONE' ? inProgress() : error
}
