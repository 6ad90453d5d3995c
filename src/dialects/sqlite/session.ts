/**
 * Sessions with a SQLite file, each in its own process, so that a statement does not block the service and can always
 * be stopped.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { forwardStderr } from '../../child-stderr.ts'
import { databaseUnavailable, lockTimeout, overloaded, withReason } from '../../errors.ts'
import type { Client } from '../dialect.ts'
import { Waiters } from '../waiters.ts'
import { toReadError, type SqliteError } from './errors.ts'
import { READS_ONLY, type Order, type ReadOrder, type Reply, type Row } from './protocol.ts'

/** TypeScript in the repository, JavaScript in the package. */
const PROGRAM = fileURLToPath(new URL(`./process${extname(fileURLToPath(import.meta.url))}`, import.meta.url))

/** Limits of opening and closing the file, in milliseconds: a busy machine starts a process slowly. */
const OPEN_TIME = 30_000
const CLOSE_TIME = 10_000

/** Sessions whose process has not ended. */
const living = new Set<Session>()

process.on('exit', () => { for (const session of living) session.killIfBusy() })

interface Waiting { readonly resolve: (reply: Reply) => void, readonly reject: (error: Error) => void }

/** Takes one order at a time. */
export class Session {
  readonly #process: ChildProcess
  readonly #ended = Promise.withResolvers<void>()
  #waiting: Waiting | undefined
  #isLost = false
  #isReadOnly = false
  /** Called once, when the session is lost. */
  readonly #losing = new Set<(error: Error) => void>()

