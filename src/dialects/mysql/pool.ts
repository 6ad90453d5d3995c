import { databaseUnavailable } from '../../errors.ts'
import type { Client, PoolUse } from '../dialect.ts'
import type { Table } from '../../catalog/catalog.ts'
import { isCrowded, toConnectError, type MysqlError } from './errors.ts'
import { createFailover, createConnector } from './connector.ts'
import type { MysqlAddress } from './options.ts'
import { createWaiters } from '../waiters.ts'
import type { StoppingSessions } from './kill.ts'
import { answers, destroy, quit, restoreSession, type Session } from './session.ts'

export interface PoolLimits {
  /** The maximum number of connections. */
  readonly size: number
  /** The maximum number of waiting requests. */
  readonly queue: number
  /** How long a request may wait, in milliseconds. */
  readonly wait: number
  /** How long an idle connection stays open without a request, in milliseconds; forever if omitted. */
  readonly idleTimeout?: number
  /** The number of connections that stay open without requests. */
  readonly minimum?: number
}

/** Sessions with one database, each used by one request at a time. */
export interface MysqlPool extends StoppingSessions {
  /** @throws OVERLOADED if too many requests wait or one waits too long, DATABASE_UNAVAILABLE if connecting fails */
  acquire (client?: Client): Session | Promise<Session>
  release (session: Session): void
  /**
   * Releases a session that no request has used, because the service's own statements do not keep a connection open.
   */
  putBack (session: Session): void
  /** Resets a session whose variables may have changed, or undoes otherwise what it has left, and releases it. */
  restore (session: Session, undo?: (session: Session) => Promise<unknown>): void
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
  /**
   * When the columns of each table were last confirmed, by `performance.now()`. The pool of a replica has its own,
   * because the replica may be behind.
   */
  readonly confirmed: WeakMap<Table, number>
  close (): Promise<void>
}

/** The longest delay of a timer in Node, in milliseconds. */
const FOR_EVER = 2 ** 31 - 1
/** How long an idle session is used without a ping, in milliseconds. */
const TRUST = 1000

/**
 * Replaces two parts of mysql2. Its pool does not limit the waiting time, and while a server refuses connections, it
 * tries again for each request. Its cluster assigns a request to a host before it knows whether the host answers.
 */
export function createMysqlPool (
  address: MysqlAddress,
  { size, queue: maxWaiting, wait, idleTimeout = FOR_EVER, minimum = 0 }: PoolLimits,
  statementTimeout: number
): MysqlPool {
  const failover = createFailover(address.hosts)
  const waiters = createWaiters<Session>(maxWaiting, wait)
  const connections = createConnections({ onGone: () => connector.grow(), idleTimeout, minimum })
  let closed = false

  const isPast = ({ epoch }: Session): boolean => epoch !== failover.epoch

  /**
   * The number of sessions that count towards `size`, without those that are being stopped on a server of an earlier
   * epoch.
   */
  const open = (): number => {
    let count = connections.open
    for (const session of connections.stopping) if (isPast(session)) count--
    return count
  }

  const put = (session: Session, used: boolean): void => {
    if (closed || isPast(session)) connections.close(session)
    else if (!waiters.give(session)) connections.addIdle(session, used)
  }

  const onOpen = (session: Session): void => {
    connections.add(session)
    connections.closeIdle(isPast)
    // another attempt may have replaced this slow one
    if (open() > size) connections.close(session)
    else put(session, true)
  }

  const onFail = (error: MysqlError, last: number): void => {
    connections.closeIdle(isPast)
    // waiters may get a session that is in use, or one of an attempt that succeeds before the server is full
    const others = connections.open - connections.stopping.size + (isCrowded(error) ? connector.opening : 0)
    if (others === 0) waiters.reject(() => toConnectError(error), last)
  }

  const connector = createConnector({
    address,
    failover,
    statementTimeout,
    size,
    open,
    wanted: () => waiters,
    onOpen,
    onFail,
    onLost: connections.lose
  })

  const acquire = (client?: Client): Session | Promise<Session> => {
    const session = connections.takeIdle()
    if (session !== undefined) return performance.now() - session.idleSince < TRUST ? session : check(session, client)
    if (closed) return Promise.reject(databaseUnavailable())
    const coming = waiters.wait({ caller: client?.caller, more: connector.opening })
    connector.grow()
    return coming
  }

  const check = async (session: Session, client: Client | undefined): Promise<Session> => {
    if (await answers(session.connection)) return session
    discard(session)
    return acquire(client)
  }

  const discard = (session: Session): void => {
    connections.lose(session)
    connections.closeIdle()
  }

  const release = (session: Session): void => {
    if (session.open) put(session, true)
  }

  return {
    acquire,
    release,
    restore (session, undo = restoreSession) {
      undo(session).then(
        () => {
          session.memory.free()
          release(session)
        },
        () => discard(session)
      )
    },
    putBack (session) {
      if (session.open) put(session, false)
    },
    discard,
    startStopping: connections.startStopping,
    isStopping: (session) => connections.stopping.has(session),
    endStopping (session, { isUsable }) {
      if (!isUsable) connections.lose(session)
      connections.endStopping(session)
    },
    moveOn (session) {
      const hasOther = failover.refuse(session.epoch)
      connections.closeIdle(isPast)
      return hasOther
    },
    get isUp () {
      return !connector.failing && connections.stopping.size < size
    },
    get isBusy () {
      return connections.idle === 0 && open() >= size && connections.open > connections.stopping.size
    },
    probe: connector.probe,
    confirmed: new WeakMap(),
    get use () {
      return {
        size,
        open: connections.open,
        idle: connections.idle,
        ending: connections.stopping.size,
        waiting: waiters.size,
        waits: waiters.last,
        waited: waiters.waited,
        failures: connector.failures
      }
    },
    async close () {
      closed = true
      waiters.reject(() => databaseUnavailable())
      connections.stop()
      for (const session of connections.stopping) {
        connections.lose(session)
        connections.endStopping(session)
      }
      await connections.closeIdle()
    }
  }
}

