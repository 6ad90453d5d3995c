import { builtFile } from '../build.ts'
import { rowQueryApi, TOKEN } from './apis.ts'
import type { Contender } from './contender.ts'
import { httpContender } from './http-contender.ts'

export const SERVICE = 'this service'

/** The others write no log lines either; what they cost is measured apart (growth/logging.ts). */
const QUIET = { LOG_LEVEL: 'warn' }

/** `row-query serve` as it is installed, with every setting at its default but those of `env`. */
export function serviceContender (database: string, env: Readonly<Record<string, string>> = QUIET): Contender {
  return httpContender({
    name: SERVICE,
    api: rowQueryApi(database),
    program: (databaseUrl, port) => ({
      args: [builtFile('src/cli/main.ts'), 'serve'],
      env: { DATABASE_URL: databaseUrl, PORT: String(port), API_TOKEN: TOKEN, ...env }
    })
  })
}
