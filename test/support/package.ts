/** The package as it would be published, in a folder where nothing else is installed. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './markdown.ts'

/** What packing needs. It is copied, so that nobody's `dist` is built anew under their hands. */
const PACKED = ['src', 'plugins', 'schemas', 'docs', 'examples', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md', 'CHANGELOG.md', 'LICENSE']

/** What a command begins with that shall run as it does outside of tap, which puts hooks into the NODE_OPTIONS of every process. */
export const WITHOUT_TAP = ['env', '-u', 'NODE_OPTIONS'] as const

/** Runs a program as a command line would: without tap, and without the settings by which an outer `npm test` would direct npm. */
export async function call (cwd: string, ...command: string[]): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
  const [program, ...words] = WITHOUT_TAP
  const { stdout } = await promisify(execFile)(program, [...words, ...command], { cwd, env })
  return stdout
}

export interface Installed {
  /** Where the package is installed, and nothing else but what it depends on. */
  readonly folder: string
  /** Paths of the files in the package. */
  readonly files: string[]
  remove (): void
}

/** `others`: what is installed with it. */
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

/** Names of what is installed in a folder, scopes included. */
export function installedIn (folder: string): string[] {
  const names = (path: string) => readdirSync(path).filter((name) => !name.startsWith('.'))
  const modules = join(folder, 'node_modules')
  return names(modules).flatMap((name) => name.startsWith('@') ? names(join(modules, name)).map((each) => `${name}/${each}`) : [name])
}
