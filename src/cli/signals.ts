/** Signals are caught from the start: one without a handler would end the process without a message. */
import { enableCompileCache } from 'node:module'

// SIGHUP reloads.

let reload: (() => void) | undefined
let isDue = false

/** Reloads at once, or when the process is ready: it may have read its files before the signal. */
export function requestReload (): void {
  if (reload === undefined) isDue = true
  else reload()
}

function catchReloadSignal (): void {
  process.on('SIGHUP', requestReload)
}

/** Sets how this process reloads, once it is ready. */
export function onReload (use: () => void): void {
  reload = use
  if (isDue) use()
}

// Others end a command.

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

class Stop {
  #error: Error | undefined
  readonly #stopped = Promise.withResolvers<never>()
  /** Called at the first signal. */
  onStop = (_error: Error): void => {}
  /** Called before the second signal ends the process. */
  onForced = (): void => {}

  get error (): Error | undefined {
    return this.#error
  }

  listen (): void {
    this.#stopped.promise.catch(() => {})
    for (const signal of SIGNALS) process.on(signal, this.#receive)
  }

  /** Resolves with the promise, unless there is a signal before it. @throws the error of the signal */
  before<T> (promise: Promise<T>): Promise<T> {
    return Promise.race([this.#stopped.promise, promise])
  }

  readonly #receive = (signal: NodeJS.Signals): void => {
    if (this.#error === undefined) {
      this.#error = new Error(`ended by ${signal}`)
      this.#stopped.reject(this.#error)
      this.onStop(this.#error)
      return
    }
    for (const each of SIGNALS) process.off(each, this.#receive)
    this.onForced()
    // not exit(), which would wait for a write that waits for its reader
    process.kill(process.pid, signal)
  }
}

export const stop = new Stop()

/** What must happen before a command is loaded: signals are caught, and in a clone its code is taken from a cache. */
export function prepare (command: string | undefined): void {
  const { filename, dirname } = import.meta
  // removing the types takes most of the time of a short command
  if (filename.endsWith('.ts')) enableCompileCache(`${dirname}/../../node_modules/.cache/row-query`)
  if (command === 'serve') catchReloadSignal()
  if (command === 'export' || command === 'import') stop.listen()
}
