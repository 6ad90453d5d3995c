import { abandon, takeLeave, type Session } from '../connection/session.ts'

/** The sessions of a pool, lent out or not. */
export interface Stock {
  /** How many there are, and how many of them nobody uses. */
  readonly open: number
  readonly idle: number
  /** Those whose statement is being ended. */
  readonly held: ReadonlySet<Session>
  add (): void
  /** The idle one that was used last: the others may grow old. */
  take (): Session | undefined
  /** `used`: whether a request has used it. */
  lay (session: Session, used: boolean): void
  /** It is lost, or to be treated as if. One that is held counts nevertheless. */
  lose (session: Session): void
  /** It counts, even if it is lost, until it is let go. */
  hold (session: Session): void
  letGo (session: Session): void
  /** It is not needed any more. */
  retire (session: Session): Promise<void>
  retireIdle (which?: (session: Session) => boolean): Promise<unknown>
  /** No idle session is closed for its age any more. */
  stop (): void
}

export interface StockOptions {
  /** Told of each session that is gone, so that another one may take its place. */
  readonly onGone: () => void
  /** After how many milliseconds without a request an idle session is closed. */
  readonly idleTimeout: number
  /** Sessions that are kept all the same. */
  readonly minimum: number
}

/** How often the stock looks for old sessions at most, as a part of the timeout. */
const SWEEPS = 10

export function createStock ({ onGone, idleTimeout, minimum }: StockOptions): Stock {
  const idle: Session[] = []
  const held = new Set<Session>()
  let open = 0
  // One timer for all sessions, which does not keep the process alive: one for each release would be work for each request.
  let timer: NodeJS.Timeout | undefined

  const leave = (): void => {
    open--
    onGone()
  }

  const remove = (session: Session): void => {
    session.open = false
    const index = idle.indexOf(session)
    if (index >= 0) idle.splice(index, 1)
    if (!held.has(session)) leave()
  }

  const retire = (session: Session): Promise<void> => {
    remove(session)
    return takeLeave(session.connection)
  }

  const sweepIn = (milliseconds: number): void => {
    clearTimeout(timer)
    timer = setTimeout(sweep, milliseconds).unref()
  }

  const sweep = (): void => {
    timer = undefined
    const now = Date.now()
    const old = idle.filter(({ usedAt }) => usedAt + idleTimeout <= now)
    // those that were used last are kept
    for (const session of old.slice(0, Math.max(0, open - minimum))) retire(session)
    if (idle.length === 0 || open <= minimum) return
    const next = Math.min(...idle.map(({ usedAt }) => usedAt + idleTimeout - now))
    sweepIn(Math.max(next, idleTimeout / SWEEPS))
  }

  return {
    get open () { return open },
    get idle () { return idle.length },
    held,
    add () { open++ },
    take: () => idle.pop(),
    lay (session, used) {
      session.idleSince = Date.now()
      if (used) session.usedAt = session.idleSince
      idle.push(session)
      if (!used) sweepIn(idleTimeout / SWEEPS)
      else if (timer === undefined) sweepIn(idleTimeout)
    },
    lose (session) {
      if (!session.open) return
      abandon(session.connection)
      remove(session)
    },
    hold (session) { held.add(session) },
    letGo (session) {
      if (held.delete(session) && !session.open) leave()
    },
    retire,
    retireIdle: (which = () => true) => Promise.all(idle.filter(which).map(retire)),
    stop () { clearTimeout(timer) }
  }
}
