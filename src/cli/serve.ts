import { parseArgs } from 'node:util'
import type { FastifyInstance } from 'fastify'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { Grant } from '../access/grant.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigError } from '../config-errors.ts'
import { splitConfig } from '../config/server-settings.ts'
import { resolveSettings } from '../config/settings.ts'
import { createShop } from '../demo/shop.ts'
import { createServer } from '../server/server.ts'
import { demoBanner, NO_TOKEN_NOTICE } from './banner.ts'
import { COMMANDS } from './commands.ts'
import { describeFirstContact } from './first-contact.ts'
import { tuneGarbageCollection } from './garbage.ts'
import { closeOnSignal } from './shutdown.ts'

/** `row-query serve`: starts the server. Returns when it listens. @throws ConfigError */
export async function serve (args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: COMMANDS.serve.flags })
  const { config, demo } = loadConfig(process.env, values)
  const { server: { host, port, metrics, shutdown, ...settings }, options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  tuneGarbageCollection()

  // without a handler, SIGHUP would end the process during the start
  let reload = (): void => {}
  process.on('SIGHUP', () => reload())
  const server = await createServer({ options, ...settings, metricsApart: metrics !== undefined })
  const { app, rows, metricsApp, reloadCertificate } = server
  reload = () => {
    reloadCertificate()
    rows.refresh().then(() => app.log.info('catalog reloaded'), () => app.log.warn('the catalog could not be read'))
  }
  closeOnSignal(server, shutdown)
  const address = await listen(app, { host, port })
  if (metricsApp !== undefined && metrics !== undefined) app.log.info(`metrics at ${await listen(metricsApp, metrics, 'metrics.', app)}/metrics`)
  const shown = { address, prefix: settings.prefix, docs: options.docs === true }
  if (demo !== undefined) process.stdout.write(demoBanner({ ...shown, ...demo }))
  else if (settings.logFormat !== 'json') process.stdout.write(describeFirstContact({ ...shown, tables: rows.tables(), grants: grantsOf(options) }))
  if ((options.tokens ?? []).length === 0 && options.tokensFile === undefined && (options.jwt ?? []).length === 0) process.stderr.write(NO_TOKEN_NOTICE)
  return 0
}

/** The grants of tokens. The one of API_TOKEN is first: the variable that the example uses has it already. */
function grantsOf (options: RowQueryOptions): Grant[] {
  const { tokens, tokenFile } = resolveSettings(options)
  const grants = [...tokens, ...tokenFile?.tokens ?? []].map(({ grant }) => grant)
  return grants.sort((one, other) => Number(other.name === 'API_TOKEN') - Number(one.name === 'API_TOKEN'))
}

/** Maps the code of a system error to the setting that causes it, and the reason. */
const listenErrors = new Map([
  ['EADDRINUSE', 'port: is in use by another program'],
  ['EACCES', 'port: this user may not listen on it'],
  ['EADDRNOTAVAIL', 'host: is not an address of this machine'],
  ['ENOTFOUND', 'host: is not a known host']
])

interface ListenOptions { readonly host: string, readonly port: number }

/** `settings`: the prefix of the settings `host` and `port` in errors. `whole`: the app to close if listening fails. */
async function listen (app: FastifyInstance, { host, port }: ListenOptions, settings = '', whole = app): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    await whole.close()
    const { code } = error as { code: string }
    throw new ConfigError([`${settings}${listenErrors.get(code) ?? `host: cannot listen (${code})`} (${host}, port ${port})`])
  }
}
