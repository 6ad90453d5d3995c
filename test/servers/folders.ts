import {
  accessSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statfsSync, statSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atExit } from './at-exit.ts'

const HOUR = 3_600_000

/** Where what was downloaded and initialised is kept from one run to the next. Git ignores it. */
export function cacheFolder (): string {
  return process.env.TEST_CACHE ?? fileURLToPath(new URL('../../.cache/', import.meta.url))
}

/** Where Node keeps what it has compiled. Code that comes from there has no exact coverage. */
export const COMPILED = join(cacheFolder(), 'compiled')

/** A file system in memory, and the room that it must have for the servers of a run, in bytes. */
const MEMORY = '/dev/shm'
const ROOM = 2 * 1024 ** 3

/** Where data are that go with the run: in memory if there is room, because writing them takes a fifth of the time. */
export function dataFolder (): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}

export interface TemporaryFolder { path: string, remove: () => void }

/**
 * A new folder that goes away with this process. Its name carries the process id: a later run
 * removes what a killed run (SIGKILL, power cut) had to leave behind.
 */
export function temporaryFolder (prefix: string): TemporaryFolder {
  mkdirSync(dirname(prefix), { recursive: true })
  removeAbandoned(prefix)
  const path = mkdtempSync(`${prefix}.${process.pid}-`)
  return { path, remove: atExit(() => remove(path)) }
}

/** With patience: a server that was just killed may still be writing its last file. */
function remove (folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}

/**
 * Fills a folder under a temporary name and renames it when it is complete, so that an interrupted
 * run cannot leave half of it in the cache. Of two runs at the same time, the first one to end wins.
 */
export async function makeOnce (folder: string, fill: (temporary: string) => Promise<void> | void): Promise<string> {
  if (existsSync(folder)) return folder
  const temporary = temporaryFolder(folder)
  try {
    await fill(temporary.path)
    renameSync(temporary.path, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    temporary.remove()
  }
  return folder
}

/** An hour of grace, because a process id says nothing about a process in another container. */
function removeAbandoned (prefix: string): void {
  for (const name of readdirSync(dirname(prefix))) {
    const [, pid] = name.startsWith(`${basename(prefix)}.`) ? /\.(\d+)-\w{6}$/.exec(name) ?? [] : []
    if (pid === undefined || isAlive(Number(pid))) continue
    const folder = join(dirname(prefix), name)
    // mtime comes out of a package
    const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.ctimeMs ?? Date.now())
    if (age > HOUR) remove(folder)
  }
}

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
