import { parseArgs } from 'node:util'
import closeWithGrace from 'close-with-grace'
import { loadConfig } from '../config/load.ts'
import { createShop } from '../demo/shop.ts'
import { createServer } from '../server.ts'
import { demoBanner, noTokenNotice } from './banner.ts'

/** How long running requests may take to finish at shutdown, in milliseconds. */
const SHUTDOWN_TIME = 10_000

/** `row-query serve`: starts and stays. @throws ConfigError */
export async function serve (args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { config: { type: 'string' }, host: { type: 'string' }, port: { type: 'string' } } })
  const { config, demo } = loadConfig(process.env, values)
  const { host = '127.0.0.1', port = 3000, prefix = '/api', logLevel = 'info', ...options } = config
  if (demo !== undefined) createShop(demo.path)

  const { app, rows } = await createServer({ options, prefix, logLevel })
  const address = await app.listen({ host, port })
  if (demo !== undefined) process.stdout.write(demoBanner({ address, prefix, ...demo }))
  if ((options.tokens ?? []).length === 0) app.log.warn(noTokenNotice)

  process.on('SIGHUP', () => {
    rows.refresh().then(() => app.log.info('catalog read again'), () => app.log.warn('the catalog could not be read'))
  })
  closeWithGrace({ delay: SHUTDOWN_TIME, logger: false, skip: ['SIGHUP'] }, async ({ err }) => {
    if (err !== undefined) app.log.fatal({ err }, 'stopping after an error that nothing caught')
    await app.close()
  })
  return 0
}
