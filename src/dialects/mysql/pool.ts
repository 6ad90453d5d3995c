import { databaseUnavailable, overloaded } from '../../errors.ts'
import type { Client, Isolation, PoolUse, ServerFacts } from '../dialect.ts'
import type { ServerTraits, Table } from '../../catalog/catalog.ts'
import type { Confirmation } from './definitions.ts'
import { isCrowded, type MysqlError, toConnectError } from './errors.ts'
import type { StoppingSessions } from './kill.ts'
import type { Host, MysqlAddress } from './session-settings.ts'
import { Waiters } from '../waiters.ts'
import { replies, destroy, openSession, quit, restoreSession, type Session, within } from './session.ts'

export interface PoolLimits {
  /** Connections. */
  readonly size: number
  /** The most requests that may wait. */
  readonly queue: number
  /** How long a request may wait, in milliseconds. */
  readonly wait: number
  /** How long an idle connection stays open without a request, in milliseconds; forever if omitted. */
  readonly idleTimeout?: number
  /** Connections that stay open without requests. */
  readonly minimum?: number
}

/** Sessions with one database, each used by one request at a time. */
export interface MysqlPool extends StoppingSessions {
  /**
   * `isolation`: any if omitted. An idle session that has it is preferred.
   * @throws OVERLOADED if too many requests wait or one waits too long, DATABASE_UNAVAILABLE if connecting fails
   */
  acquire (client?: Client, isolation?: Isolation): Session | Promise<Session>
  release (session: Session): void
  /** No request has used it, so it may be closed as idle. */
  putBack (session: Session): void
  /** Resets a session whose variables may have changed, or undoes all else by the statement, and releases it. */
  restore (session: Session, sql?: string): void
  /** Removes a lost session, and closes the idle ones, which may also be lost. */
  discard (session: Session): void
  /** Reports that the server of the session does not accept the statement. Returns whether another server may. */
  moveOn (session: Session): boolean
  /** Whether the last attempt to connect succeeded, and the connections are not all being stopped. */
  readonly isUp: boolean
  /** Whether no connection is free, no other one may be opened, and not all of them are being stopped. */
  readonly isBusy: boolean
  /** Tries to connect even if no request waits. */
  probe (): void
  readonly use: PoolUse
  /** The last server to which a session was opened. */
  readonly newest: { readonly traits: ServerTraits, readonly facts: ServerFacts } | undefined
  /** The last confirmation of the columns of each table on this server. */
  readonly confirmed: WeakMap<Table, Confirmation>
  readonly lastAttempts: LastAttempts
  close (): Promise<void>
}

/**
 * One of the hosts of a database, and the next one, in a circle, when it fails. Never two, because servers that
 * replicate each other may lack a write that another one has accepted.
 */
export interface Failover {
  readonly current: Host
  /** Counts changes of the host; sessions of earlier epochs are no longer used. */
  readonly epoch: number
  /** The host could not be reached. */
  fail (host: Host): void
  /**
   * The server of that epoch is read-only or not in its cluster. Returns whether another attempt may reach one that is;
   * false if all hosts have just refused.
   */
  refuse (epoch: number): boolean
}

/** How long a host that refused is not used, in milliseconds. */
const HOST_RETRY_DELAY = 200

export function createFailover (hosts: readonly Host[]): Failover {
  const refusals = new Map<number, number>()
  let current = 0
  let epoch = 0
  const after = (index: number): number => (index + 1) % hosts.length
  const use = (index: number): void => {
    current = index
    epoch++
  }
  return {
    get current () { return hosts[current] as Host },
    get epoch () { return epoch },
    fail (host) {
      if (hosts.length > 1 && hosts[current] === host) use(after(current))
    },
    refuse (then) {
      if (then !== epoch) return true
      const now = performance.now()
      const rests = (index: number): boolean => now - (refusals.get(index) ?? -Infinity) < HOST_RETRY_DELAY
      let next = after(current)
      while (next !== current && rests(next)) next = after(next)
      const stay = rests(next)
      refusals.set(current, now)
      if (stay) return false
      use(next)
      return true
    }
  }
}

/** How long an idle session is used without a ping, in milliseconds. */
const TRUST = 1000
/** How many searches for old sessions there are within the idle timeout. */
const SWEEPS = 10
/** The pause after a failure to connect, in milliseconds. Requests that arrive during it wait for the next attempt. */
const RETRY_DELAY = 100
/**
 * After so many milliseconds an attempt to connect no longer counts, because one that began before a network failure
 * ends late.
 */
