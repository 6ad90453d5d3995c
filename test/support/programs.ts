/** Programs of users: generated, compiled under `strict` and run. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { commandIn, toolCommand, toolsFolder } from '../clients/tools.ts'
import { ROOT } from './markdown.ts'
import { call } from './package.ts'

/** Runs a program of a package and returns its standard output. @throws with its output if it fails */
async function runProgram (
  folder: string, file: string, args: string[], env: Record<string, string> = {}
): Promise<string> {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return await call(folder, ...settings, process.execPath, file, ...args)
    .catch((error: { stdout: string, stderr: string }) => { throw new Error(error.stdout + error.stderr) })
}

export interface Workshop {
  /** Runs a command of one of the tools (test/clients/tools.ts), such as a generator. */
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

const strict = {
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  target: 'es2024',
  module: 'nodenext',
  types: ['node']
}

/** Creates a folder with the packages of this project, in which `fastify-row-query` is the source. */
export function createWorkshop (t: Test): Workshop {
  const above = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(above, { recursive: true }))
  const folder = join(above, 'programs')
  mkdirSync(folder)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  // what this folder lacks is looked up in the one above: generated clients need packages of their generators
  const addTools = async (): Promise<void> => {
    if (!existsSync(join(above, 'node_modules'))) {
      symlinkSync(join(await toolsFolder(), 'node_modules'), join(above, 'node_modules'))
    }
  }
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  write('package.json', '{ "type": "module" }')
  return {
    run: async (name, command, ...args) => {
      await addTools()
      return await runProgram(folder, await toolCommand(name, command), args)
    },
    add: (program) => copyFileSync(join(ROOT, 'test/clients/programs', program), join(folder, program)),
    write,
    remove: (file) => rmSync(join(folder, file)),
    async compile ({ emit } = { emit: true }) {
      const how = emit ? { outDir: 'out' } : { noEmit: true, rootDir: '/' }
      const compilerOptions = {
        ...strict,
        ...how,
        noEmitOnError: true,
        rewriteRelativeImportExtensions: true,
        paths: {
          'fastify-row-query': [join(ROOT, 'src/index.ts')],
          'fastify-row-query/client': [join(ROOT, 'src/client/index.ts')]
        }
      }
      write('tsconfig.json', JSON.stringify({ compilerOptions, exclude: ['out', 'node_modules'] }))
      return await runProgram(folder, commandIn(join(ROOT, 'node_modules'), '@typescript/native', 'tsc'), []).catch(
        (error: Error) => error.message
      )
    },
    start: (program, env) => runProgram(folder, join(folder, 'out', program.replace(/\.ts$/, '.js')), [], env)
  }
}
