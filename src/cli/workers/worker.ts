/**
 * The program of a worker process: a server with the configuration that the primary process sends. Node ends it when
 * the primary process is gone.
 */
import type { Config } from '../../../schemas/options.ts'
import { ConfigError } from '../../config-errors.ts'
import { type ConfiguredGrants, splitConfig } from '../../config/load.ts'
import { listen } from '../../server/listen.ts'
import { createServer, type Server } from '../../server/server.ts'
import { onReload, requestReload } from '../signals.ts'
import { tuneGarbageCollection, createWorkerShutdown, leaveSignalsToPrimary, reloadServer } from '../start-server.ts'
import { silenceSqliteWarning } from '../commands.ts'
import type { ToPrimary, ToWorker } from './workers.ts'

/** How long a scrape waits for the metrics of all workers, in milliseconds. */
const SCRAPE_TIME = 5000

const tell = (message: ToPrimary, sent = (): void => {}): void => { process.send?.(message, sent) }

let server: Server | undefined
/** The grants of the last reload that had any; undefined while the grants of the start are in use. */
let grants: ConfiguredGrants | undefined
let shutDown = (): void => process.exit(0)
let isShuttingDown = false
let scrape: PromiseWithResolvers<string> | undefined

async function start (config: Config): Promise<void> {
  const { server: { host, port, metrics, shutdown, workers: _workers, ...settings }, options } = splitConfig(config)
  tuneGarbageCollection()
  const created = await createServer({
    options,
    ...settings,
    logFormat: 'json', // the primary process writes it as readable lines
    metricsApart: metrics !== undefined,
    allMetrics
  })
  shutDown = createWorkerShutdown(created, shutdown)
  const address = await listen(created.app, { host, port, listenTextResolver: () => 'worker is ready' })
  server = created
  onReload(() => reloadServer(created, grants))
  tell({ kind: 'listening', started: { address, tables: created.rows.tables() } })
}

function fail (error: Error): void {
  if (isShuttingDown) return
  const { errors } = error as Partial<ConfigError>
  tell({ kind: 'failed', errors, message: error.message, stack: error.stack }, () =>
    process.exit(error instanceof ConfigError ? 2 : 1)
  )
}

/** Concurrent scrapes share one message. The next one after a scrape without a reply asks again. */
function allMetrics (): Promise<string> {
  if (scrape === undefined) {
    const asked = scrape = Promise.withResolvers<string>()
    setTimeout(() => {
      if (scrape === asked) scrape = undefined
      asked.reject(new Error('the primary process does not answer'))
    }, SCRAPE_TIME).unref()
    tell({ kind: 'scrape' })
  }
  return scrape.promise
}

async function receive (message: ToWorker): Promise<void> {
  switch (message.kind) {
    case 'start': return await start(message.config).catch(fail)
    case 'reload':
      grants = message.grants ?? grants
      return requestReload()
    case 'shutdown':
      isShuttingDown = true
      return shutDown()
    case 'measure':
      if (server !== undefined) tell({ kind: 'snapshot', snapshot: await server.rows.registry.getMetricsAsJSON() })
      return
    case 'metrics':
      scrape?.resolve(message.text)
      scrape = undefined
  }
}

leaveSignalsToPrimary()
silenceSqliteWarning()
process.on('message', receive)
tell({ kind: 'hello' })
