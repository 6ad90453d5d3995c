import { abandon, ask, connectTo, identify, takeLeave, type Session } from './session.ts'

/**
 * Ends the statement that runs in a session; false where that could not be done. It connects anew each time: it is rare, and
 * the pool may be what is stuck. Where an address leads to several servers, another one may have somebody else's statement
 * under the same number: it must be the very same server.
 */
function killStatement ({ connection: { threadId }, address, host, server }: Session): Promise<boolean> {
  return connectTo(address, host, async (connection) => {
    const isSame = await identify(connection) === server
    if (isSame) await ask(connection, `kill query ${Number(threadId)}`)
    takeLeave(connection)
    return isSame
  }).catch(() => false)
}

/** How long a statement that was killed may take to end, in milliseconds: what it changed has to be undone. */
const GRACE = 5000

/** A statement that is being ended. */
export interface Stop {
  /** To be called when it has ended. Settles when its session may be used again: a KILL that is still under way would hit the next statement. */
  done (): Promise<void>
}

/**
 * Ends the statement that runs in a session. Where that cannot be done the connection is given up, and the server notices at
 * its next step. mysql2 then never calls back: `onGivenUp` is called in its place.
 */
export function stopStatement (session: Session, onGivenUp: (error: Error) => void): Stop {
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => {
    abandon(session.connection)
    onGivenUp(Object.assign(new Error('the statement could not be ended'), { code: 'KILL_FAILED' }))
  }
  const killing = killStatement(session).then((killed) => {
    if (killed) timer = setTimeout(giveUp, GRACE)
    else giveUp()
  })
  return {
    async done () {
      await killing
      clearTimeout(timer)
    }
  }
}
