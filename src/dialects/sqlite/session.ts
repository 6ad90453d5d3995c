/**
 * A session with a SQLite file in its own process, so that a statement does not block the service and can always be
 * stopped.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { databaseUnavailable, withReason } from '../../errors.ts'
import { READS_ONLY, type Order, type ReadOrder, type Reply, type Row } from './protocol.ts'

/** Has the extension of this file: TypeScript in the repository, JavaScript in the package. */
const PROGRAM = fileURLToPath(new URL(`./process${extname(fileURLToPath(import.meta.url))}`, import.meta.url))

/** The time limit for opening and for closing the file, in milliseconds. */
const PATIENCE = 10_000

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
    // NODE_OPTIONS may load or open something that is only meant for the service, such as a debugger
    const env = { ...process.env, NODE_OPTIONS: '' }
    const execArgv = ['--disable-warning=ExperimentalWarning'] // Node 22 has one for node:sqlite
    this.#process = fork(PROGRAM, readsOnly ? [path, READS_ONLY] : [path], {
      serialization: 'advanced',
      execArgv,
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
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
    const timer = setTimeout(() => session.kill(), PATIENCE)
    try {
      session.#isReadOnly = resultOf(await session.#reply()).isReadOnly === true
    } catch (error) {
      session.kill()
      throw error
    } finally {
      clearTimeout(timer)
    }
    session.#process.unref()
    return session
  }

  /** Whether the session can no longer be used. */
  get isLost (): boolean {
    return this.#isLost
  }

  /** Whether the file may not be written. */
  get isReadOnly (): boolean {
    return this.#isReadOnly
  }

  /**
   * Settles as `work` does, but rejects as soon as the session is lost, also while no order runs. Holds no reference to
   * `work` afterwards.
   */
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

  /** Ends the process now. SQLite rolls back uncommitted changes when the file is opened the next time. */
  kill (): void {
    this.#process.kill('SIGKILL')
    this.#fail()
  }

  killIfBusy (): void {
    if (this.#waiting !== undefined) this.kill()
  }

  /** Closes the file and ends the process. */
  async close (): Promise<void> {
    if (this.#process.connected) this.#process.disconnect()
    this.#fail()
    const timer = setTimeout(() => this.kill(), PATIENCE)
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

  /** Called when the process has ended. */
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

const lost = (): Error => withReason(databaseUnavailable(), 'SQLITE_PROCESS_ENDED')

/** @throws what the process has thrown */
function resultOf (reply: Reply): Reply {
  if (reply.error === undefined) return reply
  const { thrown, ...properties } = reply.error
  throw Object.assign(thrown, properties)
}
