/** The server in this process: it handles the requests alone, or as one of several workers. */
import { setFlagsFromString } from 'node:v8'
import { isDeepStrictEqual } from 'node:util'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance, FastifyBaseLogger } from 'fastify'
import type { RowQueryOptions, Config } from '../../schemas/options.ts'
import { type Grant, permissionsOn } from '../access/grant.ts'
import { ConfigError } from '../config-errors.ts'
import type { ServiceError } from '../errors.ts'
import { type Loaded, type ServerSettings, splitConfig } from '../config/load.ts'
import { resolveSettings } from '../config/settings.ts'
import { createServer, type Server } from '../server/server.ts'
import { onReload } from './signals.ts'

// What `row-query serve` prints for configured databases: their addresses and tables, and a request to try.

/** The most databases, and tables of each, that are printed. */
const MAX_DATABASES = 10
const MAX_TABLES = 10

/** The tables of each database; undefined while they are not known. */
type Tables = ReadonlyMap<string, readonly string[] | undefined>

/** The text contains no token: its request takes the token from the variable TOKEN of the shell. */
export function describeFirstContact ({ address, prefix, tables, grants, docs }: {
  readonly address: string
  readonly prefix: string
  readonly tables: Tables
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
function findExample (tables: Tables, grants: readonly Grant[]): Example | undefined {
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

/**
 * Flags that adapt the garbage collector of V8 to a server, in which most objects live for one request. They change
 * only performance; `node --trace-gc` and `--trace-deopt` show their effect. docs/deployment.md has the measurements.
 *
 * - no-allocation-site-pretenuring: V8 allocates objects in the old generation if objects from the same place in the
 *   code have often survived a collection. In a server, each collection finds objects of running requests. Once
 *   allocated as old objects, they stay in memory until the next full collection, and keep other objects alive.
 * - external-memory-accounted-in-global-limit: V8 starts a full collection for every 64 MB of memory outside its heap,
 *   such as buffers. Large responses would cause several a second. With the flag, as in later versions of V8, external
 *   memory counts towards the limit of the heap.
 * - no-memory-reducer-favors-memory: when the program is idle, V8 collects garbage to release memory, and then also
 *   drops the hidden classes that no object has at that time, and the machine code that depends on them. The next
 *   requests are many times slower.
 * - heap-growing-percent: V8 lets the heap grow to 1.1 to 4 times its live size before the next full collection, and to
 *   less if collections take much time. Large responses after an idle period caused ten full collections a second. The
 *   flag sets the factor to 2.5.
 */
const FLAGS = [
  { flag: '--no-allocation-site-pretenuring', since: 12 },
  { flag: '--external-memory-accounted-in-global-limit', since: 13 },
  { flag: '--no-memory-reducer-favors-memory', since: 13 },
  { flag: '--heap-growing-percent=150', since: 13 }
]

/**
 * Returns the flags that a version of V8, such as `13.6.233.17-node.54`, supports: V8 prints a warning for an unknown
 * flag. Node 22 has V8 12, Node 24 has V8 13.
 */
export function garbageFlags (version: string): string[] {
  return FLAGS.filter(({ since }) => Number.parseInt(version) >= since).map(({ flag }) => flag)
}

/** Must be called before the first request. V8 reads these flags while the program runs. */
export function tuneGarbageCollection (): void {
  garbageFlags(process.versions.v8).forEach((flag) => setFlagsFromString(flag))
}

/** Maps the code of a system error to the setting that causes it, and the reason. */
const listenErrors = new Map([
  ['EADDRINUSE', 'port: is in use by another program'],
  ['EACCES', 'port: this user may not listen on it'],
  ['EADDRNOTAVAIL', 'host: is not an address of this machine'],
  ['ENOTFOUND', 'host: is not a known host']
])

/**
 * Returns the address. `settings`: the prefix of the settings `host` and `port` in errors. `whole`: the app to close if
 * listening fails.
 * @throws ConfigError
 */
export async function listen (
  app: FastifyInstance,
  options: {
    readonly host: string
    readonly port: number
    /** The text of the log line for each address. */
    readonly listenTextResolver?: (address: string) => string
  },
  settings = '',
  whole = app
): Promise<string> {
  try {
    return await app.listen(options)
  } catch (error) {
    await whole.close()
    const { code } = error as { code: string }
    throw new ConfigError([
      `${settings}${listenErrors.get(code) ?? `host: cannot listen (${code})`} (${options.host}, port ${options.port})`
    ])
  }
}

type Shutdown = ServerSettings['shutdown']

/**
 * Signals that a terminal or a supervisor may send to every process of the service: the primary process decides what a
 * worker does.
 */
const GROUP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** Ignores the signals of the process group. Must be called when a worker starts. */
export function leaveSignalsToPrimary (): void {
  for (const signal of GROUP_SIGNALS) process.on(signal, () => {})
}

/**
 * How much later than the primary process a worker closes the port, in milliseconds, because the last connections are
 * on their way to it.
 */
const LATER = 100

/** Returns a function that shuts a worker down in the same way, and does so after an uncaught error. */
export function createWorkerShutdown (server: Server, { delay, timeout }: Shutdown): () => void {
  return createShutdown(server, { delay: delay + LATER, timeout }, GROUP_SIGNALS)
}

/**
 * How long before the time limit streams are cut off: a part of it, and milliseconds at least. Meanwhile their
 * statements end in the database, and clients take what was read before.
 */
const FOR_STREAMS = { part: 0.1, least: 1000 }

/**
 * Shuts down gracefully on SIGTERM or SIGINT: the server reports that it is not ready, waits `delay` so that load
 * balancers notice, closes the port, waits up to `timeout` for running requests, cuts off streams shortly before that,
 * closes the pools and exits with 0. It exits with 1 if requests are still running, or after an uncaught error. If the
 * server could not listen, the exit code stays as it is. Returns a function that does so without a signal.
 */
function createShutdown (
  { app, drain, rows }: Server,
  { delay, timeout }: Shutdown,
  ignored: typeof GROUP_SIGNALS | []
): () => void {
  const onTimeout = (): void => app.log.error('shutdown timed out while requests were running')
  const { close } = closeWithGrace(
    { delay: delay + timeout, logger: false, skip: ['SIGHUP', 'beforeExit', ...ignored], onTimeout },
    async ({ err }) => {
      if (err !== undefined) app.log.fatal({ err }, 'shutting down after an uncaught error')
      const before = Math.min(timeout, Math.max(timeout * FOR_STREAMS.part, FOR_STREAMS.least))
      setTimeout(() => rows.endStreams(), delay + timeout - before).unref()
      await drain.start(err === undefined ? delay : 0)
      await app.close()
    }
  )
  return close
}

export interface ServerConfiguration {
  readonly server: ServerSettings
  readonly options: RowQueryOptions
  /** The token that was created for the demo. */
  readonly demoToken?: string | undefined
  /** Reads the tokens and roles at a reload. */
  readonly readGrants: ReadGrants
}

export interface Started {
  readonly address: string
  /** The tables that are printed at the start. */
  readonly tables: Tables
}

/** @throws ConfigError */
export async function startServer ({
  server: { host, port, metrics, shutdown, workers: _workers, ...settings },
  options,
  demoToken,
  readGrants
}: ServerConfiguration): Promise<Started> {
  tuneGarbageCollection()
  const server = await createServer({ options, ...settings, metricsApart: metrics !== undefined, demoToken })
  const { app, rows, metricsApp } = server
  onReload(() => reloadServer(server, readGrants(app.log)))
  createShutdown(server, shutdown, [])
  const address = await listen(app, { host, port })
  if (metricsApp !== undefined && metrics !== undefined) {
    app.log.info(`metrics at ${await listen(metricsApp, metrics, 'metrics.', app)}/metrics`)
  }
  return { address, tables: rows.tables() }
}

/** Reads the certificate, the catalogs and the token file again. `grants`: the tokens and roles to use. */
export function reloadServer ({ app, rows, reloadCertificate }: Server, grants: ConfiguredGrants | undefined): void {
  reloadCertificate()
  if (grants !== undefined) rows.replaceGrants(grants)
  rows.refresh().then(
    () => app.log.info('catalog reloaded'),
    ({ code, reason }: ServiceError) => app.log.warn({ code, reason }, 'the catalog could not be read')
  )
}

// At SIGHUP the tokens and roles of the configuration are read again.

/** The settings that can be replaced while the service runs. */
export type ConfiguredGrants = Pick<Config, 'tokens' | 'roles' | 'requests'>

/** Returns the tokens and roles; undefined if they stay. */
export type ReadGrants = (log: FastifyBaseLogger) => ConfiguredGrants | undefined

/** `running`: the configuration of the start, with whose other settings the tokens and roles are checked. */
export function createGrantReader (running: Config, load: () => Loaded): ReadGrants {
  const { tokens: _tokens, roles: _roles, requests: _requests, ...others } = running
  return (log) => {
    try {
      const { config: { tokens, roles, requests, ...changed }, demo } = load()
      const settings = findDifferences(others, changed)
      if (settings.length > 0) log.warn({ settings }, 'settings that a restart applies have changed')
      // the token of the demo stays the one of the start
      if (demo?.token !== undefined) return undefined
      const grants = {
        ...(tokens !== undefined && { tokens }),
        ...(roles !== undefined && { roles }),
        ...(requests !== undefined && { requests })
      }
      // requests and the list of their tools belong together in the file
      const { mcp } = changed
      resolveSettings(splitConfig({ ...others, ...grants, ...(mcp && others.mcp && { mcp }) }).options)
      log.info({
        tokens: tokens?.length ?? 0,
        roles: Object.keys(roles ?? {}).length,
        requests: Object.keys(requests ?? {}).length
      }, 'tokens and roles reloaded')
      return grants
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      log.error(
        { errors: error.errors },
        'the configuration cannot be used; the previous tokens and roles stay in use'
      )
      return undefined
    }
  }
}

function findDifferences (one: object, other: object): string[] {
  return Object.keys({ ...one, ...other }).filter(
    (name) => !isDeepStrictEqual(one[name as keyof object], other[name as keyof object])
  )
}
