import { isCrowded, type MysqlError } from '../errors.ts'
import type { Hosts } from './failover.ts'
import type { MysqlAddress } from '../options.ts'
import { openSession, type Session } from '../connection/session.ts'

/** Opens sessions as they are wanted, and does not storm a server that refuses them. */
export interface Opener {
  /** How many are being opened. */
  readonly opening: number
  /** How many attempts have failed. */
  readonly failures: number
  /** Whether the last attempt failed. */
  readonly failing: boolean
  /** As many attempts as there is a want for; one alone while they fail, and none for a moment after a failure. */
  grow (): void
  /** One attempt though nobody waits. */
  probe (): void
}

export interface OpenerOptions {
  readonly address: MysqlAddress
  readonly hosts: Hosts
  readonly statementTimeout: number
  /** How many sessions there may be, and are. */
  readonly size: number
  readonly open: () => number
  /** How many are waited for, and the number of who waits last. */
  readonly wanted: () => { readonly size: number, readonly last: number }
  readonly onOpen: (session: Session) => void
  /** `last`: who waited last when the attempt began. */
  readonly onFail: (error: MysqlError, last: number) => void
  readonly onLost: (session: Session) => void
}

/** How long it rests after a failure, in milliseconds: who comes meanwhile waits for the next attempt. */
const REST = 100
/** After how many milliseconds an attempt counts no more: one begun before the network was cut learns late that it is back. */
const SLOW = 500

export function createOpener ({ address, hosts, statementTimeout, size, open, wanted, onOpen, onFail, onLost }: OpenerOptions): Opener {
  const slow = new Set<symbol>()
  let opening = 0
  let failures = 0
  let failing = false
  let resting = false

  /** With the first host in turn that lets us in. One that has no room for more of us is none that failed. */
  const connect = async (tries = 1): Promise<Session> => {
    const { current: host, turn } = hosts
    return await openSession({ address, host, turn, statementTimeout }, onLost).catch((error: MysqlError) => {
      failures++
      if (isCrowded(error) && open() > 0) throw error
      hosts.fail(host)
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
    }, REST).unref()
  }

  const mayStart = (): boolean => !resting && open() + opening - slow.size < size

  const grow = (): void => {
    while (mayStart() && opening - slow.size < (failing ? Math.min(1, wanted().size) : wanted().size)) start()
  }

  return {
    get opening () { return opening },
    get failures () { return failures },
    get failing () { return failing },
    grow,
    probe () { if (mayStart() && opening === 0) start() }
  }
}
