import { databaseUnavailable } from '../../errors.ts'
import type { Client } from '../dialect.ts'
import { createWaiters, type Waiters } from '../waiters.ts'
import { toReadError, type SqliteError } from './errors.ts'
import { Session } from './session.ts'

export interface SessionLimits {
  /** Requests that may wait for a session. */
  readonly queue: number
  /** How long a request may wait, in milliseconds. */
  readonly wait: number
}

/**
 * The sessions with a file, each used by one request at a time: one for everything, and one that only reads. The second
 * one is opened when a request has waited for the first one, because a write may wait for another process's lock for
 * seconds, during which SQLite can read.
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
   * Runs work in a read-only session of its own, because a slow client holds it for long. The caller limits the number
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

export function createSessions (path: string, { queue: places, wait: timeout }: SessionLimits): Sessions {
  const writes = createWaiters<Place>(places, timeout)
  const reads = createWaiters<Place>(places, timeout)
  const main = new Place(path, false)
  const reader = new Place(path, true)
  let hasReader = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const streams = new Set<Place>()
  let idle: NodeJS.Timeout | undefined

  const release = (place: Place): void => {
    place.isBusy = (place === main && writes.give(place)) || reads.give(place)
  }

  const useReader = (): void => {
    timer = undefined
    if (reads.size === 0) return
    hasReader = true
    release(reader)
  }

  const findFree = (): Place | undefined => {
    if (hasReader && !reader.isBusy) return reader
    return main.isBusy ? undefined : main
  }

  /** Waits in one of the queues, which share their places. */
  const wait = (own: Waiters<Place>, other: Waiters<Place>, caller: string | undefined): Promise<Place> => {
    if (own.size + other.size >= places) other.shed(own.countOf(caller) + other.countOf(caller) + 1)
    return own.wait(-other.size, caller)
  }

  const waitToRead = (caller: string | undefined): Promise<Place> => {
    if (!hasReader) timer ??= setTimeout(useReader, PATIENCE)
    return wait(reads, writes, caller)
  }

  const closeIdle = (): void => {
    for (const place of streams) {
      if (place.isBusy) continue
      streams.delete(place)
      place.close()
    }
  }

  const useOne = async <T>(place: Place, work: (session: Session) => Promise<T>): Promise<T> => {
    place.isBusy = true
    try {
      return await work(await place.getSession())
    } finally {
      release(place)
    }
  }

  return {
    use: async (work, client) => useOne(main.isBusy ? await wait(writes, reads, client?.caller) : main, work),
    read: async (work, client) => useOne(findFree() ?? await waitToRead(client?.caller), work),
    async stream (work) {
      if (isClosed) throw databaseUnavailable()
      const place = [...streams].find(({ isBusy }) => !isBusy) ?? new Place(path, true)
      streams.add(place)
      place.isBusy = true
      try {
        return await work(await place.getSession())
      } finally {
        place.isBusy = false
        clearTimeout(idle)
        idle = setTimeout(closeIdle, IDLE_TIME).unref()
      }
    },
    async close () {
      isClosed = true
      clearTimeout(timer)
      clearTimeout(idle)
      for (const waiters of [writes, reads]) waiters.refuse(() => databaseUnavailable())
      await Promise.all([main, reader, ...streams].map((place) => place.close()))
    }
  }
}

/** One session, which is opened when it is needed, and reopened if it is lost. */
class Place {
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
