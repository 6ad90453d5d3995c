/** Runs a statement whose rows are read as its sink takes them, in a session whose time limits are those of the stream. */
import type { Statement } from '../../../sql/statement.ts'
import type { Client, Outcome, PacedSink } from '../../dialect.ts'
import type { FifoEntry } from '../../fifo.ts'
import type { TimeoutQueue } from '../../timeout-queue.ts'
import { send, within } from '../connection/session.ts'
import { streamStatement } from '../connection/session-settings.ts'
import { runOn, type ExecutionOptions, type Paced, type Run, type Stoppable, type StatementRequest } from './execution.ts'
import { toFailure } from './failure.ts'
import type { MysqlError } from '../errors.ts'

export interface StreamRequest {
  readonly statement: Statement
  readonly client: Client | undefined
  readonly paced: Paced
}

export interface StreamLimits {
  /** Time limit of a stream, in milliseconds. */
  readonly streamTimeout: number
  /** The time limits of running streams. */
  readonly timeouts: Pick<TimeoutQueue<Stoppable>, 'push' | 'remove'>
}

/** How long setting the session's variables may take, in milliseconds. */
const MOMENT = 5000

/** Creates a request, whose `onStarted` is called with the first row of each run. */
export const toRequest = (statement: Statement, sink: PacedSink, client: Client | undefined): StreamRequest => ({ statement, client, paced: { sink, onStarted: () => {} } })

/** Runs the statement, restores the session and returns it to its pool. @throws Retryable, ServiceError or SchemaMoved; what the sink throws */
export async function runStream (run: Run<StreamRequest>, limits: StreamLimits): Promise<Outcome> {
  const { pool, session, options, request: { statement, client, paced: { sink } } } = run
  try {
    await within(MOMENT, send(session.connection, streamStatement(limits.streamTimeout)))
  } catch (error) {
    pool.discard(session)
    throw toFailure(error as MysqlError, { pool, session, statement, request: { client }, isStopped: false })
  }
  session.memory.free()
  const { timeouts, onStarted } = combine(options.timeouts, limits.timeouts)
  const request: StatementRequest = { statement, sink, client, paced: { sink, onStarted } }
  return await runOn({ session, pool: { ...pool, release: pool.restore }, options: { ...options, timeouts }, request })
}

/** Combines the time limit for the first row with that for all rows. */
function combine (first: ExecutionOptions['timeouts'], whole: StreamLimits['timeouts']): { readonly timeouts: ExecutionOptions['timeouts'], readonly onStarted: () => void } {
  let ofFirst: FifoEntry<Stoppable> | undefined
  const onStarted = (): void => { if (ofFirst !== undefined) first.remove(ofFirst) }
  return {
    onStarted,
    timeouts: {
      push (running) {
        ofFirst = first.push(running)
        return whole.push(running)
      },
      remove (entry) {
        onStarted()
        whole.remove(entry)
      }
    }
  }
}
