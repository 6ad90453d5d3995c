/** All contenders, in the order of the table. */
import { fileURLToPath } from 'node:url'
import { builtFile } from '../build.ts'
import { platformaticApi, routesApi, TOKEN, type Api } from './apis.ts'
import { WORKLOADS } from '../workloads.ts'
import { bareContender } from './bare-contender.ts'
import type { Contender } from './contender.ts'
import { httpContender } from './http-contender.ts'
import { SERVICE, serviceContender } from './service.ts'

/** The name of the database that all contenders use. */
export const DATABASE = 'shop'

export const HAND_WRITTEN = ['hand-written, execute', 'hand-written, query'] as const
/** The lower bounds: the driver alone and Fastify alone. */
export const BARE = ['bare mysql2, query', 'bare mysql2, execute'] as const

/** The contenders of the main comparison, which come first in the list below. */
export const MAIN: readonly string[] = [SERVICE, ...HAND_WRITTEN]

const BENCH_PACKAGES = fileURLToPath(new URL('../package.json', import.meta.url))

/** Lists and groups are measured with the main contenders alone. */
const withoutLists = WORKLOADS.map(({ name }) => name).filter((name) => !/ of \d+ rows?$/.test(name))

export const CONTENDERS: readonly Contender[] = [
  serviceContender(DATABASE),
  fastifyContender(HAND_WRITTEN[0], 'hand-written', { METHOD: 'execute' }),
  fastifyContender(HAND_WRITTEN[1], 'hand-written', { METHOD: 'query' }),
  { ...fastifyContender('Kysely route', 'kysely'), workloads: withoutLists },
  { ...fastifyContender('Platformatic DB', 'platformatic', { PACKAGES: BENCH_PACKAGES }, platformaticApi), workloads: withoutLists },
  { ...fastifyContender('empty route', 'empty'), workloads: ['row by key'], withoutRows: true },
  { ...bareContender(BARE[0], 'query'), workloads: withoutLists },
  { ...bareContender(BARE[1], 'execute'), workloads: withoutLists }
]

function fastifyContender (name: string, program: string, env: Record<string, string> = {}, api: Api = routesApi): Contender {
  const file = builtFile(`bench/contenders/programs/${program}.ts`)
  return httpContender({
    name,
    api,
    program: (databaseUrl, port) => ({ args: [file], env: { DATABASE_URL: databaseUrl, PORT: String(port), API_TOKEN: TOKEN, ...env } })
  })
}
