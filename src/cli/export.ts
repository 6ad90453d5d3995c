import { setTimeout as sleep } from 'node:timers/promises'
import { getAccess } from '../access/authorize.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigError } from '../config-errors.ts'
import { splitConfig } from '../config/split-config.ts'
import { resolveSettings } from '../config/settings.ts'
import { createDatabase, type Database } from '../databases/database.ts'
import { openDialect, type DatabaseConfig } from '../databases/open.ts'
import { createShop } from '../demo/shop.ts'
import { isServiceError, type ServiceError } from '../errors.ts'
import { openStream } from '../pipeline.ts'
import { parseBody } from '../request/check-body.ts'
import { checkStreamBody, STREAM_FORMATS } from '../http/stream.ts'
import type { StreamFormat } from '../response/stream-rows.ts'
import { ResponseBudget } from '../response/budget.ts'
import { GRACE } from '../response/row-stream.ts'
import { commandGrant } from './command-grant.ts'
import { COMMANDS, parseFlags } from './commands.ts'
import { findTarget, saveStream } from './save-stream.ts'
import { stop } from './stop.ts'

/**
 * `row-query export <database> <table>`: writes rows to a file or to standard output. Returns the exit code: 1 if not
 * all rows were written. @throws ConfigError
 */
export async function exportRows (args: string[]): Promise<number> {
  const { values, positionals } = parseFlags('export', { args, options: COMMANDS.export.flags, allowPositionals: true })
  const { config, demo } = loadConfig(process.env, values)
  const { options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  const settings = resolveSettings(options)
  const { grant } = commandGrant({ ...values, name: values['token-name'] }, settings)
  const [name, table, ...others] = positionals
  if (name === undefined || table === undefined || others.length > 0) {
    throw new ConfigError(['a database and a table are required: row-query export shop orders'])
  }
  const databaseConfig = settings.databases.find((each) => each.name === name)
  if (databaseConfig === undefined) {
    throw new ConfigError([
      `"${name}" is not configured; the databases are ${settings.databases.map((each) => each.name).join(', ')}`
    ])
  }
  const format = readFormat(values.format)
  const body = readBody(values)
  const target = findTarget(values.output)
  let database: Database | undefined
  try {
    database = await stop.before(open(databaseConfig, settings.answerMemory))
    const { limits } = settings
    const access = getAccess(new Map([[name, database]]), grant, { database: name, table })
    // a signal stops the running statement in the database
    const client = { get destroyed () { return stop.error !== undefined } }
    const request = { access, ...checkStreamBody(body, limits.streamRows), limits, format, client }
    const { stream } = await stop.before(openStream(request))
    await saveStream(stream, target)
    return 0
  } catch (error) {
    if (error instanceof ConfigError) throw error
    process.stderr.write(`row-query: ${describe(error as Error)}\n`)
  } finally {
    const closed = database?.close()
    await (stop.error === undefined ? closed : Promise.race([closed, sleep(GRACE)]))
  }
  // unread output in a pipe, or a database that does not answer, would keep the process alive
  if (process.stdout.writableLength > 0 || stop.error !== undefined) process.exit(1)
  return 1
}

function describe (error: Error): string {
  if (!isServiceError(error)) return error.message
  const { code, message, reason, details } = error
  return [
    `${message} (${reason === undefined ? code : `${code}, ${reason}`})`,
    ...details.map(({ path }) => path).filter((path) => path !== '')
  ].join(' at ')
}

function readFormat (format: string | undefined): StreamFormat {
  const found = STREAM_FORMATS.find((each) => each === format)
  if (found === undefined) throw new ConfigError([`--format: must be one of ${STREAM_FORMATS.join(', ')}`])
  return found
}

/** The body of a select, which is checked later. */
function readBody ({
  filters,
  columns,
  'order-by': orderBy,
  limit
}: { readonly [flag in 'filters' | 'columns' | 'order-by' | 'limit']?: string | undefined }): object {
  return {
    verb: 'select',
    ...filters !== undefined && { filters: readFilters(filters) },
    ...columns !== undefined && { columns: columns.split(',').map((column) => column.trim()) },
    ...orderBy !== undefined && { orderBy },
    ...limit !== undefined && { limit: Number(limit) }
  }
}

function readFilters (text: string): unknown {
  const filters = parseBody(text)
  if (filters instanceof Error) throw new ConfigError([`--filters: ${(filters as ServiceError).message}`])
  return filters
}

async function open (config: DatabaseConfig, answerMemory: number): Promise<Database> {
  const { name, resultLimit } = config
  const dialect = await openDialect(config)
  return createDatabase({
    name,
    dialect,
    resultLimit,
    budget: new ResponseBudget(answerMemory),
    refreshInterval: NEVER,
    closeTimeout: config.statementTimeout,
    onRefreshError: () => {}
  })
}

/** The longest delay of a timer, in milliseconds: the command reads the catalog once. */
const NEVER = 2 ** 31 - 1
