/**
 * `sqlite::memory:`, a database that lasts as long as the service. It is a private file in the folder for temporary files:
 * a database in the memory of a process would be lost when one of its statements runs out of time.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What stands in the place of a path. */
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

/** An empty file that only this account may read. */
export function createMemoryFile (): MemoryFile {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-memory-'))
  folders.add(folder)
  const path = join(folder, 'memory.db')
  writeFileSync(path, '')
  return { path, remove: () => removeFolder(folder) }
}
