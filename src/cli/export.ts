import { randomBytes } from 'node:crypto'
import {
  constants, createWriteStream, fstatSync, fsyncSync, lstatSync, readlinkSync, rmSync, type Stats, statSync
} from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Verb } from '../../schemas/grants.ts'
import { getAccess } from '../access/authorize.ts'
import type { Grant } from '../access/grant.ts'
import { ConfigError, orThrow } from '../config-errors.ts'
import type { Settings } from '../config/settings.ts'
import { createDatabase, type Database } from '../databases/database.ts'
import { type DatabaseConfig, openDialect } from '../databases/open.ts'
import { isServiceError, type ServiceError } from '../errors.ts'
import { checkStreamBody, STREAM_FORMATS } from '../http/stream.ts'
import { openStream } from '../pipeline.ts'
import { parseBody } from '../request/check-body.ts'
import { ResponseBudget } from '../response/budget.ts'
import { GRACE, type RowStream } from '../response/row-stream.ts'
import type { StreamFormat } from '../response/csv-ndjson-rows.ts'
import { commandGrant, findDatabase, loadSettings } from './one-database.ts'
import { type FlagValues, parseFlags } from './commands.ts'
import { stop } from './signals.ts'

/** In milliseconds. */
const INTERVAL = 500
const MEGABYTE = 1_000_000

const STDOUT = 1

/**
 * Where the rows go. `part`: the file that has them until it is whole and gets the name `path`. `replaced`: the file
 * that has this name until then.
 */
type Target =
  | { readonly kind: 'stdout' }
  | { readonly kind: 'special', readonly path: string }
  | { readonly kind: 'file', readonly path: string, readonly part: string, readonly replaced: Stats | undefined }

/**
 * Finds out what `--output` names, before anything is read or written. @throws ConfigError if no file can have this
 * name
 */
function findTarget (output: string | undefined): Target {
  if (output === undefined) return { kind: 'stdout' }
  if (output === '') throw new ConfigError(['--output: is empty'])
  const existing = orThrow(() => statSync(output, { throwIfNoEntry: false }), toConfigError(output, 'read'))
  if (existing?.isDirectory() === true) throw new ConfigError([`--output: ${output} is a directory`])
  if (existing !== undefined && isStdout(existing)) return { kind: 'stdout' }
  // such as a named pipe: nothing may take its place
  if (existing?.isFile() === false) return { kind: 'special', path: output }
  const path = orThrow(() => followLinks(output), toConfigError(output, 'read'))
  // not the process id, which is the same for each process that is the first one of a container
  return { kind: 'file', path, part: `${path}.${randomBytes(4).toString('hex')}.part`, replaced: existing }
}

const toConfigError =
  (path: string, verb: string) =>
    ({ code }: NodeJS.ErrnoException): ConfigError =>
      new ConfigError([`--output: ${path} cannot be ${verb} (${code})`])

/** Whether the file is standard output, which may be open for appending: `--output /dev/stdout >> file`. */
function isStdout ({ dev, ino }: Stats): boolean {
  const stdout = fstatSync(STDOUT)
  return dev === stdout.dev && ino === stdout.ino
}

/** The path that a link leads to. Unlike for `realpath`, nothing needs to exist there. */
function followLinks (path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path
  const link = readlinkSync(path)
  // join() would take ".." for the parent of a link to a directory
  return followLinks(isAbsolute(link) ? link : `${dirname(path)}/${link}`)
}

/**
 * Writes a stream to standard output or to a file, which appears under its name when it is complete. Shows the progress
 * on a terminal. A signal stops it; a second one ends the process at once.
 * @throws ConfigError if the file cannot be created; the error of the stream, or of writing
 */
async function saveStream (stream: RowStream, target: Target): Promise<void> {
  const stopProgress = showProgress(() => stream)
  stream.onFailure = () => { setTimeout(() => stream.readable.destroy(stream.failure), GRACE).unref() }
  stop.onStop = (error) => stream.fail(error)
  stop.onForced = () => { if (target.kind === 'file') rmSync(target.part, { force: true }) }
  try {
    await save(stream.readable, target)
  } finally {
    stopProgress()
    stream.drop()
  }
}

async function save (readable: RowStream['readable'], target: Target): Promise<void> {
  if (target.kind === 'stdout') return await saveToStdout(readable)
  if (target.kind === 'file') return await saveToFile(readable, target)
  // without O_CREAT: it exists
  const file = await openOrThrow(target.path, 'opened', constants.O_WRONLY)
  await pipeline(readable, file.createWriteStream())
}

async function saveToStdout (readable: RowStream['readable']): Promise<void> {
  // the process still writes to standard output afterwards
  if (!fstatSync(STDOUT).isFile()) return await pipeline(readable, process.stdout, { end: false })
  // process.stdout would ignore that a full disk took only a part of the last chunk
  await pipeline(readable, createWriteStream('', { fd: STDOUT, autoClose: false }))
  fsyncSync(STDOUT)
}

