import type { ChildProcess } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { subscribe } from 'node:diagnostics_channel'
import { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyBaseLogger } from 'fastify'
import closeWithGrace from 'close-with-grace'
import type { Config } from '../../../schemas/options.ts'
import { forwardStderr } from '../../child-stderr.ts'
import { ConfigError } from '../../config-errors.ts'
import { type ConfiguredGrants, partGrants, type ReadGrants, type ServerSettings } from '../../config/load.ts'
import { divideConfig } from '../../config/worker-shares.ts'
import { createMetricsApp, listen } from '../../server/listen.ts'
import { createLog, type LogStream, openLogStream } from '../../telemetry/log.ts'
import type { Started } from '../start-server.ts'
import { onReload } from '../signals.ts'
import { type MeasuredWorker, type Snapshot, WorkerMetrics } from './worker-metrics.ts'

// Handles connections that `node:cluster` would leave open. The primary process accepts connections for its workers.
// `node:cluster` closes the port only when the last worker does: a connection that is being sent to that worker would
// be neither handled nor closed until the primary process ends. It forgets a connection that is being sent to a worker
// when this worker is killed: the connection would stay open forever.

/** Node's handle of a port or a connection. */
interface Handle {
  /** Negative if it is closed. */
  readonly fd: number
  /** Of a port: gives a connection to the next worker. */
  readonly onconnection?: (error: number, connection: Handle) => void
  close (): void
}

/** A message by which Node sends a connection to a worker, and the message of the worker which has taken it. */
interface ClusterMessage { readonly act?: string, readonly seq?: number, readonly ack?: number }

class Accepting {
  readonly #ports = new Set<Handle>()

  /** Must be created before the workers start. */
  constructor () {
    subscribe('tracing:net.server.listen:asyncEnd', (message) => {
      // `_handle` is private in Node
      const { server } = message as { server: Server & { _handle?: Handle | null } }
      // the port of the metrics belongs to this process
      if (!(server instanceof HttpServer) && server._handle != null) this.#ports.add(server._handle)
    })
  }

  /** Stops accepting connections for the workers. Accepted connections still reach them. */
  end (): void {
    for (const port of this.#ports) port.close()
  }

  /** Gives the connections that a worker has not taken when it ends to another one. Closes them if there is none. */
  follow (worker: ChildProcess): void {
    const sent = new Map<number | undefined, Handle>()
    const send = worker.send.bind(worker) as (...args: readonly unknown[]) => boolean
    worker.send = (message: ClusterMessage, ...rest: readonly unknown[]): boolean => {
      if (message.act === 'newconn') sent.set(message.seq, rest[0] as Handle)
      return send(message, ...rest)
    }
    worker.on('internalMessage', ({ ack }: ClusterMessage) => { sent.delete(ack) })
    // not `disconnect`, which Node emits only when the worker has acknowledged every connection
    worker.once('close', () => {
      for (const connection of sent.values()) this.#giveAway(connection)
    })
  }

  #giveAway (connection: Handle): void {
    const port = [...this.#ports].find(({ fd, onconnection }) => fd >= 0 && onconnection !== undefined)
    if (port?.onconnection === undefined) connection.close()
    else port.onconnection(0, connection)
  }
}

export type ToWorker =
  /** The reply to `hello`: the configuration of the worker, with its shares of the limits. */
  | { readonly kind: 'start', readonly config: Config }
  /** `grants`: undefined if the tokens and roles stay. */
  | { readonly kind: 'reload', readonly grants: ConfiguredGrants | undefined }
  | { readonly kind: 'shutdown' }
  /** Asks for `snapshot`. */
  | { readonly kind: 'measure' }
  /** The reply to `scrape`: the metrics of all workers. */
  | { readonly kind: 'metrics', readonly text: string }

export type ToPrimary =
  /** The first message of a worker, which loses messages that arrive before it listens for them. */
  | { readonly kind: 'hello' }
  | { readonly kind: 'listening'; readonly started: Started }
  /** The worker could not start, and ends. `errors`: the errors of the configuration. */
  | {
    readonly kind: 'failed'
    readonly errors: readonly string[] | undefined
    readonly message: string
    readonly stack: string | undefined
  }
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot }
  | { readonly kind: 'scrape' }

/** Has the extension of this file: TypeScript in the repository, JavaScript in the package. */
const PROGRAM = fileURLToPath(new URL(`./worker${extname(fileURLToPath(import.meta.url))}`, import.meta.url))

/** Signals by which others end a process, which is not a failure to start. */
const KILLED: ReadonlySet<NodeJS.Signals | null> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'])

