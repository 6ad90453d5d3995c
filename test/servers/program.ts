import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { run } from './shell.ts'

export type Kind = 'mariadb' | 'mysql'

/** What a test run asks for: a kind of server, perhaps of a minimal version ("9.7"). */
export interface Wish { kind: Kind, atLeast?: string }

/** A server program on this machine, and what must be said to start it. */
export interface Program {
  kind: Kind
  version: string
  /** The words that start it: the file, or a loader and the file. */
  words: string[]
  env: Record<string, string>
  /** Options that say where its own files are. */
  options: string[]
  /** The folder of its messages, character sets and SQL files. */
  share: string
}

/** The server program of that kind on the PATH. `mysqld` may well be MariaDB's: the program itself is asked. */
export async function programOnPath (wish: Wish, path = process.env.PATH ?? ''): Promise<Program> {
  const seen: string[] = []
  for (const name of wish.kind === 'mariadb' ? ['mariadbd', 'mysqld'] : ['mysqld']) {
    const file = path.split(delimiter).map((folder) => join(folder, name)).find(isExecutable)
    if (file === undefined) continue
    const found = await identify([file])
    if (found.kind === wish.kind && isAtLeast(found.version, wish.atLeast)) {
      return { ...found, words: [file], env: {}, options: [], share: shareFolder(dirname(dirname(realpathSync(file)))) }
    }
    seen.push(`${file} is ${found.kind} ${found.version}`)
  }
  throw new Error(seen.join(', ') || 'no server program on the PATH')
}

/**
 * The server program in a folder of unpacked packages. If its libc was unpacked with it, it must be
 * started through the loader of that same libc: the system's libc may be older than the program.
 */
export async function unpackedProgram (kind: Kind, root: string): Promise<Program> {
  const file = join(root, 'usr/sbin', kind === 'mariadb' ? 'mariadbd' : 'mysqld')
  const folders = libraryFolders(root)
  const libraries = folders.join(':')
  const loader = folders.flatMap((folder) =>
    readdirSync(folder).filter((name) => /^ld-linux.*\.so\.\d$/.test(name)).map((name) => join(folder, name)))[0]
  const words = loader === undefined ? [file] : [loader, '--library-path', libraries, '--argv0', file, file]
  const env: Record<string, string> = loader === undefined ? { LD_LIBRARY_PATH: libraries } : {}
  const share = shareFolder(join(root, 'usr'))
  return {
    ...await identify(words, env),
    words,
    env,
    options: [
      `--basedir=${join(root, 'usr')}`, `--lc-messages-dir=${share}`, `--character-sets-dir=${join(share, 'charsets')}`,
      `--plugin-dir=${join(root, 'usr/lib/mysql/plugin')}`
    ],
    share
  }
}

/** The folders of libraries in a folder of unpacked packages. */
export const libraryFolders = (root: string): string[] => ['usr/lib', 'lib'].map((name) => join(root, name)).filter(
  (folder) => existsSync(folder)
)
  .flatMap(
    (folder) => readdirSync(folder).filter((name) => name.endsWith('-linux-gnu')).map((name) => join(folder, name))
  )

async function identify (words: string[], env: Record<string, string> = {}): Promise<{ kind: Kind, version: string }> {
  const said = await run([...words, '--no-defaults', '--version'], { env, seconds: 20 })
  const version = /\bVer (\S+)/.exec(said)?.[1]
  if (version === undefined) throw new Error(`${words.at(-1)} does not say its version`)
  return { kind: /mariadb/i.test(said) ? 'mariadb' : 'mysql', version }
}

/** Whether version "9.7.4-2" is at least "9.7". */
export function isAtLeast (version: string, least = '0'): boolean {
  const parts = version.split(/\D/).map(Number)
  for (const [index, part] of least.split('.').map(Number).entries()) {
    if (parts[index] !== part) return (parts[index] ?? 0) > part
  }
  return true
}

function shareFolder (base: string): string {
  const folders = ['share/mysql', 'share/mariadb', 'share'].map((name) => join(base, name))
  return folders.find((folder) => existsSync(join(folder, 'charsets'))) ?? join(base, 'share')
}

function isExecutable (file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
