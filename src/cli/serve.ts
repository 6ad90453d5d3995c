import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { RowQueryOptions } from '../../schemas/options.ts'
import { type Grant, permissionsOn } from '../access/grant.ts'
import {
  createGrantReader, DEMO_PATH, DEMO_TOKEN_PATH, loadConfig, type Loaded, splitConfig, keepDemoToken
} from '../config/load.ts'
import type { DEMO_REQUESTS } from '../config/demo-requests.ts'
import { resolveSettings } from '../config/settings.ts'
import { createShop, resetShop } from '../demo/shop.ts'
import { createLog } from '../telemetry/log.ts'
import { parseFlags } from './commands.ts'
import type { ServerConfiguration, Started } from './start-server.ts'

const NO_TOKEN_NOTICE = `row-query: no token is configured, so all requests are refused.
row-query: Set API_TOKEN, or create a token with "row-query token --name me --permissions select"
row-query: and add its entry to the configuration file.
`

const BODIES = [
  ['products', {
    verb: 'select',
    columns: ['sku', 'name', 'price'],
    filters: { price: { $lt: '20.00' } },
    orderBy: 'price DESC',
    limit: 3,
    include: { category: { table: 'categories', columns: ['name'] } }
  }],
  ['orders', {
    verb: 'select',
    columns: ['id', 'status', 'total'],
    filters: { ordered_at: { $gte: { $now: { days: -30 } } } },
    orderBy: 'ordered_at DESC',
    limit: 3,
    include: { customer: { table: 'customers', columns: ['name'] } }
  }],
  ['orders', {
    verb: 'select',
    groupBy: ['status'],
    aggregates: { orders: { $count: '*' }, sum: { $sum: 'total' } },
    orderBy: 'sum DESC'
  }]
] as const

/** Calls of the named requests of the demo: by a query string the one that reads, by parameters those that write. */
const CALLS = [
  ['find_products', '?categories=3&categories=4&name=pen&size=3'],
  ['sign_up', { email: 'ada@example.com', name: 'Ada', country: 'GB' }],
  ['place_order', { customer: 1, sku: 'MUG-PORCEL', quantity: 2 }]
] as const satisfies ReadonlyArray<readonly [keyof typeof DEMO_REQUESTS, string | object]>

/** Shows the address and the token of the demo, and requests to try: those that change rows say so. */
export function demoBanner ({ address, prefix, path, isNew, docs, token }: {
  readonly address: string
  readonly prefix: string
  readonly path: string
  /** This start has created the database. */
  readonly isNew: boolean
  readonly docs: boolean
  /** The token of the demo; undefined if tokens are configured, which are never printed. */
  readonly token: string | undefined
}): string {
  const curl = (path: string, body?: object): string => {
    const url = `${address}${prefix}/${path}`
    return `  curl -s ${body === undefined ? `'${url}'` : url} -H "Authorization: Bearer ${token ?? '$TOKEN'}"` +
      (body === undefined ? '' : ` -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`)
  }
  const named = CALLS.map(([name, given]) =>
    typeof given === 'string' ? curl(`requests/${name}${given}`) : curl(`requests/${name}`, given))
  return `
No database is configured. This is the demo: a small shop, ${isNew ? 'created in' : 'kept in'} ${resolve(path)}.
"row-query demo --reset" resets its rows.
Set DATABASE_URL=mysql://user:password@host/database to use your own database.

  address  ${address}${prefix}/demo/{customers,categories,products,orders,order_items,order_totals}
  token    ${token ?? 'use a configured token: export it as TOKEN before you run these commands'}
${docs ? `  page     ${address}${prefix}/docs${token === undefined ? '' : `#token=${token}`}\n` : ''}
Try it:

${BODIES.map(([table, body]) => curl(`demo/${table}`, body)).join('\n\n')}
${token === undefined
  ? ''
  : `
Named requests, which the operator has written; the last two change rows:

${named.join('\n\n')}
`}
`
}

// What `row-query serve` prints for configured databases: their addresses and tables, and a request to try.

/** The most databases, and tables of each, that are printed. */
const MAX_DATABASES = 10
const MAX_TABLES = 10

/** The text contains no token: its request takes the token from the variable TOKEN of the shell. */
export function describeFirstContact ({ address, prefix, tables, grants, docs }: {
  readonly address: string
  readonly prefix: string
  readonly tables: Started['tables']
  readonly grants: readonly Grant[]
  readonly docs: boolean
}): string {
  const base = `${address}${prefix}`
  const addresses = Array.from(
    tables,
    ([database, names]) => `${base}/${encodeURIComponent(database)}/${describeTables(names)}`
  )
  const more = addresses.length - MAX_DATABASES
  const lines = addresses
    .slice(0, MAX_DATABASES)
    .map((line, index) => `${index === 0 ? '  address  ' : '           '}${line}\n`)
  const example = findExample(tables, grants)
  if (more > 0) lines.push(`           and ${more} more databases\n`)
  if (docs) lines.push(`  page     ${base}/docs\n`)
  if (example !== undefined) lines.push(describeExample(example, base))
  return `\n${lines.join('')}\n`
}