const SLOW = 500

/**
 * The pool of mysql2 does not limit the waiting time, and tries again for each request while a server refuses
 * connections. Its cluster assigns a request to a host before it knows whether the host replies.
 */
export function createMysqlPool (
  address: MysqlAddress,
  { size, queue: maxWaiting, wait, idleTimeout, minimum = 0 }: PoolLimits,
  statementTimeout: number
): MysqlPool {
  const failover = createFailover(address.hosts)
  // requests are not too many for a server that has not let anybody in
  const waiters = new Waiters<Session>(maxWaiting, wait, () =>
    counted.size === 0 ? toConnectError({ code: 'ETIMEDOUT' }) : overloaded()
  )
  /** The most recently used one last. */
  const idle: Session[] = []
  const stopping = new Set<Session>()
  /** Open, or lost while their statement is being stopped. */
  const counted = new Set<Session>()
  let closed = false
  let newest: MysqlPool['newest']
  /** Running attempts to connect, and how many of them no longer count. */
  let opening = 0
  const slow = new Set<symbol>()
  /** Attempts that have failed since the start, and whether the last one did. */
  let failures = 0
  let failing = false
  let resting = false

  const isPast = ({ epoch }: Session): boolean => epoch !== failover.epoch

  /** Sessions that count towards `size`: none that is being stopped on a server of an earlier epoch. */
  const open = (): number => counted.size - [...stopping].filter(isPast).length

  const uncount = (session: Session): void => {
    counted.delete(session)
    grow()
  }

  const remove = (session: Session): void => {
    session.open = false
    const index = idle.indexOf(session)
    if (index >= 0) idle.splice(index, 1)
    if (!stopping.has(session)) uncount(session)
  }

  const lose = (session: Session): void => {
    if (!session.open) return
    destroy(session.connection)
    remove(session)
  }

  const quitSession = (session: Session): Promise<void> => {
    remove(session)
    return quit(session.connection)
  }

  const closeIdle = (which: (session: Session) => boolean = () => true): Promise<unknown> =>
    Promise.all(idle.filter(which).map(quitSession))

  const closeOld = (): void => {
    const oldest = performance.now() - (idleTimeout as number)
    const old = idle.filter(({ usedAt }) => usedAt <= oldest)
    for (const session of old.slice(0, Math.max(0, counted.size - minimum))) quitSession(session)
  }
  const sweeps = idleTimeout === undefined ? undefined : setInterval(closeOld, idleTimeout / SWEEPS).unref()

  const put = (session: Session, used: boolean): void => {
    if (!session.open) return
    if (closed || isPast(session)) quitSession(session)
    else if (waiters.size === 0 || !waiters.give(session)) {
      session.idleSince = performance.now()
      if (used) session.usedAt = session.idleSince
      idle.push(session)
    }
  }

  const endStopping = (session: Session): void => {
    if (stopping.delete(session) && !session.open) uncount(session)
  }

  /** One host after the other. A host that only refuses more connections has not failed. */
  const connect = async (tries = 1): Promise<Session> => {
    const host = failover.current
    const target = { address, host, epoch: failover.epoch, statementTimeout }
    return await openSession(target, lose).catch((error: MysqlError) => {
      failures++
      if (isCrowded(error) && open() > 0) throw error
      failover.fail(host)
      if (tries >= address.hosts.length) throw error
      return connect(tries + 1)
    })
  }

  const add = (session: Session): void => {
    const { engine: { name, traits, lacks }, version, ignored } = session
    newest = { traits, facts: { engine: name, version, ignores: ignored, lacks } }
    counted.add(session)
    closeIdle(isPast)
    // another attempt may have replaced this slow one
    if (open() > size) quitSession(session)
    else put(session, true)
  }

  const rest = (): void => {
    failing = resting = true
    setTimeout(() => {
      resting = false
      grow()
    }, RETRY_DELAY).unref()
  }

  const start = async (): Promise<void> => {
    const { last } = waiters
    const attempt = Symbol('attempt')
    const timer = setTimeout(() => {
      slow.add(attempt)
      grow()
    }, SLOW)
    const end = (): void => {
      clearTimeout(timer)
      opening--
      slow.delete(attempt)
    }
    opening++
    try {
      const session = await connect()
      end()
      failing = false
      add(session)
    } catch (error) {
      end()
      rest()
      closeIdle(isPast)
      // waiters may get a session that is in use, or one of an attempt that succeeds before the server is full
      const remaining = counted.size - stopping.size + (isCrowded(error as MysqlError) ? opening : 0)
      if (remaining === 0) waiters.reject(() => toConnectError(error as MysqlError), last)
    }
    grow()
  }

  const mayStart = (): boolean => !resting && open() + opening - slow.size < size

  /** One attempt for each waiter, but only one while attempts fail, and none in the pause after a failure. */
  const grow = (): void => {
    while (mayStart() && opening - slow.size < (failing ? Math.min(1, waiters.size) : waiters.size)) start()
  }

  /** The one used last, of those with the level if there are any. */
  const takeIdle = (isolation: Isolation): Session | undefined => {
    for (let at = idle.length - 1; at >= 0; at--) {
      const { isolation: level, levels } = idle[at] as Session
      if (level === levels[isolation]) return idle.splice(at, 1)[0]
    }
    return idle.pop()
  }

  const acquire = (client?: Client, isolation?: Isolation): Session | Promise<Session> => {
    const session = isolation === undefined ? idle.pop() : takeIdle(isolation)
    if (session !== undefined) {
      return performance.now() - session.idleSince < TRUST ? session : check(session, client, isolation)
    }
    if (closed) return Promise.reject(databaseUnavailable())
    const coming = waiters.wait({ caller: client?.caller, more: opening })
    grow()
    return coming
  }

  const check = async (
    session: Session,
    client: Client | undefined,
    isolation: Isolation | undefined
  ): Promise<Session> => {
    if (await replies(session.connection)) return session
    discard(session)
    return acquire(client, isolation)
  }

  const discard = (session: Session): void => {
    lose(session)
    closeIdle()
  }

  return {
    acquire,
    release: (session) => put(session, true),
    putBack: (session) => put(session, false),
    restore (session, sql) {
      restoreSession(session, sql).then(
        () => {
          session.memory.free()
          put(session, true)
        },
        () => discard(session)
      )
    },
    discard,
    startStopping (session) {
      stopping.add(session)
      counted.add(session)
    },
    isStopping: (session) => stopping.has(session),
    endStopping (session, { isUsable }) {
      if (!isUsable) lose(session)
      endStopping(session)
    },
    moveOn (session) {
      const hasOther = failover.refuse(session.epoch)
      closeIdle(isPast)
      return hasOther
    },
    get isUp () { return !failing && stopping.size < size },
    get isBusy () { return idle.length === 0 && open() >= size && counted.size > stopping.size },
    probe () {
      if (mayStart() && opening === 0) start()
    },
    get newest () { return newest },
    confirmed: new WeakMap(),
    lastAttempts: new LastAttempts(),
    get use () {
      return {
        size,
        open: counted.size,
        idle: idle.length,
        ending: stopping.size,
        waiting: waiters.size,
        waits: waiters.last,
        waited: waiters.waited,
        failures
      }
    },
    async close () {
      closed = true
      waiters.reject(() => databaseUnavailable())
      clearInterval(sweeps)
      for (const session of stopping) {
        lose(session)
        endStopping(session)
      }
      await closeIdle()
    }
  }
}

