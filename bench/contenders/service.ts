import { resolve } from 'node:path'
import { builtFile } from '../build.ts'
import { rowQueryApi, TOKEN, type Api } from './apis.ts'
import type { Contender } from './contender.ts'
import { httpContender } from './http-contender.ts'

export const SERVICE = 'this service'
/** The service of another checkout. */
export const OTHER = 'the other checkout'

/** The other contenders do not log either; growth/logging.ts measures the cost of logging. */
const QUIET = { LOG_LEVEL: 'warn' }

/** The service of the checkout in `folder`, as it was built there. */
export function otherContender (database: string, folder: string): Contender {
  return { ...serviceContender(database, QUIET, TOKEN, {}, resolve(folder, 'dist/src/cli/main.js')), name: OTHER }
}

/** `row-query serve` with default settings, except those in `env`. `token`: that of the requests. `headers`: more of them. `file`: the program. */
export function serviceContender (database: string, env: Readonly<Record<string, string>> = QUIET, token = TOKEN, headers: Api['headers'] = {}, file = builtFile('src/cli/main.ts')): Contender {
  const api = rowQueryApi(database, token)
  return httpContender({
    name: SERVICE,
    api: { ...api, headers: { ...api.headers, ...headers } },
    program: (databaseUrl, port) => ({
      args: [file, 'serve'],
      env: { DATABASE_URL: databaseUrl, PORT: String(port), API_TOKEN: TOKEN, ...env }
    })
  })
}