/** A slot for a worker. If the worker ends, another one gets its slot and its share of the limits. */
interface Slot {
  config: Config
  running: Running | undefined
  /** The pause before the last start, in milliseconds; undefined after the first start. */
  pause: number | undefined
  timer: NodeJS.Timeout | undefined
}

interface Running extends MeasuredWorker {
  readonly worker: Worker
  readonly startedAt: number
  isListening: boolean
  /** Why it cannot start. */
  failure: Error | undefined
}

export class Workers {
  readonly metrics = new WorkerMetrics()
  readonly #slots: readonly Slot[]
  readonly #log: FastifyBaseLogger
  readonly #output: LogStream
  readonly #accepting: Accepting
  readonly #onLost: (error: Error) => void
  readonly #started = Promise.withResolvers<Started>()
  readonly #stopped = Promise.withResolvers<void>()
  #phase: 'starting' | 'running' | 'stopping' = 'starting'
  #areClean = true

  constructor ({ configs, log, output, accepting, onLost }: {
    /** One for each worker, with its share of the limits. */
    readonly configs: readonly Config[]
    readonly log: FastifyBaseLogger
    /** Gets the lines of the log of the workers. */
    readonly output: LogStream
    readonly accepting: Accepting
    /** Called when no worker is left, with the error of the last one that was started. */
    readonly onLost: (error: Error) => void
  }) {
    this.#slots = configs.map((config): Slot => ({ config, running: undefined, pause: undefined, timer: undefined }))
    this.#log = log
    this.#output = output
    this.#accepting = accepting
    this.#onLost = onLost
  }

