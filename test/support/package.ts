/** Installs the package as it would be published into an empty folder. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './markdown.ts'

/** Files that packing needs. They are copied, so that the `dist` of the working tree is not rebuilt. */
const PACKED = ['src', 'plugins', 'schemas', 'docs', 'examples', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md', 'CHANGELOG.md', 'LICENSE']

/** Prefix of commands that run without the hooks that tap puts into NODE_OPTIONS. */
export const WITHOUT_TAP = ['env', '-u', 'NODE_OPTIONS'] as const

/** Runs a program without tap's hooks and without the npm settings of an outer `npm test`. Returns its output. */
export async function call (cwd: string, ...command: string[]): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
  const [program, ...words] = WITHOUT_TAP
  const { stdout } = await promisify(execFile)(program, [...words, ...command], { cwd, env })
  return stdout
}

export interface Installed {
  /** The folder that contains the package and its dependencies only. */
  readonly folder: string
  /** Paths of the files in the package. */
  readonly files: string[]
  remove (): void
}

/** `others`: packages to install beside it. */
export async function installPackage (others: readonly string[] = []): Promise<Installed> {
  const work = mkdtempSync(join(tmpdir(), 'row-query-'))
  const source = join(work, 'source')
  const folder = join(work, 'installed')
  for (const path of PACKED) cpSync(join(ROOT, path), join(source, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const stdout = await call(source, 'npm', 'pack', '--json', '--pack-destination', work)
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string, files: Array<{ path: string }> }]
  await call(folder, 'npm', 'install', join(work, filename), ...others, '--prefer-offline', '--no-audit', '--no-fund')
  return { folder, files: files.map(({ path }) => path), remove: () => rmSync(work, { recursive: true }) }
}

/** Names of the packages that are installed in a folder, with their scopes. */
export function installedIn (folder: string): string[] {
  const names = (path: string) => readdirSync(path).filter((name) => !name.startsWith('.'))
  const modules = join(folder, 'node_modules')
  return names(modules).flatMap((name) => name.startsWith('@') ? names(join(modules, name)).map((each) => `${name}/${each}`) : [name])
}