/** In milliseconds. */
const PATIENCE = 500

/**
 * Runs the last attempt of a transaction without the others of this process: those that take the same locks in another
 * order would undo it again. Nothing waits while there is no such attempt, nor longer than PATIENCE.
 */
export class LastAttempts {
  #running = 0
  #onIdle = (): void => {}
  /** Resolves when the last attempts that run or wait, one after the other, have ended; undefined if there are none. */
  #last: Promise<void> | undefined

  async run<T> (attempt: () => Promise<T>, isLast: boolean): Promise<T> {
    if (isLast) return await this.#runAlone(attempt)
    if (this.#last !== undefined) await inTime(this.#withoutLast())
    return await this.#count(attempt)
  }

  async #count<T> (attempt: () => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await attempt()
    } finally {
      if (--this.#running === 0) this.#onIdle()
    }
  }

  async #withoutLast (): Promise<void> {
    while (this.#last !== undefined) await this.#last
  }

  #runAlone<T> (attempt: () => Promise<T>): Promise<T> {
    const running = inTime(this.#idle(this.#last)).then(() => this.#count(attempt))
    const end = (): void => { if (this.#last === last) this.#last = undefined }
    const last = this.#last = running.then(end, end)
    return running
  }

  async #idle (before: Promise<void> | undefined): Promise<void> {
    await before
    if (this.#running > 0) await new Promise<void>((resolve) => { this.#onIdle = resolve })
  }
}

const inTime = (waiting: Promise<void>): Promise<void> => within(PATIENCE, waiting).catch(() => {})
