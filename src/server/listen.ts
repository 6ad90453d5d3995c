import Fastify, { type FastifyInstance } from 'fastify'
import metrics, { type MetricsOptions } from '../../plugins/metrics.ts'
import { ConfigError } from '../config-errors.ts'

/** Creates an app that serves metrics without authentication, and nothing else. */
export async function createMetricsApp (registry: MetricsOptions['registry']): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(metrics, { registry })
  return app
}

/** Maps the code of a system error to the setting that causes it, and the reason. */
const listenErrors = new Map([
  ['EADDRINUSE', 'port: is in use by another program'],
  ['EACCES', 'port: this user may not listen on it'],
  ['EADDRNOTAVAIL', 'host: is not an address of this machine'],
  ['ENOTFOUND', 'host: is not a known host']
])

/**
 * Returns the address. `settings`: the prefix of the settings `host` and `port` in errors. `whole`: the app to close if
 * listening fails.
 * @throws ConfigError
 */
export async function listen (
  app: FastifyInstance,
  options: {
    readonly host: string
    readonly port: number
    /** The text of the log line for each address. */
    readonly listenTextResolver?: (address: string) => string
  },
  settings = '',
  whole = app
): Promise<string> {
  try {
    return await app.listen(options)
  } catch (error) {
    await whole.close()
    const { code } = error as { code: string }
    throw new ConfigError([
      `${settings}${listenErrors.get(code) ?? `host: cannot listen (${code})`} (${options.host}, port ${options.port})`
    ])
  }
}
