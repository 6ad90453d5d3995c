/**
 * What `npm run test:faults` runs: the tests of what happens when things go wrong, on database servers of their own. A server
 * that cannot be had is said in one line and passed over.
 *
 *     node test/faults/run.ts [tap's arguments…]
 */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../servers/own.ts'
import type { Kind } from '../servers/program.ts'
import { endWithTap, runTap } from '../tap.ts'

/** Longer than the longest of these tests takes on a machine that does much else, in seconds. */
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

function testFiles (): string[] {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  return readdirSync(folder).filter((name) => name.endsWith('.test.ts')).map((name) => `${folder}${name}`)
}

endWithTap()
const args = process.argv.slice(2)
try {
  const TEST_FAULTS = JSON.stringify(await findKinds())
  const files = args.some((argument) => argument.endsWith('.ts')) ? [] : testFiles()
  process.exit(await runTap(['--disable-coverage', '--jobs=2', `--timeout=${TIMEOUT}`, ...args, ...files], { TEST_FAULTS }))
} catch (error) {
  console.error(`npm run test:faults: ${(error as Error).message}`)
  process.exit(1)
}
