import { builtFile } from '../build.ts'
import { rowQueryApi, TOKEN, type Api } from './apis.ts'
import type { Contender } from './contender.ts'
import { httpContender } from './http-contender.ts'

export const SERVICE = 'this service'

/** The other contenders do not log either; growth/logging.ts measures the cost of logging. */
const QUIET = { LOG_LEVEL: 'warn' }

/** `row-query serve` with default settings, except those in `env`. `token`: that of the requests. `headers`: more of them. */
export function serviceContender (database: string, env: Readonly<Record<string, string>> = QUIET, token = TOKEN, headers: Api['headers'] = {}): Contender {
  const api = rowQueryApi(database, token)
  return httpContender({
    name: SERVICE,
    api: { ...api, headers: { ...api.headers, ...headers } },
    program: (databaseUrl, port) => ({
      args: [builtFile('src/cli/main.ts'), 'serve'],
      env: { DATABASE_URL: databaseUrl, PORT: String(port), API_TOKEN: TOKEN, ...env }
    })
  })
}
