import { databaseUnavailable } from '../../../errors.ts'
import type { PoolUse } from '../../dialect.ts'
import type { Confirmed } from '../execute/confirmation.ts'
import { isCrowded, toConnectError, type MysqlError } from '../errors.ts'
import { createHosts } from './failover.ts'
import { createOpener } from './connector.ts'
import type { MysqlAddress } from '../options.ts'
import { createQueue } from '../../waiters.ts'
import { answers, type Session } from '../connection/session.ts'
import { createStock } from './connections.ts'

export interface PoolLimits {
  /** Connections at most. */
  readonly size: number
  /** Requests that may wait for one. */
  readonly queue: number
  /** How long one may wait, in milliseconds. */
  readonly wait: number
  /** After how many milliseconds without a request an idle connection is closed; never if left out. */
  readonly idleTimeout?: number
  /** Connections that are kept all the same. */
  readonly minimum?: number
}

/** Sessions with one database, lent out one at a time. */
export interface MysqlPool {
  /** @throws OVERLOADED where too many wait or one waits too long, DATABASE_UNAVAILABLE where there is no connecting */
  acquire (): Session | Promise<Session>
  release (session: Session): void
  /** The same for one that no request has used: what the service asks for itself keeps no connection open. */
  putBack (session: Session): void
  /** A session was lost under a statement: the idle ones may be lost as well, and are not used any more. */
  discard (session: Session): void
  /** Its statement is being ended: until it is let go it counts as in use, even if its connection is lost. */
  hold (session: Session): void
  /** False once it was let go, or the pool was closed. */
  holds (session: Session): boolean
  /** Its statement has ended, or cannot be waited for any longer. */
  letGo (session: Session, how: { readonly isUsable: boolean }): void
  /** A session's server does not take the statement; true where another one may. */
  moveOn (session: Session): boolean
  /** Whether the last attempt to connect went well, and not every connection is stuck in a statement that does not end. */
  readonly isUp: boolean
  /** Tries to connect though nobody waits. */
  probe (): void
  readonly use: PoolUse
  /** A replica may be late: what was confirmed on one server is not known of another. */
  readonly confirmed: Confirmed
  close (): Promise<void>
}

/** The longest time that a timer of Node's can have, in milliseconds. */
const FOR_EVER = 2 ** 31 - 1
/** How long an idle session is trusted to be there still, in milliseconds. */
const TRUST = 1000

/**
 * Our own and not mysql2's: that one connects anew for each of a thousand requests that a server refuses, has no bound on
 * waiting, and its cluster leaves a request with a host before it is known whether the host answers.
 */
export function createMysqlPool (address: MysqlAddress, { size, queue: places, wait, idleTimeout = FOR_EVER, minimum = 0 }: PoolLimits, statementTimeout: number): MysqlPool {
  const hosts = createHosts(address.hosts)
  const queue = createQueue<Session>(places, wait)
  const stock = createStock({ onGone: () => opener.grow(), idleTimeout, minimum })
  let closed = false

  const isPast = ({ turn }: Session): boolean => turn !== hosts.turn

  /** Sessions that take a place: one that is held on a server that was left for another one does not. */
  const open = (): number => {
    let count = stock.open
    for (const session of stock.held) if (isPast(session)) count--
    return count
  }

  const put = (session: Session, used: boolean): void => {
    if (closed || isPast(session)) stock.retire(session)
    else if (!queue.give(session)) stock.lay(session, used)
  }

  const onOpen = (session: Session): void => {
    stock.add()
    stock.retireIdle(isPast)
    // one that was slow may find its place taken
    if (open() > size) stock.retire(session)
    else put(session, true)
  }

  const onFail = (error: MysqlError, last: number): void => {
    stock.retireIdle(isPast)
    // who waits may get another one yet: one that is in use, or one of those that were let in before there was no more room
    const others = stock.open - stock.held.size + (isCrowded(error) ? opener.opening : 0)
    if (others === 0) queue.refuse(() => toConnectError(error), last)
  }

  const opener = createOpener({ address, hosts, statementTimeout, size, open, wanted: () => queue, onOpen, onFail, onLost: stock.lose })

  const acquire = (): Session | Promise<Session> => {
    const session = stock.take()
    if (session !== undefined) return Date.now() - session.idleSince < TRUST ? session : check(session)
    if (closed) return Promise.reject(databaseUnavailable())
    const coming = queue.wait(opener.opening)
    opener.grow()
    return coming
  }

  const check = async (session: Session): Promise<Session> => {
    if (await answers(session.connection)) return session
    discard(session)
    return acquire()
  }

  const discard = (session: Session): void => {
    stock.lose(session)
    stock.retireIdle()
  }

  return {
    acquire,
    release (session) { if (session.open) put(session, true) },
    putBack (session) { if (session.open) put(session, false) },
    discard,
    hold: stock.hold,
    holds: (session) => stock.held.has(session),
    letGo (session, { isUsable }) {
      if (!isUsable) stock.lose(session)
      stock.letGo(session)
    },
    moveOn (session) {
      const moved = hosts.refuse(session.turn)
      stock.retireIdle(isPast)
      return moved
    },
    get isUp () { return !opener.failing && stock.held.size < size },
    probe: opener.probe,
    confirmed: new WeakMap(),
    get use () { return { size, open: stock.open, idle: stock.idle, ending: stock.held.size, waiting: queue.size, waits: queue.last, waited: queue.waited, failures: opener.failures } },
    async close () {
      closed = true
      queue.refuse(() => databaseUnavailable())
      stock.stop()
      for (const session of stock.held) {
        stock.lose(session)
        stock.letGo(session)
      }
      await stock.retireIdle()
    }
  }
}
