import { randomBytes } from 'node:crypto'
import {
  constants,
  createWriteStream,
  fstatSync,
  fsyncSync,
  lstatSync,
  readlinkSync,
  rmSync,
  statSync,
  type Stats
} from 'node:fs'
import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ConfigError, orThrow } from '../config-errors.ts'
import { GRACE, type RowStream } from '../response/row-stream.ts'
import { stop } from './stop.ts'

/** How often the progress is shown, in milliseconds. */
const INTERVAL = 500
const MEGABYTE = 1_000_000

/** The descriptor of standard output. */
const STDOUT = 1

/**
 * Where the rows go. `part`: the file that has them until it is whole and gets the name `path`. `replaced`: the file
 * that has this name until then.
 */
export type Target =
  | { readonly kind: 'stdout' }
  | { readonly kind: 'special', readonly path: string }
  | { readonly kind: 'file', readonly path: string, readonly part: string, readonly replaced: Stats | undefined }

/**
 * Finds out what `--output` names, before anything is read or written. @throws ConfigError if no file can have this
 * name
 */
export function findTarget (output: string | undefined): Target {
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

/** Whether the file is that of standard output, which may be open for appending: `--output /dev/stdout >> file`. */
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
export async function saveStream (stream: RowStream, target: Target): Promise<void> {
  const stopProgress = showProgress(stream)
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

/**
 * Gives a private file the permissions of the file that it replaces, so that no further user can read the rows.
 */
async function keepRights (file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  // only root may give a file to another user
  const isOwned = await file.chown(uid, gid).then(() => true, () => false)
  // otherwise its group is that of this process
  await file.chmod(mode & (isOwned ? RIGHTS : RIGHTS & ~RIGHTS_OF_GROUP))
}

/** Returns a function that stops showing the progress. */
function showProgress (stream: RowStream): () => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  const since = performance.now()
  const show = (end = ''): void => {
    stderr.write(`\r${describeProgress(stream, performance.now() - since)}\u001b[K${end}`)
  }
  const timer = setInterval(show, INTERVAL)
  return () => {
    clearInterval(timer)
    show('\n')
  }
}

/** `12,000 rows, 1.4 MB, 24,000 rows/s` */
export function describeProgress (
  { passed, bytes }: Pick<RowStream, 'passed' | 'bytes'>,
  milliseconds: number
): string {
  const whole = (number: number): string => Math.round(number).toLocaleString('en-US')
  return `${whole(passed)} rows, ${(bytes / MEGABYTE).toFixed(1)} MB, ` +
    `${whole((passed / Math.max(milliseconds, 1)) * 1000)} rows/s`
}
