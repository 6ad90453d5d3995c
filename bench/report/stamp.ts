/** Where, when and with which versions a run was made. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Stamp } from './results.ts'

const ROOT = new URL('../../', import.meta.url)

/** Created before the measurement. */
export function createStamp (database: { readonly name: string, readonly version: string }, effort: string): Stamp {
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' ') + ' UTC',
    commit: commit(),
    machine: `${availableParallelism()} cores of ${cpus()[0]?.model.trim() ?? 'an unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB`,
    load: loadavg()[0] as number,
    versions: {
      'fastify-row-query': versionOf('package.json'),
      Node: process.versions.node,
      [database.name]: database.version,
      Fastify: versionOf('node_modules/fastify/package.json'),
      mysql2: versionOf('node_modules/mysql2/package.json'),
      Kysely: versionOf('node_modules/kysely/package.json'),
      'Platformatic DB': versionOf('bench/node_modules/@platformatic/db/package.json')
    },
    effort
  }
}

/** The commit, with a plus if files have changed since. */
function commit (): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: fileURLToPath(ROOT), encoding: 'utf8' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'plugins', 'schemas', 'bench/contenders', 'package-lock.json') !== ''
    return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '')
  } catch {
    return 'unknown'
  }
}

function versionOf (path: string): string {
  return (JSON.parse(readFileSync(new URL(path, ROOT), 'utf8')) as { version: string }).version
}
