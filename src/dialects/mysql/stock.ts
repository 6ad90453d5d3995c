import { abandon, takeLeave, type Session } from './session.ts'

/** The sessions of a pool, lent out or not. */
export interface Stock {
  /** How many there are, and how many of them nobody uses. */
  readonly open: number
  readonly idle: number
  add (): void
  /** The idle one that was used last: the others may grow old. */
  take (): Session | undefined
  lay (session: Session): void
  /** It is lost, or to be treated as if. */
  lose (session: Session): void
  /** It is not needed any more. */
  retire (session: Session): Promise<void>
  retireIdle (which?: (session: Session) => boolean): Promise<unknown>
}

/** `onGone`: told of each that is gone, so that another one may take its place. */
export function createStock (onGone: () => void): Stock {
  const idle: Session[] = []
  let open = 0

  const remove = (session: Session): void => {
    session.open = false
    open--
    const index = idle.indexOf(session)
    if (index >= 0) idle.splice(index, 1)
    onGone()
  }

  const retire = (session: Session): Promise<void> => {
    remove(session)
    return takeLeave(session.connection)
  }

  return {
    get open () { return open },
    get idle () { return idle.length },
    add () { open++ },
    take: () => idle.pop(),
    lay (session) {
      session.idleSince = Date.now()
      idle.push(session)
    },
    lose (session) {
      if (!session.open) return
      abandon(session.connection)
      remove(session)
    },
    retire,
    retireIdle: (which = () => true) => Promise.all(idle.filter(which).map(retire))
  }
}
