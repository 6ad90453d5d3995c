import { parseArgs } from 'node:util'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { SERVER_DEFAULTS } from '../../schemas/options.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigError } from '../config/mistakes.ts'
import { createShop } from '../demo/shop.ts'
import { createServer } from '../server.ts'
import { demoBanner, NO_TOKEN_NOTICE } from './banner.ts'

/** How long running requests may take to finish at shutdown, in milliseconds. */
const SHUTDOWN_TIME = 10_000

/** `row-query serve`: starts and stays. @throws ConfigError */
export async function serve (args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { config: { type: 'string' }, host: { type: 'string' }, port: { type: 'string' } } })
  const { config, demo } = loadConfig(process.env, values)
  const { host, port, prefix, logLevel, ...options } = { ...SERVER_DEFAULTS, ...config }
  if (demo !== undefined) createShop(demo.path)

  const { app, rows } = await createServer({ options, prefix, logLevel })
  const address = await listen(app, host, port)
  if (demo !== undefined) process.stdout.write(demoBanner({ address, prefix, docs: options.docs === true, ...demo }))
  if (options.tokens === undefined || options.tokens.length === 0) process.stderr.write(NO_TOKEN_NOTICE)

  process.on('SIGHUP', () => {
    rows.refresh().then(() => app.log.info('catalog read again'), () => app.log.warn('the catalog could not be read'))
  })
  closeWithGrace({ delay: SHUTDOWN_TIME, logger: false, skip: ['SIGHUP'] }, async ({ err }) => {
    if (err !== undefined) app.log.fatal({ err }, 'stopping after an error that nothing caught')
    await app.close()
  })
  return 0
}

/** What the system calls it -> the setting at fault and why. */
const listenErrors = new Map([
  ['EADDRINUSE', 'port: another program listens there'],
  ['EACCES', 'port: this account may not listen there'],
  ['EADDRNOTAVAIL', 'host: this machine does not have that address'],
  ['ENOTFOUND', 'host: there is no such host']
])

async function listen (app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    await app.close()
    const { code } = error as { code: string }
    throw new ConfigError([`${listenErrors.get(code) ?? `host: cannot be listened on, ${code}`} (${host}, port ${port})`])
  }
}