  private constructor (path: string, readsOnly: boolean) {
    // NODE_OPTIONS may be meant for the service only, such as a debugger's
    const env = { ...process.env, NODE_OPTIONS: '' }
    const execArgv = ['--disable-warning=ExperimentalWarning'] // Node 22 has one for node:sqlite
    this.#process = fork(PROGRAM, readsOnly ? [path, READS_ONLY] : [path], {
      serialization: 'advanced',
      execArgv,
      env,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc']
    })
    forwardStderr(this.#process)
    living.add(this)
    this.#process.on('message', (reply: Reply) => this.#settle()?.resolve(reply))
    this.#process.once('disconnect', () => this.#fail()) // Node has read all earlier replies by then
    this.#process.once('exit', () => this.#end())
    this.#process.once('error', () => { // it could not be started
      this.#fail()
      this.#end()
    })
  }

  /**
   * `readsOnly`: the session can run beside one that writes. @throws SqliteError if the file cannot be opened,
   * DATABASE_UNAVAILABLE if the process cannot be started
   */
  static async open (path: string, readsOnly = false): Promise<Session> {
    const session = new Session(path, readsOnly)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      session.kill()
    }, OPEN_TIME)
    try {
      session.#isReadOnly = resultOf(await session.#reply()).isReadOnly === true
    } catch (error) {
      session.kill()
      throw isLate ? withReason(databaseUnavailable(), LATE) : error
    } finally {
      clearTimeout(timer)
    }
    session.#process.unref()
    return session
  }

  get isLost (): boolean {
    return this.#isLost
  }

  get isReadOnly (): boolean {
    return this.#isReadOnly
  }

  /** Rejects as soon as the session is lost. Holds no reference to `work` afterwards. */
  async unlessLost<T> (work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    if (this.#isLost) reject(lost())
    this.#losing.add(reject)
    try {
      return await Promise.race([work, promise])
    } finally {
      this.#losing.delete(reject)
    }
  }

  /** Resolves when the process has ended, and with it all its locks and transactions. */
  ended (): Promise<void> {
    this.#process.ref()
    return this.#ended.promise
  }

  /** @throws SqliteError; DATABASE_UNAVAILABLE if the process has ended or is killed before it replies */
  async ask (order: Order): Promise<Reply> {
    const reply = this.#reply()
    this.#process.send(order, () => {})
    return resultOf(await reply)
  }

  /**
   * Calls `visit` with each row of a select until it returns false. @returns whether all rows were visited @throws as
   * `ask`, and what `visit` throws
   */
  async read (order: Omit<ReadOrder, 'kind'>, visit: (row: Row) => boolean | Promise<boolean>): Promise<boolean> {
    let reply = await this.ask({ kind: 'read', ...order })
    try {
      while (await visitAll(reply.rows, visit)) {
        if (reply.more === false) return true
        reply = await this.ask({ kind: 'more' })
      }
    } catch (error) {
      // a select that is left open holds its snapshot
      await this.ask({ kind: 'end' }).catch(() => {})
      throw error
    }
    if (reply.more === true) await this.ask({ kind: 'end' })
    return false
  }

  /** SQLite rolls back uncommitted changes when the file is opened the next time. */
  kill (): void {
    this.#process.kill('SIGKILL')
    this.#fail()
  }

  killIfBusy (): void {
    if (this.#waiting !== undefined) this.kill()
  }

  async close (): Promise<void> {
    if (this.#process.connected) this.#process.disconnect()
    this.#fail()
    const timer = setTimeout(() => this.kill(), CLOSE_TIME)
    await this.ended()
    clearTimeout(timer)
  }

  #reply (): Promise<Reply> {
    if (this.#isLost) return Promise.reject(lost())
    this.#process.channel?.ref() // a pending reply keeps the service alive, an idle session does not
    return new Promise((resolve, reject) => { this.#waiting = { resolve, reject } })
  }

  #settle (): Waiting | undefined {
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#process.channel?.unref()
    return waiting
  }

  #fail (): void {
    this.#isLost = true
    for (const reject of this.#losing) reject(lost())
    this.#settle()?.reject(lost())
  }

  #end (): void {
    living.delete(this)
    this.#ended.resolve()
  }
}

async function visitAll (
  rows: readonly Row[] | undefined,
  visit: (row: Row) => boolean | Promise<boolean>
): Promise<boolean> {
  for (const row of rows ?? []) {
    const goesOn = visit(row)
    if (!(typeof goesOn === 'boolean' ? goesOn : await goesOn)) return false
  }
  return rows !== undefined
}

const LATE = `SQLITE_PROCESS_SLOW: its process has not opened the file within ${OPEN_TIME / 1000} seconds`

const lost = (): Error => withReason(databaseUnavailable(), 'SQLITE_PROCESS_ENDED')

/** @throws the error of the process */
function resultOf (reply: Reply): Reply {
  if (reply.error === undefined) return reply
  const { thrown, ...properties } = reply.error
  throw Object.assign(thrown, properties)
}

export interface SessionLimits {
  /** The most requests that may wait. */
  readonly queue: number
  /** In milliseconds. */
  readonly wait: number
}

/** How long a read waits for the first session before the second one opens, in milliseconds. */
const READER_DELAY = 50

/** How long after the end of a stream the idle sessions of streams are closed, in milliseconds. */
const IDLE_TIME = 10_000

type Work<T> = (session: Session) => Promise<T>

/**
 * The sessions with a file, each used by one request at a time: one reads and writes, the other one only reads. That
 * one is opened when a read has waited, because a write may wait for another process's lock for seconds.
 */
export function createSessions (path: string, { queue: maxWaiting, wait: timeout }: SessionLimits) {
  /** Whether the session that writes has a transaction with a time limit of its own, such as an import. */
  let isLong = false
  const waiters = new Waiters<Worker>(maxWaiting, timeout, () => isLong ? lockTimeout() : overloaded())
  const main = new Worker(path, false)
  const reader = new Worker(path, true)
  let hasReader = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  const streams = new Set<Worker>()
  let idle: NodeJS.Timeout | undefined

  const release = (worker: Worker): void => { worker.isBusy = waiters.size > 0 && waiters.give(worker) }

  const useReader = (): void => {
    timer = undefined
    release(reader)
    hasReader = reader.isBusy
  }

  const findFree = (): Worker | undefined => {
    if (hasReader && !reader.isBusy) return reader
    return main.isBusy ? undefined : main
  }

  const waitToWrite = (caller: string | undefined): Promise<Worker> =>
    waiters.wait({ caller, accepts: (worker) => worker === main })

  const waitToRead = (caller: string | undefined): Promise<Worker> => {
    if (!hasReader) timer ??= setTimeout(useReader, READER_DELAY)
    return waiters.wait({ caller })
  }

  const closeIdle = (): void => {
    for (const worker of streams) {
      if (worker.isBusy) continue
      streams.delete(worker)
      worker.close()
    }
  }

  const useOne = async <T>(worker: Worker, work: Work<T>, free = release): Promise<T> => {
    worker.isBusy = true
    try {
      return await work(await worker.getSession())
    } finally {
      free(worker)
    }
  }

  return {
    /**
     * `long`: whether the work takes long, such as an import; then other writes that wait too long are LOCK_TIMEOUT.
     * @throws OVERLOADED if too many requests wait or one waits too long; the error of opening the file; what `work`
     * throws
     */
    async use<T> (work: Work<T>, client?: Client, long = false): Promise<T> {
      const worker = main.isBusy ? await waitToWrite(client?.caller) : main
      return await useOne(worker, (session) => {
        isLong = long
        return work(session)
      })
    },
    read: async <T>(work: Work<T>, client?: Client): Promise<T> =>
      await useOne(findFree() ?? await waitToRead(client?.caller), work),
    /**
     * Runs work in a read-only session of its own, because a slow client uses it for long. The caller limits their
     * number. @throws DATABASE_UNAVAILABLE; what `work` throws
     */
    async stream<T> (work: Work<T>): Promise<T> {
      if (isClosed) throw databaseUnavailable()
      const worker = [...streams].find(({ isBusy }) => !isBusy) ?? new Worker(path, true)
      streams.add(worker)
      return await useOne(worker, work, () => {
        worker.isBusy = false
        clearTimeout(idle)
        idle = setTimeout(closeIdle, IDLE_TIME).unref()
      })
    },
    async close (): Promise<void> {
      isClosed = true
      clearTimeout(timer)
      clearTimeout(idle)
      waiters.reject(() => databaseUnavailable())
      await Promise.all([main, reader, ...streams].map((worker) => worker.close()))
    }
  }
}

/** Started when needed, and again if it has ended. */
class Worker {
  readonly #path: string
  readonly #readsOnly: boolean
  #session: Session | undefined
  #opening: Promise<Session> | undefined
  #isClosed = false
  isBusy = false

  constructor (path: string, readsOnly: boolean) {
    this.#path = path
    this.#readsOnly = readsOnly
  }

  /** @throws DATABASE_UNAVAILABLE; SqliteError if the file is opened for the first time */
  async getSession (): Promise<Session> {
    if (this.#session?.isLost !== false) {
      await this.#session?.ended() // its locks end with it
      if (this.#isClosed) throw databaseUnavailable()
      const isFirst = this.#opening === undefined && !this.#readsOnly
      this.#opening = Session.open(this.#path, this.#readsOnly)
      this.#session = await this.#opening.catch((error: SqliteError) => { throw isFirst ? error : toReadError(error) })
    }
    if (this.#isClosed) throw databaseUnavailable()
    return this.#session
  }

  async close (): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => {})
    if (this.isBusy) this.#session?.kill()
    await this.#session?.close()
  }
}
