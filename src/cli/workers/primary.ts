/** The primary process: it accepts the connections for its workers, and does not answer requests itself. */
import closeWithGrace from 'close-with-grace'
import type { Config } from '../../../schemas/options.ts'
import { ConfigError } from '../../config-errors.ts'
import { type ServerSettings, divideConfig } from '../../config/split-config.ts'
import { createLog } from '../../server/request-logger.ts'
import { createMetricsApp } from '../../server/metrics-app.ts'
import type { ReadGrants } from '../reload-grants.ts'
import { listen, onReload, type Started } from '../start-server.ts'
import { Accepting, Workers } from './workers.ts'

/** How much longer the primary process waits for its workers than they do for their requests, in milliseconds. */
const LONGER = 2000

/** Starts the workers. Resolves when all listen. @throws ConfigError */
export async function startWorkers (
  config: Config,
  { workers: count, logLevel, logFormat, metrics, shutdown: { delay, timeout } }: ServerSettings,
  readGrants: ReadGrants
): Promise<Started> {
  const accepting = new Accepting()
  const log = await createLog({ logLevel, logFormat })
  const workers = new Workers({
    configs: Array.from({ length: count }, (_, index) => divideConfig(config, count, index)),
    log,
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
