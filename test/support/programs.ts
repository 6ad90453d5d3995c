/** Programs of users: generated, compiled under `strict` and run. */
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { ROOT } from './markdown.ts'
import { call } from './package.ts'

const require = createRequire(import.meta.url)

/** Runs a program of a package and returns its standard output. @throws with its output if it fails */
async function runProgram (folder: string, file: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return await call(folder, ...settings, process.execPath, file, ...args)
    .catch((error: { stdout: string, stderr: string }) => { throw new Error(error.stdout + error.stderr) })
}

/** Path of the file that a command of a package runs. */
function commandOf (name: string, command: string): string {
  // a package need not export its package.json
  const path = join(ROOT, 'node_modules', name, 'package.json')
  const { bin } = require(path) as { bin: string | Record<string, string> }
  return join(dirname(path), typeof bin === 'string' ? bin : bin[command] as string)
}

export interface Workshop {
  /** Runs a command of an installed package, such as a generator. */
  run (name: string, command: string, ...args: string[]): Promise<string>
  /** Copies a program of test/clients/programs/ here. */
  add (program: string): void
  write (file: string, text: string): void
  remove (file: string): void
  /** Compiles everything under `strict` and returns the output of the compiler. */
  compile (how?: { emit: boolean }): Promise<string>
  /** Runs a compiled program. */
  start (program: string, env: Record<string, string>): Promise<string>
}

const strict = { strict: true, noUncheckedIndexedAccess: true, skipLibCheck: true, target: 'es2024', module: 'nodenext', types: ['node'] }

/** Creates a folder with the packages of this project, in which `fastify-row-query` is the source. */
export function createWorkshop (t: Test): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  write('package.json', '{ "type": "module" }')
  return {
    run: (name, command, ...args) => runProgram(folder, commandOf(name, command), args),
    add: (program) => copyFileSync(join(ROOT, 'test/clients/programs', program), join(folder, program)),
    write,
    remove: (file) => rmSync(join(folder, file)),
    async compile ({ emit } = { emit: true }) {
      const how = emit ? { outDir: 'out' } : { noEmit: true, rootDir: '/' }
      const compilerOptions = { ...strict, ...how, noEmitOnError: true, rewriteRelativeImportExtensions: true, paths: { 'fastify-row-query': [join(ROOT, 'src/index.ts')], 'fastify-row-query/client': [join(ROOT, 'src/client/index.ts')] } }
      write('tsconfig.json', JSON.stringify({ compilerOptions, exclude: ['out', 'node_modules'] }))
      return await runProgram(folder, commandOf('@typescript/native', 'tsc'), []).catch((error: Error) => error.message)
    },
    start: (program, env) => runProgram(folder, join(folder, 'out', program.replace(/\.ts$/, '.js')), [], env)
  }
}
