import closeWithGrace from 'close-with-grace'
import type { ServerSettings } from '../config/server-settings.ts'
import type { Server } from '../server/server.ts'

/**
 * Shuts down gracefully on SIGTERM or SIGINT: the server reports that it is not ready, waits `delay` so that load balancers notice, closes the
 * port, waits up to `timeout` for running requests, closes the pools and exits with 0. It exits with 1 if requests are still running, or after
 * an uncaught error. If the server could not listen, the exit code stays as it is.
 */
export function closeOnSignal ({ app, drain }: Server, { delay, timeout }: ServerSettings['shutdown']): void {
  const onTimeout = (): void => app.log.error('shutdown timed out while requests were running')
  closeWithGrace({ delay: delay + timeout, logger: false, skip: ['SIGHUP', 'beforeExit'], onTimeout }, async ({ err }) => {
    if (err !== undefined) app.log.fatal({ err }, 'shutting down after an uncaught error')
    await drain.start(err === undefined ? delay : 0)
    await app.close()
  })
}
