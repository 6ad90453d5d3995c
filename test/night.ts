/**
 * `npm run test:night`: what takes too long to wait for, one step after the other, each step whatever became of the one
 * before. Prints the coverage of the tests: it is there to be read, and has no floor.
 *
 *     node test/night.ts [steps…]
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COVERAGE = `${ROOT}coverage/raw`
const C8 = `${ROOT}node_modules/c8/bin/c8.js`

interface Step { readonly args: readonly string[], readonly env?: Readonly<Record<string, string>> }

const STEPS = {
  tests: { args: ['test/run.ts', '--all', '--night', '--mysql-optional'], env: { NODE_V8_COVERAGE: COVERAGE } },
  coverage: {
    args: [
      C8, 'report', `--temp-directory=${COVERAGE}`, '--include=src/**', '--include=plugins/**', '--include=schemas/**',
      '--reporter=text', '--reporter=lcov'
    ]
  },
  fuzz: { args: ['test/run.ts', '--all', '--mysql-optional', '--no-timeout', '--jobs=2', 'test/fuzz/*.fuzz.ts'] },
  newest: { args: ['test/run.ts', 'test/dialects/mysql/newest-mysql2.test.ts'], env: { TEST_MYSQL2: 'latest' } },
  faults: { args: ['test/faults/run.ts'] },
  // on four kinds of servers, 100,000 operations in all
  histories: { args: ['test/faults/run.ts', 'test/faults/histories.test.ts'], env: { TEST_HISTORY: '25000' } },
  // the blocks of the documents, with an installed package in place of the source
  package: { args: ['test/documents/run-packed.ts'] },
  soak: { args: ['test/soak/run.ts'] }
} satisfies Record<string, Step>

const isStep = (name: string): name is keyof typeof STEPS => Object.hasOwn(STEPS, name)

const named = process.argv.slice(2)
const unknown = named.find((name) => !isStep(name))
if (unknown !== undefined) throw new Error(`${unknown} is not one of ${Object.keys(STEPS).join(', ')}`)

rmSync(COVERAGE, { recursive: true, force: true })
const failed = (named.length > 0 ? named.filter(isStep) : Object.keys(STEPS).filter(isStep)).filter((name) => {
  const { args, env }: Step = STEPS[name]
  console.log(`=== ${name}`)
  return spawnSync(process.execPath, args, {
    cwd: ROOT, env: { ...process.env, ...env }, stdio: 'inherit'
  }).status !== 0
})
for (const name of failed) console.log(`FAILED: ${name}: run it alone by  npm run test:night -- ${name}`)
process.exit(failed.length === 0 ? 0 : 1)
