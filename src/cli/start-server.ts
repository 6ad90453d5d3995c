/** The server in this process: it handles the requests alone, or as one of several workers. */
import { setFlagsFromString } from 'node:v8'
import closeWithGrace from 'close-with-grace'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { ConfiguredGrants, ReadGrants, ServerSettings } from '../config/load.ts'
import type { ServiceError } from '../errors.ts'
import { listen } from '../server/listen.ts'
import { createServer, type Server } from '../server/server.ts'
import { onReload } from './signals.ts'

/**
 * Flags that adapt the garbage collector of V8 to a server, in which most objects live for one request. They change
 * only performance; `node --trace-gc` and `--trace-deopt` show their effect. docs/deployment.md has the measurements.
 *
 * - no-allocation-site-pretenuring: V8 allocates objects in the old generation if objects from the same place in the
 *   code have often survived a collection. In a server, each collection finds objects of running requests. Once
 *   allocated as old objects, they stay in memory until the next full collection, and keep other objects alive.
 * - external-memory-accounted-in-global-limit: V8 starts a full collection for every 64 MB of memory outside its heap,
 *   such as buffers. Large responses would cause several a second. With the flag, as in later versions of V8, external
 *   memory counts towards the limit of the heap.
 * - no-memory-reducer-favors-memory: when the program is idle, V8 collects garbage to release memory, and then also
 *   drops the hidden classes that no object has at that time, and the machine code that depends on them. The next
 *   requests are many times slower.
 * - heap-growing-percent: V8 lets the heap grow to 1.1 to 4 times its live size before the next full collection, and to
 *   less if collections take much time. Large responses after an idle period caused ten full collections a second. The
 *   flag sets the factor to 2.5.
 */
const FLAGS = [
  { flag: '--no-allocation-site-pretenuring', since: 12 },
  { flag: '--external-memory-accounted-in-global-limit', since: 13 },
  { flag: '--no-memory-reducer-favors-memory', since: 13 },
  { flag: '--heap-growing-percent=150', since: 13 }
]

/**
 * Returns the flags that a version of V8, such as `13.6.233.17-node.54`, supports: V8 prints a warning for an unknown
 * flag. Node 22 has V8 12, Node 24 has V8 13.
 */
export function garbageFlags (version: string): string[] {
  return FLAGS.filter(({ since }) => Number.parseInt(version) >= since).map(({ flag }) => flag)
}

/** Must be called before the first request. V8 reads these flags while the program runs. */
export function tuneGarbageCollection (): void {
  garbageFlags(process.versions.v8).forEach((flag) => setFlagsFromString(flag))
}

type Shutdown = ServerSettings['shutdown']

/**
 * Signals that a terminal or a supervisor may send to every process of the service: the primary process decides what a
 * worker does.
 */
const GROUP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** Ignores the signals of the process group. Must be called when a worker starts. */
export function leaveSignalsToPrimary (): void {
  for (const signal of GROUP_SIGNALS) process.on(signal, () => {})
}

/**
 * How much later than the primary process a worker closes the port, in milliseconds, because the last connections are
 * on their way to it.
 */
const LATER = 100

/** Returns a function that shuts a worker down in the same way, and does so after an uncaught error. */
export function createWorkerShutdown (server: Server, { delay, timeout }: Shutdown): () => void {
  return createShutdown(server, { delay: delay + LATER, timeout }, GROUP_SIGNALS)
}

/**
 * How long before the time limit streams are cut off: a part of it, and milliseconds at least. Meanwhile their
 * statements end in the database, and clients take what was read before.
 */
const FOR_STREAMS = { part: 0.1, least: 1000 }

/**
 * Shuts down gracefully on SIGTERM or SIGINT: the server reports that it is not ready, waits `delay` so that load
 * balancers notice, closes the port, waits up to `timeout` for running requests, cuts off streams shortly before that,
 * closes the pools and exits with 0. It exits with 1 if requests are still running, or after an uncaught error. If the
 * server could not listen, the exit code stays as it is. Returns a function that does so without a signal.
 */
function createShutdown (
  { app, drain, rows }: Server,
  { delay, timeout }: Shutdown,
  ignored: typeof GROUP_SIGNALS | []
): () => void {
  const onTimeout = (): void => app.log.error('shutdown timed out while requests were running')
  const { close } = closeWithGrace(
    { delay: delay + timeout, logger: false, skip: ['SIGHUP', 'beforeExit', ...ignored], onTimeout },
    async ({ err }) => {
      if (err !== undefined) app.log.fatal({ err }, 'shutting down after an uncaught error')
      const before = Math.min(timeout, Math.max(timeout * FOR_STREAMS.part, FOR_STREAMS.least))
      setTimeout(() => rows.endStreams(), delay + timeout - before).unref()
      await drain.start(err === undefined ? delay : 0)
      await app.close()
    }
  )
  return close
}

export interface ServerConfiguration {
  readonly server: ServerSettings
  readonly options: RowQueryOptions
  /** The token that was created for the demo. */
  readonly demoToken?: string | undefined
  /** Reads the tokens and roles at a reload. */
  readonly readGrants: ReadGrants
}

export interface Started {
  readonly address: string
  /** The tables of each database; undefined while they are not known. */
  readonly tables: ReadonlyMap<string, readonly string[] | undefined>
}

/** @throws ConfigError */
export async function startServer ({
  server: { host, port, metrics, shutdown, workers: _workers, ...settings },
  options,
  demoToken,
  readGrants
}: ServerConfiguration): Promise<Started> {
  tuneGarbageCollection()
  const server = await createServer({ options, ...settings, metricsApart: metrics !== undefined, demoToken })
  const { app, rows, metricsApp } = server
  onReload(() => reloadServer(server, readGrants(app.log)))
  createShutdown(server, shutdown, [])
  const address = await listen(app, { host, port })
  if (metricsApp !== undefined && metrics !== undefined) {
    app.log.info(`metrics at ${await listen(metricsApp, metrics, 'metrics.', app)}/metrics`)
  }
  return { address, tables: rows.tables() }
}

/** Reads the certificate, the catalogs and the token file again. `grants`: the tokens and roles to use. */
export function reloadServer ({ app, rows, reloadCertificate }: Server, grants: ConfiguredGrants | undefined): void {
  reloadCertificate()
  if (grants !== undefined) rows.replaceGrants(grants)
  rows.refresh().then(
    () => app.log.info('catalog reloaded'),
    ({ code, reason }: ServiceError) => app.log.warn({ code, reason }, 'the catalog could not be read')
  )
}
