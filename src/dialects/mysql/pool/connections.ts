import { ROLLBACK, undo } from '../transaction/undo.ts'
import { destroy, quit, type Session } from '../connection/session.ts'

/** The sessions of a pool: those in use and the idle ones. */
export interface Connections {
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
  /**
   * Ends the snapshot that the session holds. Resolves to false if the server does not confirm it: the session is then
   * lost.
   */
  endSnapshot (session: Session): Promise<boolean>
  /** Closes a session that is no longer needed. */
  close (session: Session): Promise<void>
  closeIdle (which?: (session: Session) => boolean): Promise<unknown>
  /** Stops closing idle sessions. */
  stop (): void
}

export interface ConnectionsOptions {
  /** Called when a session is gone, so that another one may be opened. */
  readonly onGone: () => void
  /** How long an idle session stays open without a request, in milliseconds. */
  readonly idleTimeout: number
  /** The number of sessions that stay open without requests. */
  readonly minimum: number
}

/**
 * How long an idle session holds the snapshot of its last transaction at least, in milliseconds, twice that at most:
 * long enough for the next one of a busy service, and too short for an ALTER TABLE, which waits for it, to notice.
 */
const SNAPSHOT_HELD = 10
/** The maximum number of searches for old sessions within one timeout. */
const SWEEPS = 10

export function createConnections ({ onGone, idleTimeout, minimum }: ConnectionsOptions): Connections {
  const idle: Session[] = []
  const stopping = new Set<Session>()
  /** Sessions that are open or being stopped: a set, because a session may be stopped after it was lost. */
  const counted = new Set<Session>()
  // one timer for all sessions, because a timer for each release would cost time in each request; it does not keep the
  // process alive
  let timer: NodeJS.Timeout | undefined
  let snapshotTimer: NodeJS.Timeout | undefined

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

  /**
   * The session is handed out only after the answer: mysql2 does not tell a statement behind a ROLLBACK that the
   * ROLLBACK has failed.
   */
  const endSnapshot = (session: Session): Promise<boolean> => {
    session.holdsSnapshot = false
    session.ending = undo(session, ROLLBACK).then(() => {
      session.ending = undefined
      return true
    }, () => {
      lose(session)
      return false
    })
    return session.ending
  }

  const endSnapshots = (): void => {
    snapshotTimer = undefined
    const now = performance.now()
    for (const session of idle.filter(({ holdsSnapshot }) => holdsSnapshot)) {
      if (session.idleSince + SNAPSHOT_HELD <= now) endSnapshot(session)
      else endSnapshotsLater()
    }
  }

  const endSnapshotsLater = (): void => { snapshotTimer ??= setTimeout(endSnapshots, SNAPSHOT_HELD).unref() }

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
      if (session.holdsSnapshot) endSnapshotsLater()
      if (!used) sweepIn(idleTimeout / SWEEPS)
      else if (timer === undefined) sweepIn(idleTimeout)
    },
    lose,
    endSnapshot,
    startStopping (session) {
      stopping.add(session)
      counted.add(session)
    },
    endStopping (session) {
      if (stopping.delete(session) && !session.open) uncount(session)
    },
    close,
    closeIdle: (which = () => true) => Promise.all(idle.filter(which).map(close)),
    stop () {
      clearTimeout(timer)
      clearTimeout(snapshotTimer)
    }
  }
}
