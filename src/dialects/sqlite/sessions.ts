import { databaseUnavailable } from '../../errors.ts'
import type { Client } from '../dialect.ts'
import { createWaiters } from '../waiters.ts'
import { toReadError, type SqliteError } from './errors.ts'
import { Session } from './session.ts'

export interface SessionLimits {
  /** Requests that may wait for a session. */
  readonly queue: number
  /** How long a request may wait, in milliseconds. */
  readonly wait: number
}

/**
 * The sessions with a file, each used by one request at a time: one reads and writes, the other one only reads. The
 * second one is opened when a read has waited for the first one, because a write may wait for another process's lock
 * for seconds, during which SQLite can read.
 */
export interface Sessions {
  /**
   * @throws OVERLOADED if too many requests wait or one waits too long; the error of opening the file; what `work`
   * throws
   */
  use<T> (work: (session: Session) => Promise<T>, client?: Client): Promise<T>
  /** Like `use`, for work that only reads. In either session, it sees everything that was committed before it began. */
  read<T> (work: (session: Session) => Promise<T>, client?: Client): Promise<T>
  /**
   * Runs work in a read-only session of its own, because a slow client uses it for long. The caller limits the number
   * of these sessions.
   * @throws DATABASE_UNAVAILABLE; what `work` throws
   */
  stream<T> (work: (session: Session) => Promise<T>): Promise<T>
  close (): Promise<void>
}

/** How long a read waits for the first session before the second one is opened, in milliseconds. */
const PATIENCE = 50

/** How long after the end of a stream the idle sessions of streams are closed, in milliseconds. */
const IDLE_TIME = 10_000

export function createSessions (path: string, { queue: maxWaiting, wait: timeout }: SessionLimits): Sessions {
  const waiters = createWaiters<Worker>(maxWaiting, timeout)
  const main = new Worker(path, false)
  const reader = new Worker(path, true)
  let hasReader = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const streams = new Set<Worker>()
  let idle: NodeJS.Timeout | undefined

  const release = (worker: Worker): void => { worker.isBusy = waiters.give(worker) }

  const useReader = (): void => {
    timer = undefined
    release(reader)
    hasReader = reader.isBusy
  }

  const findFree = (): Worker | undefined => {
    if (hasReader && !reader.isBusy) return reader
    return main.isBusy ? undefined : main
  }

  const waitToWrite = (caller: string | undefined): Promise<Worker> =>
    waiters.wait({ caller, accepts: (worker) => worker === main })

  const waitToRead = (caller: string | undefined): Promise<Worker> => {
    if (!hasReader) timer ??= setTimeout(useReader, PATIENCE)
    return waiters.wait({ caller })
  }

  const closeIdle = (): void => {
    for (const worker of streams) {
      if (worker.isBusy) continue
      streams.delete(worker)
      worker.close()
    }
  }

  const useOne = async <T>(worker: Worker, work: (session: Session) => Promise<T>): Promise<T> => {
    worker.isBusy = true
    try {
      return await work(await worker.getSession())
    } finally {
      release(worker)
    }
  }

  return {
    use: async (work, client) => useOne(main.isBusy ? await waitToWrite(client?.caller) : main, work),
    read: async (work, client) => useOne(findFree() ?? await waitToRead(client?.caller), work),
    async stream (work) {
      if (isClosed) throw databaseUnavailable()
      const worker = [...streams].find(({ isBusy }) => !isBusy) ?? new Worker(path, true)
      streams.add(worker)
      worker.isBusy = true
      try {
        return await work(await worker.getSession())
      } finally {
        worker.isBusy = false
        clearTimeout(idle)
        idle = setTimeout(closeIdle, IDLE_TIME).unref()
      }
    },
    async close () {
      isClosed = true
      clearTimeout(timer)
      clearTimeout(idle)
      waiters.reject(() => databaseUnavailable())
      await Promise.all([main, reader, ...streams].map((worker) => worker.close()))
    }
  }
}

/** A process with one session, which is started when it is needed, and again if it has ended. */
class Worker {
  readonly #path: string
  readonly #readsOnly: boolean
  #session: Session | undefined
  #opening: Promise<Session> | undefined
  #isClosed = false
  isBusy = false

  constructor (path: string, readsOnly: boolean) {
    this.#path = path
    this.#readsOnly = readsOnly
  }

  /** @throws DATABASE_UNAVAILABLE; SqliteError if the file is opened for the first time */
  async getSession (): Promise<Session> {
    if (this.#session?.isLost !== false) {
      await this.#session?.ended() // its locks end with it
      if (this.#isClosed) throw databaseUnavailable()
      const isFirst = this.#opening === undefined && !this.#readsOnly
      this.#opening = Session.open(this.#path, this.#readsOnly)
      this.#session = await this.#opening.catch((error: SqliteError) => { throw isFirst ? error : toReadError(error) })
    }
    if (this.#isClosed) throw databaseUnavailable()
    return this.#session
  }

  async close (): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => {})
    if (this.isBusy) this.#session?.kill()
    await this.#session?.close()
  }
}