/** The sessions of a pool: those in use and the idle ones. */
interface Connections {
  /** The number of sessions that are open or whose statement is being stopped, and of the idle ones. */
  readonly open: number
  readonly idle: number
  /** Sessions whose statement is being stopped. */
  readonly stopping: ReadonlySet<Session>
  add (session: Session): void
  /** Takes the most recently used idle session, so that the others may time out. */
  takeIdle (): Session | undefined
  /** `used`: whether a request has used the session. */
  addIdle (session: Session, used: boolean): void
  /** Removes a lost session, but still counts it while its statement is being stopped. */
  lose (session: Session): void
  /** Counts the session, even if it is lost, until `endStopping`. */
  startStopping (session: Session): void
  endStopping (session: Session): void
  /** Closes a session that is no longer needed. */
  close (session: Session): Promise<void>
  closeIdle (which?: (session: Session) => boolean): Promise<unknown>
  /** Stops closing idle sessions. */
  stop (): void
}

interface ConnectionsOptions {
  /** Called when a session is gone, so that another one may be opened. */
  readonly onGone: () => void
  /** How long an idle session stays open without a request, in milliseconds. */
  readonly idleTimeout: number
  /** The number of sessions that stay open without requests. */
  readonly minimum: number
}

/** The maximum number of searches for old sessions within one timeout. */
const SWEEPS = 10

function createConnections ({ onGone, idleTimeout, minimum }: ConnectionsOptions): Connections {
  const idle: Session[] = []
  const stopping = new Set<Session>()
  /** Sessions that are open or being stopped: a set, because a session may be stopped after it was lost. */
  const counted = new Set<Session>()
  // one timer for all sessions, because a timer for each release would cost time in each request; it does not keep the
  // process alive
  let timer: NodeJS.Timeout | undefined

  const uncount = (session: Session): void => {
    counted.delete(session)
    onGone()
  }

  const remove = (session: Session): void => {
    session.open = false
    const index = idle.indexOf(session)
    if (index >= 0) idle.splice(index, 1)
    if (!stopping.has(session)) uncount(session)
  }

  const close = (session: Session): Promise<void> => {
    remove(session)
    return quit(session.connection)
  }

  const sweepIn = (milliseconds: number): void => {
    clearTimeout(timer)
    timer = setTimeout(sweep, milliseconds).unref()
  }

  const sweep = (): void => {
    timer = undefined
    const now = performance.now()
    const old = idle.filter(({ usedAt }) => usedAt + idleTimeout <= now)
    // keeps the most recently used sessions
    for (const session of old.slice(0, Math.max(0, counted.size - minimum))) close(session)
    if (idle.length === 0 || counted.size <= minimum) return
    const next = Math.min(...idle.map(({ usedAt }) => usedAt + idleTimeout - now))
    sweepIn(Math.max(next, idleTimeout / SWEEPS))
  }

  const lose = (session: Session): void => {
    if (!session.open) return
    destroy(session.connection)
    remove(session)
  }

  return {
    get open () { return counted.size },
    get idle () { return idle.length },
    stopping,
    add (session) { counted.add(session) },
    takeIdle: () => idle.pop(),
    addIdle (session, used) {
      session.idleSince = performance.now()
      if (used) session.usedAt = session.idleSince
      idle.push(session)
      if (!used) sweepIn(idleTimeout / SWEEPS)
      else if (timer === undefined) sweepIn(idleTimeout)
    },
    lose,
    startStopping (session) {
      stopping.add(session)
      counted.add(session)
    },
    endStopping (session) {
      if (stopping.delete(session) && !session.open) uncount(session)
    },
    close,
    closeIdle: (which = () => true) => Promise.all(idle.filter(which).map(close)),
    stop: () => clearTimeout(timer)
  }
}