async function saveToFile (
  readable: RowStream['readable'],
  { path, part, replaced }: Target & { kind: 'file' }
): Promise<void> {
  const file = await openOrThrow(part, 'created', 'wx', replaced === undefined ? undefined : PRIVATE)
  try {
    if (replaced !== undefined) await keepRights(file, replaced)
    await pipeline(readable, file.createWriteStream({ flush: true }))
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

const openOrThrow = async (path: string, verb: string, flags: string | number, mode?: number): Promise<FileHandle> =>
  await open(path, flags, mode).catch((error) => { throw toConfigError(path, verb)(error) })

const PRIVATE = 0o600
const RIGHTS = 0o777
const RIGHTS_OF_GROUP = 0o070

/** Gives a private file the permissions of the file that it replaces, so that no further user can read the rows. */
async function keepRights (file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  // only root may give a file to another user
  const isOwned = await file.chown(uid, gid).then(() => true, () => false)
  // otherwise its group is the one of this process
  await file.chmod(mode & (isOwned ? RIGHTS : RIGHTS & ~RIGHTS_OF_GROUP))
}

type Progress = Pick<RowStream, 'passed' | 'bytes'>

/** Returns a function that stops showing the progress. */
export function showProgress (progress: () => Progress): () => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  const since = performance.now()
  const show = (end = ''): void => {
    stderr.write(`\r${describeProgress(progress(), performance.now() - since)}\u001b[K${end}`)
  }
  const timer = setInterval(show, INTERVAL)
  return () => {
    clearInterval(timer)
    show('\n')
  }
}

/** `12,000 rows, 1.4 MB, 24,000 rows/s` */
function describeProgress ({ passed, bytes }: Progress, milliseconds: number): string {
  const whole = (number: number): string => Math.round(number).toLocaleString('en-US')
  return `${whole(passed)} rows, ${(bytes / MEGABYTE).toFixed(1)} MB, ` +
    `${whole((passed / Math.max(milliseconds, 1)) * 1000)} rows/s`
}

/** The permissions of a command without a token or role. */
const PERMISSIONS: Readonly<Record<'export' | 'import', Verb[]>> = { export: ['select'], import: ['insert', 'update'] }

/** The grant with which the command runs. @throws ConfigError */
export function chooseTable (
  command: 'export' | 'import',
  values: FlagValues<'export' | 'import'>,
  [name, table, ...others]: readonly string[]
): { readonly settings: Settings, readonly grant: Grant, readonly config: DatabaseConfig, readonly table: string } {
  const { settings } = loadSettings(values)
  const { grant } = commandGrant(values, settings, { permissions: PERMISSIONS[command] })
  if (name === undefined || table === undefined || others.length > 0) {
    throw new ConfigError([`a database and a table are required: row-query ${command} shop orders`])
  }
  return { settings, grant, config: findDatabase(settings.databases, name), table }
}

/**
 * `row-query export <database> <table>`: writes rows to a file or to standard output. Returns the exit code: 1 if not
 * all rows were written. @throws ConfigError
 */
export async function exportRows (args: string[]): Promise<number> {
  const { values, positionals } = parseFlags('export', args)
  const { settings, grant, config, table } = chooseTable('export', values, positionals)
  const format = readFormat(values.format)
  const body = readBody(values)
  const target = findTarget(values.output)
  let database: Database | undefined
  try {
    database = await stop.before(openDatabase(config, settings.answerMemory))
    const { limits } = settings
    const access = getAccess(new Map([[config.name, database]]), grant, { database: config.name, table })
    // a signal stops the running statement in the database
    const client = { get destroyed () { return stop.error !== undefined } }
    const request = { access, ...checkStreamBody(body, limits), limits, format, client }
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

export function describe (error: Error): string {
  if (!isServiceError(error)) return error.message
  const { code, message, reason, details } = error
  return [
    `${message} (${reason === undefined ? code : `${code}, ${reason}`})`,
    ...details.map(({ path }) => path).filter((path) => path !== '')
  ].join(' at ')
}

/** @throws ConfigError */
export function readFormat (format: string | undefined): StreamFormat {
  const readable = STREAM_FORMATS.find((each) => each === format)
  if (readable === undefined) throw new ConfigError([`--format: must be one of ${STREAM_FORMATS.join(', ')}`])
  return readable
}

function readBody ({ filters, columns, 'order-by': orderBy, limit }: FlagValues<'export'>): object {
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

export async function openDatabase (config: DatabaseConfig, answerMemory: number): Promise<Database> {
  const { name, resultLimit, importTimeout } = config
  const dialect = await openDialect(config)
  return createDatabase({
    name,
    dialect,
    resultLimit,
    importTimeout,
    budget: new ResponseBudget(answerMemory),
    refreshInterval: NEVER,
    closeTimeout: config.statementTimeout,
    onRefreshError: () => {}
  })
}

/** The longest delay of a timer, in milliseconds: the command reads the catalog once. */
const NEVER = 2 ** 31 - 1
