/**
 * The tools of others that tests run: generators of clients, linters of documents and of the package, checks of pages.
 * They are many times as large as the development dependencies, so they have a package.json of their own, and are
 * installed when a test needs them first.
 *
 *     node test/clients/tools.ts     installs them
 */
import { createHash } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, makeOnce } from '../servers/folders.ts'
import { call } from '../support/package.ts'

const FILES = ['package.json', 'package-lock.json'] as const
/** As beside the packages of a reader: @hey-api/openapi-ts takes the extension of imports from the one above it. */
const TSCONFIG = '{ "compilerOptions": { "module": "nodenext", "moduleResolution": "nodenext" } }'
const require = createRequire(import.meta.url)

/** The folder with the `node_modules` of the tools. It is kept for as long as their lock file stays the same. */
export async function toolsFolder (): Promise<string> {
  const contents = [readFileSync(fromHere('package-lock.json')), TSCONFIG]
  const hash = contents.reduce((all, each) => all.update(each), createHash('sha256')).digest('hex').slice(0, 12)
  return await makeOnce(join(cacheFolder(), `client-tools-${hash}`), async (folder) => {
    writeFileSync(join(folder, 'tsconfig.json'), TSCONFIG)
    for (const file of FILES) copyFileSync(fromHere(file), join(folder, file))
    await call(folder, 'npm', 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund')
  })
}

/** Path of the file that a command of a package runs. `modules`: the `node_modules` that has the package. */
export function commandIn (modules: string, name: string, command: string): string {
  // a package need not export its package.json
  const path = join(modules, name, 'package.json')
  const { bin } = require(path) as { bin: string | Record<string, string> }
  return join(dirname(path), typeof bin === 'string' ? bin : bin[command] as string)
}

/** Path of the file that a command of one of the tools runs. */
export async function toolCommand (name: string, command: string): Promise<string> {
  return commandIn(join(await toolsFolder(), 'node_modules'), name, command)
}

function fromHere (file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await toolsFolder()
