import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, makeOnce, temporaryFolder } from './folders.ts'
import { unpackedProgram, type Program, type Wish } from './program.ts'
import { run } from './shell.ts'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** How the message begins where the package, or one that it depends on, is missing from the archive. */
export const NOT_PROVIDED = 'the archive does not provide'

/** Perl serves only the scripts of the packages, which are never run. */
const NEVER_NEEDED = /^(perl|libperl|gcc-.*-base)/

/**
 * The server out of the packages of Debian or Ubuntu, unpacked into the project's cache: nothing is
 * installed, no file of the system changes, root is not needed. apt checks the signatures.
 */
export async function programFromPackages ({ kind }: Wish): Promise<Program> {
  const root = await makeOnce(join(cacheFolder(), 'servers', kind, 'root'), async (temporary) => {
    const work = temporaryFolder(join(cacheFolder(), 'servers', kind, 'work'))
    await (kind === 'mariadb'
      ? unpackOwn(work.path, temporary, 'mariadb-server-core')
      : unpackMysql(work.path, temporary))
    work.remove()
    chmodSync(temporary, 0o755) // the server may run as another user
  })
  return await unpackedProgram(kind, root)
}

/** The folder of a package of the system's own suite, unpacked with what it needs and the system has not. */
export async function unpackedPackage (name: string): Promise<string> {
  return await makeOnce(join(cacheFolder(), 'servers', name, 'root'), async (temporary) => {
    const work = temporaryFolder(join(cacheFolder(), 'servers', name, 'work'))
    await unpackOwn(work.path, temporary, name)
    work.remove()
    chmodSync(temporary, 0o755)
  })
}

/**
 * A package of the system's own suite: with the system's package lists if they serve, else (there are
 * none, or they are out of date) with private ones.
 */
async function unpackOwn (work: string, root: string, name: string): Promise<void> {
  try {
    await unpack(work, root, name, {})
  } catch {
    const again = join(work, 'again') // apart from what the first attempt may have downloaded
    mkdirSync(again)
    await updateAndUnpack(again, root, name, {})
  }
}

/**
 * Only Debian's unstable suite has MySQL. As the system is seldom that new, every dependency down to
 * libc comes along: an empty dpkg status makes apt believe that nothing is installed.
 */
async function unpackMysql (work: string, root: string): Promise<void> {
  const source = join(work, 'sid.list')
  writeFileSync(source, `deb [signed-by=${await debianKeyring(work)}] ${await debianMirror()} sid main\n`)
  writeFileSync(join(work, 'status'), '')
  await updateAndUnpack(work, root, 'mysql-server-core', {
    'Dir::Etc::sourcelist': source,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Dir::State::status': join(work, 'status'),
    'Dir::State::extended_states': join(work, 'extended'),
    'APT::Default-Release': ''
  })
}

type Settings = Record<string, string>

/** Downloads a package with the dependencies that are not installed, and unpacks them. */
async function unpack (work: string, root: string, name: string, settings: Settings): Promise<void> {
  const plan = await apt(work, ['-s', 'install', '--no-install-recommends', name], settings).catch(
    (error: Error) => { throw new Error(`${NOT_PROVIDED} ${name}: ${error.message}`) }
  )
  const names = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, found = '']) => found).filter(
    (found) => !NEVER_NEEDED.test(found)
  )
  await apt(work, ['download', ...new Set([name, ...names])], settings)
  for (const file of readdirSync(work)) {
    if (file.endsWith('.deb')) await run(['dpkg', '-x', join(work, file), root])
  }
}

/**
 * Fills private lists and unpacks. A source that fails does not matter unless the package was there: then it is the
 * reason.
 */
async function updateAndUnpack (work: string, root: string, name: string, settings: Settings): Promise<void> {
  const lists = { ...settings, 'Dir::State::Lists': join(work, 'lists') }
  mkdirSync(join(work, 'lists/partial'), { recursive: true })
  const failure = await apt(work, ['update'], { ...lists, 'APT::Update::Error-Mode': 'any' }).then(
    () => undefined, (error: Error) => error
  )
  await unpack(work, root, name, lists).catch((error: Error) => { throw failure ?? error })
}

/** apt with a private cache, no locks, and without the hooks with which a system reacts to `apt-get update`. */
async function apt (work: string, words: string[], settings: Settings): Promise<string> {
  mkdirSync(join(work, 'cache/archives/partial'), { recursive: true })
  const all: Settings = {
    'Dir::Cache': join(work, 'cache'),
    'Debug::NoLocking': '1',
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    ...settings
  }
  const hooks = ['Pre-Invoke', 'Post-Invoke', 'Post-Invoke-Success'].map((name) => `#clear APT::Update::${name};\n`)
  writeFileSync(join(work, 'apt.conf'), hooks.join('') +
    Object.entries(all).map(([key, value]) => `${key} "${value}";\n`).join(''))
  return await run(['apt-get', '-q', '-c', join(work, 'apt.conf'), ...words], { cwd: work })
}

/** The mirror that this system already uses, if it is a Debian. */
async function debianMirror (): Promise<string> {
  const sources = await run(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'])
  return sources.split('\n').find((uri) => /\/debian\/?$/.test(uri)) ?? 'http://deb.debian.org/debian'
}

/** Debian's keys: of the system, or (Ubuntu) out of the package that has them there. */
async function debianKeyring (work: string): Promise<string> {
  if (existsSync(KEYRING)) return KEYRING
  const folder = join(work, 'keyring')
  mkdirSync(folder)
  await unpackOwn(folder, join(folder, 'root'), 'debian-archive-keyring')
  return join(folder, 'root', KEYRING)
}
