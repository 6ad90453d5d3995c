import { openSession, type Session } from './session.ts'
import { isCrowded, type MysqlError } from './errors.ts'
import type { Host, MysqlAddress } from './options.ts'

/**
 * Selects one of the hosts of a database, and the next one, in a circle, when it fails. Only one host is used at a
 * time, because servers that replicate each other's changes with a delay may lack a write that another one has
 * accepted.
 */
export interface Failover {
  readonly current: Host
  /** Incremented when another host is selected; sessions of earlier epochs are no longer used. */
  readonly epoch: number
  /** Reports that a host could not be reached. */
  fail (host: Host): void
  /**
   * Reports that the server of a session of that epoch does not accept statements, because it is read-only or not in
   * its cluster. Returns whether another attempt may reach a server that does; false if all hosts have just refused.
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

/** Opens sessions on demand, and limits the attempts to connect to a server that refuses them. */
interface Connector {
  /** Attempts that are running. */
  readonly opening: number
  /** Attempts that have failed since the start. */
  readonly failures: number
  /** Whether the last attempt failed. */
  readonly failing: boolean
  /** Starts an attempt for each waiter, but only one while attempts fail, and none during the pause after a failure. */
  grow (): void
  /** Starts an attempt even if no request waits. */
  probe (): void
}

interface ConnectorOptions {
  readonly address: MysqlAddress
  readonly failover: Failover
  readonly statementTimeout: number
  /** The maximum and the current number of sessions. */
  readonly size: number
  readonly open: () => number
  /** The number of waiters, and the sequence number of the last one. */
  readonly wanted: () => { readonly size: number, readonly last: number }
  readonly onOpen: (session: Session) => void
  /** `last`: the sequence number of the last waiter when the attempt began. */
  readonly onFail: (error: MysqlError, last: number) => void
  readonly onLost: (session: Session) => void
}

/** The pause after a failure, in milliseconds. Requests that arrive during it wait for the next attempt. */
const RETRY_DELAY = 100
/**
 * After so many milliseconds an attempt no longer counts: one that began before a network failure notices late that the
 * network is back.
 */
const SLOW = 500

export function createConnector ({
  address,
  failover,
  statementTimeout,
  size,
  open,
  wanted,
  onOpen,
  onFail,
  onLost
}: ConnectorOptions): Connector {
  const slow = new Set<symbol>()
  let opening = 0
  let failures = 0
  let failing = false
  let resting = false

  /** Tries the hosts one after the other. A host that only refuses more connections has not failed. */
  const connect = async (tries = 1): Promise<Session> => {
    const { current: host, epoch } = failover
    return await openSession({ address, host, epoch, statementTimeout }, onLost).catch((error: MysqlError) => {
      failures++
      if (isCrowded(error) && open() > 0) throw error
      failover.fail(host)
      if (tries >= address.hosts.length) throw error
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
