import { openSession, type Session, type SessionTarget } from './session.ts'
import { isCrowded, type MysqlError } from './errors.ts'
import type { Host } from './options.ts'

/** The pause after a failure, in milliseconds. Requests that arrive during it wait for the next attempt. */
const RETRY_DELAY = 100
/**
 * After so many milliseconds an attempt no longer counts, because one that began before a network failure ends late.
 */
const SLOW = 500

export function createConnector ({
  hosts,
  target,
  onUnreachable,
  size,
  open,
  wanted,
  onOpen,
  onFail,
  onLost
}: {
  /** The number of hosts, and what to connect to at present. */
  readonly hosts: number
  readonly target: () => SessionTarget
  /** Reports that a host could not be reached, so that another one is the target. */
  readonly onUnreachable: (host: Host) => void
  /** The maximum and the current number of sessions. */
  readonly size: number
  readonly open: () => number
  /** The number of waiters, and the sequence number of the last one. */
  readonly wanted: () => { readonly size: number, readonly last: number }
  readonly onOpen: (session: Session) => void
  /** `last`: the sequence number of the last waiter when the attempt began. */
  readonly onFail: (error: MysqlError, last: number) => void
  readonly onLost: (session: Session) => void
}): {
  /** Attempts that are running. */
    readonly opening: number
    /** Attempts that have failed since the start. */
    readonly failures: number
    /** Whether the last attempt failed. */
    readonly failing: boolean
    /** Starts an attempt for each waiter, but only one while attempts fail, and none in the pause after a failure. */
    grow (): void
    /** Starts an attempt even if no request waits. */
    probe (): void
  } {
  const slow = new Set<symbol>()
  let opening = 0
  let failures = 0
  let failing = false
  let resting = false

  /** Tries the hosts one after the other. A host that only refuses more connections has not failed. */
  const connect = async (tries = 1): Promise<Session> => {
    const current = target()
    return await openSession(current, onLost).catch((error: MysqlError) => {
      failures++
      if (isCrowded(error) && open() > 0) throw error
      onUnreachable(current.host)
      if (tries >= hosts) throw error
      return connect(tries + 1)
    })
  }

  const start = async (): Promise<void> => {
    const { last } = wanted()
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
      onOpen(session)
    } catch (error) {
      end()
      rest()
      onFail(error as MysqlError, last)
    }
    grow()
  }

  const rest = (): void => {
    failing = resting = true
    setTimeout(() => {
      resting = false
      grow()
    }, RETRY_DELAY).unref()
  }

  const mayStart = (): boolean => !resting && open() + opening - slow.size < size

  const grow = (): void => {
    while (mayStart() && opening - slow.size < (failing ? Math.min(1, wanted().size) : wanted().size)) start()
  }

  return {
    get opening () {
      return opening
    },
    get failures () {
      return failures
    },
    get failing () {
      return failing
    },
    grow,
    probe () {
      if (mayStart() && opening === 0) start()
    }
  }
}
