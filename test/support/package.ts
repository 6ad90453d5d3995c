/** Packs the package as it would be published, and installs it into empty folders. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { ROOT } from './markdown.ts'

/** Files that packing needs. They are copied, so that the `dist` of the working tree is not rebuilt. */
const PACKED = [
  'src', 'plugins', 'schemas', 'build', 'page', 'docs', 'examples', 'package.json', 'tsconfig.json',
  'tsconfig.build.json', 'README.md', 'CHANGELOG.md', 'LICENSE'
]

/** Prefix of commands that run without the hooks that tap puts into NODE_OPTIONS. */
export const WITHOUT_TAP = ['env', '-u', 'NODE_OPTIONS'] as const

/** Runs a program without tap's hooks and without the npm settings of an outer `npm test`. Returns its output. */
export async function call (cwd: string, ...command: string[]): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
  // npm of the project's Node trusts the certificates of the machine, as that of the system does: some networks have a
  // proxy with one of its own
  env['NODE_USE_SYSTEM_CA'] = '1'
  const [program, ...words] = WITHOUT_TAP
  const { stdout } = await promisify(execFile)(program, [...words, ...command], { cwd, env })
  return stdout
}

export interface Packed {
  readonly tarball: string
  /** Paths of the files in the package. */
  readonly files: string[]
}

/** A folder that is removed at the end of the test. */
export function createFolder (t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Builds and packs the package. */
export async function pack (t: Pick<Test, 'teardown'>): Promise<Packed> {
  const work = createFolder(t)
  const source = join(work, 'source')
  for (const path of PACKED) cpSync(join(ROOT, path), join(source, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  const stdout = await call(source, 'npm', 'pack', '--json', '--pack-destination', work)
  const [{ filename, files }] = JSON.parse(
    stdout.slice(stdout.indexOf('['))
  ) as [{ filename: string, files: Array<{ path: string }> }]
  return { tarball: join(work, filename), files: files.map(({ path }) => path) }
}

/** Installs a packed package into a new folder; `others`: packages to install beside it. */
export async function install (
  t: Pick<Test, 'teardown'>, tarball: string, others: readonly string[] = []
): Promise<string> {
  const folder = createFolder(t)
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await call(folder, 'npm', 'install', tarball, ...others, '--prefer-offline', '--no-audit', '--no-fund')
  return folder
}

/** Names of the packages that are installed in a folder, with their scopes. */
export function installedIn (folder: string): string[] {
  const names = (path: string) => readdirSync(path).filter((name) => !name.startsWith('.'))
  const modules = join(folder, 'node_modules')
  return names(modules).flatMap(
    (name) => name.startsWith('@') ? names(join(modules, name)).map((each) => `${name}/${each}`) : [name]
  )
}
