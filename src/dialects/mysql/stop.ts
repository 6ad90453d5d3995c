import mysql, { type ConnectionOptions, type PoolConnection } from 'mysql2'

/** Ends the statement that runs on a connection, by another one; false where that could not be done. */
export type Kill = (threadId: number) => Promise<boolean>

/** A `kill` that connects anew each time: it is rare, and the pool may be what is stuck. */
export function createKill (options: ConnectionOptions): Kill {
  return (threadId) => new Promise((resolve) => {
    const connection = mysql.createConnection(options)
    connection.on('error', () => resolve(false))
    connection.query(`kill query ${Number(threadId)}`, (error) => {
      connection.destroy()
      resolve(error === null)
    })
  })
}

/** A way to end the one statement that runs on a connection. */
export interface Stop {
  /** Ends it. May be called again; the first call counts. */
  now (): void
  readonly called: boolean
  /** Settles when the connection may be used again: a KILL that is still under way would hit the next statement. */
  done (): Promise<void>
}

/**
 * Where the statement cannot be killed the connection is given up, and the server notices at its next step. mysql2 then never
 * calls back: `onGivenUp` is called in its place.
 */
export function createStop (connection: PoolConnection, kill: Kill, onGivenUp: (error: Error) => void): Stop {
  let killing: Promise<void> | undefined
  return {
    now () {
      killing ??= kill(connection.threadId as number).then((killed) => {
        if (killed) return
        connection.destroy()
        onGivenUp(Object.assign(new Error('the statement could not be ended'), { code: 'KILL_FAILED' }))
      })
    },
    get called () { return killing !== undefined },
    async done () { await killing }
  }
}