/** `{customers,orders}`. In paths, names are percent-encoded. */
function describeTables (names: readonly string[] | undefined): string {
  if (names === undefined) return '{table}  (the database has not been read yet)'
  const shown = names.slice(0, MAX_TABLES).map(encodeURIComponent).join(',')
  if (names.length === 0) return '{table}  (there are no tables)'
  return names.length > MAX_TABLES ? `{${shown},…}  (${names.length} tables)` : `{${shown}}`
}

interface Example { readonly grant: Grant, readonly database: string, readonly table: string }

/** The first table from which a token may select. */
function findExample (tables: Started['tables'], grants: readonly Grant[]): Example | undefined {
  for (const grant of grants) {
    for (const [database, names = []] of tables) {
      const table = names.find((name) => permissionsOn(grant, database, name).has('select'))
      if (table !== undefined) return { grant, database, table }
    }
  }
  return undefined
}

const EXAMPLE_BODY = '-H \'Content-Type: application/json\' -d \'{"verb":"select","limit":3}\''

function describeExample ({ grant, database, table }: Example, base: string): string {
  // encodeURIComponent does not encode the quote, which would end the string of the shell
  const path = [database, table].map((name) => encodeURIComponent(name).replaceAll("'", '%27')).join('/')
  return `  token    that of ${JSON.stringify(grant.name)}; export it as TOKEN before you run this command

Try it:

  curl -s '${base}/${path}' -H "Authorization: Bearer $TOKEN" ${EXAMPLE_BODY}
`
}

/** `row-query serve`: starts the server. Returns when it listens. @throws ConfigError */
export async function serve (args: string[]): Promise<number> {
  const { values } = parseFlags('serve', args)
  const { config, demo } = loadConfig(process.env, values)
  const { server, options } = splitConfig(config)
  const isNew = demo !== undefined && createShop(demo.path)
  if (demo?.token !== undefined) keepDemoToken(DEMO_TOKEN_PATH, demo.token)
  const grants = grantsOf(options)
  // loads only the modules that are needed: the primary process of several workers has no databases
  const readGrants = createGrantReader(config, () => loadConfig(process.env, values))
  const { address, tables } = server.workers > 1
    ? await (await import('./workers/workers.ts')).startWorkers(config, server, readGrants)
    : await (await import('./start-server.ts')).startServer({ server, options, demoToken: demo?.token, readGrants })
  if (server.logFormat === 'json') return await logStart({ server, options, address, demo })
  const shown = { address, prefix: server.prefix, docs: options.docs === true }
  if (demo !== undefined) process.stdout.write(demoBanner({ ...shown, ...demo, isNew }))
  else process.stdout.write(describeFirstContact({ ...shown, tables, grants }))
  if (!hasTokens(options)) process.stderr.write(NO_TOKEN_NOTICE)
  return 0
}

const hasTokens = ({ tokens = [], tokensFile, jwt = [] }: RowQueryOptions): boolean =>
  tokens.length > 0 || tokensFile !== undefined || jwt.length > 0

/** Logs what is otherwise printed as text, because with JSON every line must be an object. */
async function logStart ({
  server,
  options,
  address,
  demo
}: Omit<ServerConfiguration, 'readGrants'> & Pick<Loaded, 'demo'> & { readonly address: string }): Promise<number> {
  if (demo === undefined && hasTokens(options)) return 0
  const log = await createLog(server)
  if (demo !== undefined) {
    log.warn({ address: `${address}${server.prefix}/demo`, ...demo }, 'no database is configured: this is the demo')
  }
  if (!hasTokens(options)) log.warn('no token is configured, so all requests are refused')
  return 0
}

/** The grants of tokens. That of API_TOKEN comes first, because the reader of the output probably has it. */
function grantsOf (options: RowQueryOptions): Grant[] {
  const { tokens, tokenFile } = resolveSettings(options)
  const grants = [...tokens, ...tokenFile?.tokens ?? []].map(({ grant }) => grant)
  return grants.sort((one, other) => Number(other.name === 'API_TOKEN') - Number(one.name === 'API_TOKEN'))
}

/** `row-query demo [--reset]`: tells where the demo is, and makes it new. */
export async function demo (args: string[]): Promise<number> {
  const { values } = parseFlags('demo', args)
  const path = resolve(DEMO_PATH)
  if (values.reset === true) {
    resetShop(DEMO_PATH)
    process.stdout.write(`The demo in ${path} is reset. Its token stays the same.\n`)
  } else if (existsSync(path)) {
    process.stdout.write(`The demo is ${path}; "row-query demo --reset" resets its rows.\n`)
  } else {
    process.stdout.write(`There is no demo in this folder yet: "row-query serve" creates ${path}.\n`)
  }
  return 0
}
