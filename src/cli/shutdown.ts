import closeWithGrace from 'close-with-grace'
import type { ServerSettings } from '../config/split-config.ts'
import type { Server } from '../server/server.ts'

type Shutdown = ServerSettings['shutdown']

/**
 * Shuts down gracefully on SIGTERM or SIGINT: the server reports that it is not ready, waits `delay` so that load balancers notice, closes the port,
 * waits up to `timeout` for running requests, cuts off streams shortly before that, closes the pools and exits with 0. It exits with 1 if requests are
 * still running, or after an uncaught error. If the server could not listen, the exit code stays as it is.
 */
export function closeOnSignal (server: Server, shutdown: Shutdown): void {
  createShutdown(server, shutdown, [])
}

/** Signals that a terminal or a supervisor may send to every process of the service: the primary process decides what a worker does. */
const GROUP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** Ignores the signals of the process group. Must be called when a worker starts. */
export function leaveSignalsToPrimary (): void {
  for (const signal of GROUP_SIGNALS) process.on(signal, () => {})
}

/** How much later than the primary process a worker closes the port, in milliseconds, because the last connections are on their way to it. */
const LATER = 100

/** Returns a function that shuts a worker down in the same way, and does so after an uncaught error. */
export function createWorkerShutdown (server: Server, { delay, timeout }: Shutdown): () => void {
  return createShutdown(server, { delay: delay + LATER, timeout }, GROUP_SIGNALS)
}

/**
 * How long before the time limit streams are cut off: a part of it, and milliseconds at least. Meanwhile their statements end in the database, and clients
 * take what was read before.
 */
const FOR_STREAMS = { part: 0.1, least: 1000 }

function createShutdown ({ app, drain, rows }: Server, { delay, timeout }: Shutdown, ignored: typeof GROUP_SIGNALS | []): () => void {
  const onTimeout = (): void => app.log.error('shutdown timed out while requests were running')
  const { close } = closeWithGrace({ delay: delay + timeout, logger: false, skip: ['SIGHUP', 'beforeExit', ...ignored], onTimeout }, async ({ err }) => {
    if (err !== undefined) app.log.fatal({ err }, 'shutting down after an uncaught error')
    const before = Math.min(timeout, Math.max(timeout * FOR_STREAMS.part, FOR_STREAMS.least))
    setTimeout(() => rows.endStreams(), delay + timeout - before).unref()
    await drain.start(err === undefined ? delay : 0)
    await app.close()
  })
  return close
}
