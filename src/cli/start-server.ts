/** The server in this process: it answers the requests alone, or as one of several workers. */
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { ServerSettings } from '../config/split-config.ts'
import { createServer, type Server } from '../server/server.ts'
import type { Tables } from './first-contact.ts'
import { tuneGarbageCollection } from './garbage.ts'
import { listen } from './listen.ts'
import { onReload } from './reload.ts'
import { closeOnSignal } from './shutdown.ts'

export interface ServerConfiguration {
  readonly server: ServerSettings
  readonly options: RowQueryOptions
  /** The token that was created for the demo. */
  readonly demoToken?: string | undefined
}

export interface Started {
  readonly address: string
  /** The tables that are printed at the start. */
  readonly tables: Tables
}

/** @throws ConfigError */
export async function startServer ({ server: { host, port, metrics, shutdown, workers: _workers, ...settings }, options, demoToken }: ServerConfiguration): Promise<Started> {
  tuneGarbageCollection()
  const server = await createServer({ options, ...settings, metricsApart: metrics !== undefined, demoToken })
  const { app, rows, metricsApp } = server
  onReload(() => reloadServer(server))
  closeOnSignal(server, shutdown)
  const address = await listen(app, { host, port })
  if (metricsApp !== undefined && metrics !== undefined) app.log.info(`metrics at ${await listen(metricsApp, metrics, 'metrics.', app)}/metrics`)
  return { address, tables: rows.tables() }
}

/** Reads the certificate, the catalogs and the token file again. */
export function reloadServer ({ app, rows, reloadCertificate }: Server): void {
  reloadCertificate()
  rows.refresh().then(() => app.log.info('catalog reloaded'), () => app.log.warn('the catalog could not be read'))
}
