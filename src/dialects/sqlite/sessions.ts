import { databaseUnavailable } from '../../errors.ts'
import { createWaiters } from '../waiters.ts'
import { Session } from './session.ts'

export interface SessionLimits {
  /** Requests that may wait for the session. */
  readonly queue: number
  /** How long a request may wait, in milliseconds. */
  readonly wait: number
}

/** The session with a file, which one request uses at a time. If it is lost, another one is opened. */
export interface Sessions {
  /** @throws OVERLOADED where too many requests wait or one waits too long; the error of opening the file; what `work` throws */
  use<T> (work: (session: Session) => Promise<T>): Promise<T>
  close (): Promise<void>
}

export function createSessions (path: string, { queue: places, wait }: SessionLimits): Sessions {
  const waiters = createWaiters<void>(places, wait)
  let session: Session | undefined
  let opening: Promise<Session> | undefined
  let busy = false
  let closed = false

  const getSession = async (): Promise<Session> => {
    if (session?.isLost !== false) {
      await session?.ended() // its locks end with it
      if (closed) throw databaseUnavailable()
      opening = Session.open(path)
      session = await opening
    }
    if (closed) throw databaseUnavailable()
    return session
  }

  return {
    async use (work) {
      if (busy) await waiters.wait(0)
      busy = true
      try {
        return await work(await getSession())
      } finally {
        if (!waiters.give()) busy = false
      }
    },
    async close () {
      closed = true
      waiters.refuse(() => databaseUnavailable())
      await opening?.catch(() => {})
      if (busy) session?.kill()
      await session?.close()
    }
  }
}
