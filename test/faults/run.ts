/**
 * `npm run test:faults`: tests of failing database servers, networks and clusters, with servers of their own. Prints
 * one line for a kind of server that is not available, and runs without it.
 *
 *     node test/faults/run.ts [files…]
 */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../servers/own.ts'
import type { Kind } from '../servers/program.ts'
import { endWithTests, runFiles } from '../runner.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The number of operations of each history (histories.ts). */
const HISTORY = Number(process.env['TEST_HISTORY'] ?? 0)
/** The time limit of a file in milliseconds, for a busy machine. */
const TIMEOUT = 900_000 + 100 * HISTORY

async function findKinds (): Promise<Kind[]> {
  const found: Kind[] = []
  // one after the other: apt downloads one package at a time anyway
  for (const kind of ['mariadb', 'mysql'] as const) {
    try {
      const { version, words } = await findProgram(kind)
      console.log(`# ${kind} ${version} (${words.at(-1)})`)
      found.push(kind)
    } catch (error) {
      console.log(`# tests go on WITHOUT ${kind}: ${(error as Error).message}`)
    }
  }
  if (found.length === 0) throw new Error('there is no database server to be had')
  return found
}

/**
 * They mostly wait, for servers that start and stop; with more of them, their load disturbs the times that others
 * measure.
 */
const JOBS = 3

endWithTests()
const named = process.argv.slice(2)
try {
  const TEST_FAULTS = JSON.stringify(await findKinds())
  const files = named.length > 0 ? named : globSync('test/faults/*.test.ts', { cwd: ROOT }).sort()
  process.exit(await runFiles(files, { jobs: JOBS, timeout: TIMEOUT, env: { TEST_FAULTS } }))
} catch (error) {
  console.error(`npm run test:faults: ${(error as Error).message}`)
  process.exit(1)
}
