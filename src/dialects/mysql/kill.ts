/**
 * Stops statements that exceed their time limit or whose client has disconnected. A connection counts as in use until
 * then, because statements that do not end would pile up on an overloaded server if another one replaced it.
 */
import type { MysqlError } from './errors.ts'
import { BACKSTOP } from './session-settings.ts'
import { ask, connectTo, identify, quit, type Session } from './session.ts'

/** How long a killed statement may take to roll back before the response to its request, in milliseconds. */
const GRACE = 5000
/** The first and the longest pause between two attempts, in milliseconds. */
const PAUSE = 250
const LONGEST_PAUSE = 2000

/**
 * `elsewhere`: the address now leads to another server. `unknown`: the server could not be asked, or did not reply.
 */
export type Progress = 'running' | 'ended' | 'elsewhere' | 'unknown'

const NO_SUCH_THREAD = 1094

/**
 * Kills by a new connection, because the pool may be exhausted. The server must be the same one, up since the statement
 * was sent (`since`): otherwise the thread id may belong to another client.
 */
function killStatement (
  { connection: { threadId }, address, host, server, engine }: Session,
  since: number,
  onKill: () => void
): Promise<Progress> {
  const kill = async (question: (sql: string) => ReturnType<typeof ask>): Promise<Progress> => {
    const [[, uptime]] = (await question("show global status like 'Uptime'")) as [[string, string]]
    if (Number(uptime) + 1 < (performance.now() - since) / 1000) return 'ended'
    // the statement has ended; its reply is about to arrive or is lost
    const [[isIdle] = []] = engine.listsProcesses
      ? await question(`select INFO is null from information_schema.PROCESSLIST where ID = ${Number(threadId)}`)
      : []
    if (isIdle === '1') return 'ended'
    onKill()
    await question(`kill query ${Number(threadId)}`)
    return 'running'
  }
  return connectTo(address, host, async (connection) => {
    const isSame = (await identify(connection)) === server
    const progress = isSame ? await kill((sql) => ask(connection, sql)) : 'elsewhere'
    quit(connection)
    return progress
  }).catch(({ errno }: MysqlError) => (errno === NO_SUCH_THREAD ? 'ended' : 'unknown'))
}

export interface StoppingSessions {
  /** Counts the session as in use until `endStopping`, even if its connection is lost. */
  startStopping (session: Session): void
  /** False after `endStopping`, or after the pool was closed. */
  isStopping (session: Session): boolean
  /** The statement has ended, or is no longer waited for. */
  endStopping (session: Session, how: { readonly isUsable: boolean }): void
}

/** No getter: V8 would keep its session until the next full collection. */
export interface Stop {
  /** Must be called when the connection has replied. Resolves when no KILL runs that would hit the next statement. */
  replied (): Promise<void>
  /** Must be called when the connection was lost, because the statement may still run. */
  connectionLost (): void
  /** Whether a KILL was sent. A statement that it hits in a function such as `sleep` ends well, with a wrong value. */
  wasKilled (): boolean
}

export interface StopOptions {
  readonly pool: StoppingSessions
  readonly session: Session
  /** When the statement was sent, by `performance.now()`. */
  readonly since: number
  /** The statement has not ended in time: its request gets a response without it. */
  readonly onGivenUp: () => void
  /** How long to wait for a server that does not reply, in milliseconds. */
  readonly patience?: number
  /** Replaces the kill function in tests. */
  readonly kill?: typeof killStatement
}

/**
 * If the server cannot be asked, this takes until BACKSTOP after its last reply, when its own time limit should have
 * ended the statement.
 */
export function stopStatement ({
  pool,
  session,
  since,
  onGivenUp,
  patience = BACKSTOP,
  kill = killStatement
}: StopOptions): Stop {
  const state = { hasReplied: false, wasKilled: false, wake: () => {} }

  const rest = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds).unref()
      state.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const end = async (): Promise<void> => {
    const begin = performance.now()
    let heard = begin
    let isGivenUp = false
    for (
      let pause = PAUSE;
      !state.hasReplied && pool.isStopping(session);
      pause = Math.min(2 * pause, LONGEST_PAUSE)
    ) {
      const progress = await kill(session, since, () => { state.wasKilled = true })
      if (state.hasReplied) break
      const now = performance.now()
      if (progress === 'running') heard = now
      const isOver = progress === 'elsewhere' || progress === 'unknown' || !session.open || now >= begin + GRACE
      if (isOver && !isGivenUp) {
        isGivenUp = true
        onGivenUp()
      }
      if (isGivenUp && (progress === 'ended' || progress === 'elsewhere' || now > heard + patience)) break
      await rest(isGivenUp ? pause : Math.min(pause, begin + GRACE - now))
    }
    // a late reply would be read as a reply to the next statement
    pool.endStopping(session, { isUsable: state.hasReplied })
  }

  pool.startStopping(session)
  const ended = end()
  return {
    replied () {
      state.hasReplied = true
      state.wake()
      return ended
    },
    connectionLost () {
      state.wake()
    },
    wasKilled: () => state.wasKilled
  }
}
