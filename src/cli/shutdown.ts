import closeWithGrace from 'close-with-grace'
import type { Config } from '../../schemas/options.ts'
import type { Server } from '../server/server.ts'

/**
 * At SIGTERM or SIGINT: not ready any more, a while for load balancers to see it, then no new connections; running requests finish,
 * the pools close and the process ends with 0. With 1 where they did not finish in time, or where an error brought it here. A process
 * that ends because it could not listen keeps its own exit code.
 */
export function closeOnSignal ({ app, drain }: Server, { delay = 0, timeout = 10_000 }: NonNullable<Config['shutdown']> = {}): void {
  const onTimeout = (): void => app.log.error('requests still ran when the time to finish was over')
  closeWithGrace({ delay: delay + timeout, logger: false, skip: ['SIGHUP', 'beforeExit'], onTimeout }, async ({ err }) => {
    if (err !== undefined) app.log.fatal({ err }, 'stopping after an error that nothing caught')
    await drain.start(err === undefined ? delay : 0)
    await app.close()
  })
}