  /** Resolves when all workers listen. @throws the error of the first one that cannot start */
  start (): Promise<Started> {
    cluster.setupPrimary({ exec: PROGRAM, args: [], serialization: 'advanced', silent: true })
    for (const slot of this.#slots) this.#run(slot)
    return this.#started.promise
  }

  /** Makes each worker read its certificate, catalogs and token file again, and use these tokens and roles. */
  reload (grants: ConfiguredGrants | undefined): void {
    for (const slot of grants === undefined ? [] : this.#slots) {
      slot.config = { ...partGrants(slot.config).others, ...grants }
    }
    for (const { worker } of this.#running()) tell(worker, { kind: 'reload', grants })
  }

  /** Shuts all workers down gracefully. Resolves when they have ended; true if all of them exited with 0. */
  async stop (): Promise<boolean> {
    this.#phase = 'stopping'
    for (const { timer } of this.#slots) clearTimeout(timer)
    for (const { worker } of this.#running()) tell(worker, { kind: 'shutdown' })
    this.#endIfNoneRuns()
    await this.#stopped.promise
    return this.#areClean
  }

  kill (): void {
    this.#phase = 'stopping'
    for (const { worker } of this.#running()) worker.process.kill('SIGKILL')
  }

  #running (): Running[] {
    return this.#slots.flatMap(({ running }) => running ?? [])
  }

  #run (slot: Slot): void {
    const worker = cluster.fork()
    this.#accepting.follow(worker.process)
    forwardStderr(worker.process)
    forwardLines(worker.process, this.#output)
    const running: Running = {
      worker,
      startedAt: performance.now(),
      isListening: false,
      failure: undefined,
      measure: () => tell(worker, { kind: 'measure' })
    }
    slot.running = running
    worker.on('message', (message: ToPrimary) => this.#receive(slot, running, message))
    // not `exit`, which comes before the last lines of its log
    worker.process.once('close', (code: number | null, signal: NodeJS.Signals | null) =>
      this.#end(slot, running, { code, signal })
    )
    worker.on('error', (error) => {
      if (worker.process.pid !== undefined) return
      running.failure = error // it could not be started
      this.#end(slot, running, { code: null, signal: null })
    })
  }

  #receive ({ config }: Slot, running: Running, message: ToPrimary): void {
    const { worker } = running
    switch (message.kind) {
      case 'hello':
        tell(worker, this.#phase === 'stopping' ? { kind: 'shutdown' } : { kind: 'start', config })
        break
      case 'listening':
        running.isListening = true
        this.metrics.add(running)
        this.#noteStart(message.started)
        break
      case 'failed':
        running.failure =
          message.errors === undefined
            ? Object.assign(new Error(message.message), { stack: message.stack })
            : new ConfigError(message.errors)
        break
      case 'snapshot':
        this.metrics.noteSnapshot(running, message.snapshot)
        break
      case 'scrape':
        this.metrics.metrics().then(
          (text) => tell(worker, { kind: 'metrics', text }),
          (err: unknown) => this.#log.error({ err }, 'the metrics cannot be added up')
        )
    }
  }

  #noteStart (started: Started): void {
    if (this.#phase !== 'starting' || !this.#slots.every(({ running }) => running?.isListening === true)) return
    this.#phase = 'running'
    this.#started.resolve(started)
  }

  #end (
    slot: Slot,
    running: Running,
    { code, signal }: { code: number | null; signal: NodeJS.Signals | null }
  ): void {
    slot.running = undefined
    if (this.#phase === 'stopping') {
      if (code !== 0) this.#areClean = false
      this.#endIfNoneRuns()
      return
    }
    const {
      worker: {
        process: { pid }
      },
      isListening,
      startedAt,
      failure = new Error(`a worker ended before it listened (${signal ?? `exit code ${code}`})`)
    } = running
    if (this.#phase === 'starting') {
      this.#started.reject(failure)
      return
    }
    this.metrics.remove(running)
    slot.pause = nextPause(slot.pause, performance.now() - startedAt)
    this.#log.error(
      { worker: pid, code, signal, err: running.failure, ms: slot.pause },
      'a worker ended; another one is started'
    )
    const cannotStart = !isListening && !KILLED.has(signal)
    if (cannotStart && !this.#running().some((each) => each.isListening)) this.#onLost(failure)
    else slot.timer = setTimeout(() => this.#run(slot), slot.pause)
  }

  #endIfNoneRuns (): void {
    if (this.#running().length === 0) this.#stopped.resolve()
  }
}

/** Writes whole lines, so that lines of several workers do not mix. */
function forwardLines ({ stdout }: ChildProcess, output: LogStream): void {
  let rest = ''
  stdout?.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) output.write(rest + text.slice(0, end))
    rest = end > 0 ? text.slice(end) : rest + text
  })
}

/** Sends a message, unless the worker has just ended. */
function tell (worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {})
}

/** The first pause before a worker is replaced, in milliseconds. */
const FIRST = 100
/** Pauses double up to this one, in milliseconds. */
const LONGEST = 30_000
/** After running for so many milliseconds, a worker begins with the first pause again. */
const STABLE = 60_000

/**
 * Returns the pause before a worker is replaced. `before`: the pause before it was started; `lived`: how long it has
 * run, in milliseconds.
 */
export function nextPause (before: number | undefined, lived: number): number {
  return before === undefined || lived >= STABLE ? FIRST : Math.min(before * 2, LONGEST)
}

// The primary process: it accepts the connections for its workers, and does not handle requests itself.

/** How much longer the primary process waits for its workers than they do for their requests, in milliseconds. */
const LONGER = 2000

/** Starts the workers. Resolves when all listen. @throws ConfigError */
export async function startWorkers (
  config: Config,
  { workers: count, logLevel, logFormat, metrics, shutdown: { delay, timeout } }: ServerSettings,
  readGrants: ReadGrants
): Promise<Started> {
  const accepting = new Accepting()
  const log = await createLog({ logLevel, logFormat, withPid: true })
  const workers = new Workers({
    configs: Array.from({ length: count }, (_, index) => divideConfig(config, count, index)),
    log,
    output: await openLogStream(logFormat, process.stdout),
    accepting,
    onLost: (err) => {
      log.fatal({ err }, 'no worker is left, and a new one cannot start')
      process.exit(err instanceof ConfigError ? 2 : 1)
    }
  })
  const onTimeout = (): void => {
    log.error('shutdown timed out: workers are killed')
    workers.kill()
  }
  const { uninstall } = closeWithGrace(
    { delay: delay + timeout + LONGER, logger: false, skip: ['SIGHUP', 'beforeExit'], onTimeout },
    async ({ err }) => {
      if (err !== undefined) log.fatal({ err }, 'shutting down after an uncaught error')
      const timer = setTimeout(() => accepting.end(), delay)
      const areClean = await workers.stop()
      clearTimeout(timer)
      if (!areClean) process.exit(1)
    }
  )
  try {
    const started = await workers.start()
    onReload(() => workers.reload(readGrants(log)))
    log.info({ workers: count }, `Server listening at ${started.address}`)
    if (metrics !== undefined) {
      log.info(`metrics at ${await listen(await createMetricsApp(workers.metrics), metrics, 'metrics.')}/metrics`)
    }
    return started
  } catch (error) {
    uninstall()
    workers.kill()
    throw error
  }
}
