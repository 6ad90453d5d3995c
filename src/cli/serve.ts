import type { RowQueryOptions } from '../../schemas/options.ts'
import type { Grant } from '../access/grant.ts'
import { loadConfig } from '../config/load.ts'
import { splitConfig } from '../config/server-settings.ts'
import { resolveSettings } from '../config/settings.ts'
import { createShop } from '../demo/shop.ts'
import { demoBanner, NO_TOKEN_NOTICE } from './banner.ts'
import { COMMANDS } from './commands.ts'
import { parseFlags } from './flags.ts'
import { describeFirstContact } from './first-contact.ts'

/** `row-query serve`: starts the server. Returns when it listens. @throws ConfigError */
export async function serve (args: string[]): Promise<number> {
  const { values } = parseFlags('serve', { args, options: COMMANDS.serve.flags })
  const { config, demo } = loadConfig(process.env, values)
  const { server, options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  const grants = grantsOf(options)
  // each loads only what it needs: the primary process of several workers has no databases
  const { address, tables } = server.workers > 1
    ? await (await import('./workers/primary.ts')).startWorkers(config, server)
    : await (await import('./start-server.ts')).startServer({ server, options })
  const shown = { address, prefix: server.prefix, docs: options.docs === true }
  if (demo !== undefined) process.stdout.write(demoBanner({ ...shown, ...demo }))
  else if (server.logFormat !== 'json') process.stdout.write(describeFirstContact({ ...shown, tables, grants }))
  if ((options.tokens ?? []).length === 0 && options.tokensFile === undefined && (options.jwt ?? []).length === 0) process.stderr.write(NO_TOKEN_NOTICE)
  return 0
}

/** The grants of tokens. The one of API_TOKEN is first: the variable that the example uses has it already. */
function grantsOf (options: RowQueryOptions): Grant[] {
  const { tokens, tokenFile } = resolveSettings(options)
  const grants = [...tokens, ...tokenFile?.tokens ?? []].map(({ grant }) => grant)
  return grants.sort((one, other) => Number(other.name === 'API_TOKEN') - Number(one.name === 'API_TOKEN'))
}
