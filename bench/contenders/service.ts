import { builtFile } from '../build.ts'
import { rowQueryApi, TOKEN } from './apis.ts'
import type { Contender } from './contender.ts'
import { httpContender } from './http-contender.ts'

export const SERVICE = 'this service'

/** The other contenders do not log either; growth/logging.ts measures the cost of logging. */
const QUIET = { LOG_LEVEL: 'warn' }

/** `row-query serve` with default settings, except those in `env`. `token`: that of the requests. */
export function serviceContender (database: string, env: Readonly<Record<string, string>> = QUIET, token = TOKEN): Contender {
  return httpContender({
    name: SERVICE,
    api: rowQueryApi(database, token),
    program: (databaseUrl, port) => ({
      args: [builtFile('src/cli/main.ts'), 'serve'],
      env: { DATABASE_URL: databaseUrl, PORT: String(port), API_TOKEN: TOKEN, ...env }
    })
  })
}
