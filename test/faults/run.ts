/**
 * `npm run test:faults`: tests of failing database servers, networks and clusters, with servers of their own. Prints one line for
 * a kind of server that is not available, and runs without it.
 *
 *     node test/faults/run.ts [tap's arguments…]
 */
import { findProgram } from '../servers/own.ts'
import type { Kind } from '../servers/program.ts'
import { endWithTap, runTap } from '../tap.ts'

/** The time limit of a file in seconds, for a busy machine. */
const TIMEOUT = 400

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

/** They mostly wait, for servers that start and stop; with more of them, their load disturbs the times that others measure. */
const JOBS = 3

/** .taprc leaves them out, unless they are named. */
const FILES = 'test/faults/*.test.ts'

endWithTap()
const args = process.argv.slice(2)
try {
  const TEST_FAULTS = JSON.stringify(await findKinds())
  const files = args.some((argument) => argument.endsWith('.ts')) ? [] : [FILES]
  process.exit(await runTap(['--disable-coverage', `--jobs=${JOBS}`, `--timeout=${TIMEOUT}`, ...args, ...files], { TEST_FAULTS }))
} catch (error) {
  console.error(`npm run test:faults: ${(error as Error).message}`)
  process.exit(1)
}
