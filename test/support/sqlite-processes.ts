/**
 * Lends the processes of SQLite sessions from one test to the next: a start of Node takes a tenth of a second of CPU
 * time, and the tests open hundreds of sessions. A killed process is not lent again, so that a session has what it
 * would have of its own. The nightly run and the tests of the sessions (`useOwnProcesses`) start one for each.
 */
import childProcess, { type ChildProcess, type ForkOptions, type Serializable } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Test } from 'tap'

/** Has a host load the program. */
export interface Begin { readonly url: string, readonly args: readonly string[] }

/** Ends the session of a host, as the end of its channel would; the host answers `ENDED`. */
export const END = 'end'
export const ENDED = 'ended'

const HOST = fileURLToPath(new URL('sqlite-host.ts', import.meta.url))
const PROGRAM = /[\\/]dialects[\\/]sqlite[\\/]process\.[jt]s$/

/** The number of processes that wait for a session. */
const MOST_IDLE = 4

const { fork } = childProcess
const NODE = process.execPath
let isLending = true
let idle: Array<{ readonly host: ChildProcess, readonly setting: string }> = []

/** What a session sees of its process. */
class Lent extends EventEmitter {
  readonly #host: ChildProcess
  readonly #end: () => void
  /** The session writes what its process says there: a host inherits it. */
  readonly stderr = null
  connected = true

  constructor (host: ChildProcess, begin: Begin, giveBack: () => void) {
    super()
    this.#host = host
    const receive = (message: Serializable): void => {
      if (this.connected) this.emit('message', message)
      else if (message === ENDED) {
        this.#end()
        giveBack()
        this.emit('exit', 0, null)
      }
    }
    const lose = (): void => {
      if (!this.connected) return
      this.connected = false
      this.emit('disconnect')
    }
    const exit = (...how: unknown[]): void => {
      this.#end()
      this.emit('exit', ...how)
    }
    this.#end = () => {
      host.off('message', receive).off('disconnect', lose).off('exit', exit).unref()
      host.channel?.unref()
    }
    host.on('message', receive).on('disconnect', lose).on('exit', exit).ref()
    host.channel?.ref()
    host.send(begin, () => {})
  }

  get channel () { return this.#host.channel }
  ref (): void { this.#host.ref() }
  unref (): void { this.#host.unref() }
  send (message: Serializable, done: () => void): boolean { return this.connected && this.#host.send(message, done) }
  kill (signal: NodeJS.Signals): boolean { return this.#host.kill(signal) }

  disconnect (): void {
    this.#host.send(END, () => {})
    this.connected = false
    process.nextTick(() => this.emit('disconnect'))
  }
}

function lend (program: string, args: readonly string[], options: ForkOptions): ChildProcess {
  const setting = JSON.stringify([process.cwd(), options.execArgv, options.env])
  const waiting = idle.find((each) => each.setting === setting)
  idle = idle.filter((each) => each !== waiting)
  const host = waiting?.host ?? start(options)
  const giveBack = (): void => {
    if (idle.length < MOST_IDLE) idle.push({ host, setting })
    else host.disconnect()
  }
  return new Lent(host, { url: pathToFileURL(program).href, args }, giveBack) as EventEmitter as ChildProcess
}

function start (options: ForkOptions): ChildProcess {
  const host = fork(HOST, [], { ...options, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  host.on('exit', () => { idle = idle.filter((each) => each.host !== host) })
  return host
}

/** Lends processes from now on, in this process. */
export function lendProcesses (): void {
  childProcess.fork = ((program: string, args: readonly string[] = [], options: ForkOptions = {}) =>
    isLending && PROGRAM.test(program) && process.execPath === NODE
      ? lend(program, args, options)
      : fork(program, args, options)) as typeof fork
  syncBuiltinESMExports()
}

/** Has each session of a file start a process of its own. */
export function useOwnProcesses (t: Pick<Test, 'teardown'>): void {
  isLending = false
  t.teardown(() => { isLending = true })
}
