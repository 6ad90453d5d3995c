/**
 * `sqlite::memory:`, a database that exists as long as the service. It is a private temporary file, because a database in the memory of a process
 * would be lost when a statement exceeds its time limit and the process is killed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The name that stands in place of a path. */
export const MEMORY = ':memory:'

export interface MemoryFile {
  readonly path: string
  remove (): void
}

const folders = new Set<string>()

const removeFolder = (folder: string): void => {
  folders.delete(folder)
  rmSync(folder, { recursive: true, force: true })
}

process.on('exit', () => folders.forEach(removeFolder))

/** Creates an empty file that only this account can read. */
export function createMemoryFile (): MemoryFile {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-memory-'))
  folders.add(folder)
  const path = join(folder, 'memory.db')
  writeFileSync(path, '')
  return { path, remove: () => removeFolder(folder) }
}
