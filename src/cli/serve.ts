import type { RowQueryOptions } from '../../schemas/options.ts'
import type { Grant } from '../access/grant.ts'
import { loadConfig, type Loaded } from '../config/load.ts'
import { splitConfig } from '../config/split-config.ts'
import { resolveSettings } from '../config/settings.ts'
import { createShop } from '../demo/shop.ts'
import { createLog } from '../server/request-logger.ts'
import { demoBanner, NO_TOKEN_NOTICE } from './banner.ts'
import { COMMANDS } from './commands.ts'
import { parseFlags } from './flags.ts'
import { describeFirstContact } from './first-contact.ts'
import type { ServerConfiguration } from './start-server.ts'

/** `row-query serve`: starts the server. Returns when it listens. @throws ConfigError */
export async function serve (args: string[]): Promise<number> {
  const { values } = parseFlags('serve', { args, options: COMMANDS.serve.flags })
  const { config, demo } = loadConfig(process.env, values)
  const { server, options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  const grants = grantsOf(options)
  // loads only the modules that are needed: the primary process of several workers has no databases
  const { address, tables } = server.workers > 1
    ? await (await import('./workers/primary.ts')).startWorkers(config, server)
    : await (await import('./start-server.ts')).startServer({ server, options, demoToken: demo?.token })
  if (server.logFormat === 'json') return await logStart({ server, options, address, demo })
  const shown = { address, prefix: server.prefix, docs: options.docs === true }
  if (demo !== undefined) process.stdout.write(demoBanner({ ...shown, ...demo }))
  else process.stdout.write(describeFirstContact({ ...shown, tables, grants }))
  if (!hasTokens(options)) process.stderr.write(NO_TOKEN_NOTICE)
  return 0
}

const hasTokens = ({ tokens = [], tokensFile, jwt = [] }: RowQueryOptions): boolean => tokens.length > 0 || tokensFile !== undefined || jwt.length > 0

interface StartedServer extends ServerConfiguration, Pick<Loaded, 'demo'> { readonly address: string }

/** Logs what is otherwise printed as text, because with JSON every line must be an object. */
async function logStart ({ server, options, address, demo }: StartedServer): Promise<number> {
  if (demo === undefined && hasTokens(options)) return 0
  const log = await createLog(server)
  if (demo !== undefined) log.warn({ address: `${address}${server.prefix}/demo`, ...demo }, 'no database is configured: this is the demo')
  if (!hasTokens(options)) log.warn('no token is configured, so all requests are refused')
  return 0
}

/** The grants of tokens. That of API_TOKEN comes first, because the example uses this variable. */
function grantsOf (options: RowQueryOptions): Grant[] {
  const { tokens, tokenFile } = resolveSettings(options)
  const grants = [...tokens, ...tokenFile?.tokens ?? []].map(({ grant }) => grant)
  return grants.sort((one, other) => Number(other.name === 'API_TOKEN') - Number(one.name === 'API_TOKEN'))
}
