import { parseArgs } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../config/load.ts'
import { ConfigError } from '../config/config-errors.ts'
import { splitConfig } from '../config/server-settings.ts'
import { createShop } from '../demo/shop.ts'
import { createServer } from '../server/server.ts'
import { demoBanner, NO_TOKEN_NOTICE } from './banner.ts'
import { tuneGarbageCollection } from './garbage.ts'
import { closeOnSignal } from './shutdown.ts'

/** `row-query serve`: starts and stays. @throws ConfigError */
export async function serve (args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { config: { type: 'string' }, host: { type: 'string' }, port: { type: 'string' } } })
  const { config, demo } = loadConfig(process.env, values)
  const { server: { host, port, metrics, shutdown, ...settings }, options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  tuneGarbageCollection()

  // by default a signal ends a process at once: each has its handler before it may come
  let readAgain = (): void => {} // a start reads everything as it is
  process.on('SIGHUP', () => readAgain())
  const server = await createServer({ options, ...settings, metricsApart: metrics !== undefined })
  const { app, rows, metricsApp, reloadCertificate } = server
  readAgain = () => {
    reloadCertificate()
    rows.refresh().then(() => app.log.info('catalog read again'), () => app.log.warn('the catalog could not be read'))
  }
  closeOnSignal(server, shutdown)
  const address = await listen(app, { host, port })
  if (metricsApp !== undefined && metrics !== undefined) app.log.info(`metrics at ${await listen(metricsApp, metrics, 'metrics.', app)}/metrics`)
  if (demo !== undefined) process.stdout.write(demoBanner({ address, prefix: settings.prefix, docs: options.docs === true, ...demo }))
  if ((options.tokens ?? []).length === 0 && options.tokensFile === undefined) process.stderr.write(NO_TOKEN_NOTICE)
  return 0
}

/** What the system calls it -> the setting at fault and why. */
const listenErrors = new Map([
  ['EADDRINUSE', 'port: another program listens there'],
  ['EACCES', 'port: this account may not listen there'],
  ['EADDRNOTAVAIL', 'host: this machine does not have that address'],
  ['ENOTFOUND', 'host: there is no such host']
])

interface ListenOptions { readonly host: string, readonly port: number }

/** `settings`: where the host and the port stand in the configuration; `whole`: what is closed where one cannot be listened on. */
async function listen (app: FastifyInstance, { host, port }: ListenOptions, settings = '', whole = app): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    await whole.close()
    const { code } = error as { code: string }
    throw new ConfigError([`${settings}${listenErrors.get(code) ?? `host: cannot be listened on, ${code}`} (${host}, port ${port})`])
  }
}
