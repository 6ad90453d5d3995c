import { cpSync, constants, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, makeOnce } from './folders.ts'
import { run } from './shell.ts'
import type { Program } from './program.ts'
import type { User } from './user.ts'

/**
 * Makes the data folder of a new server: `root` without a password and nothing else. The result is
 * kept, and the next run copies it, which takes a tenth of the time.
 */
export async function makeData (program: Program, user: User, data: string): Promise<void> {
  const template = join(cacheFolder(), 'servers', program.kind, `data-${program.version}`)
  if (existsSync(template)) {
    copy(template, data)
    await own(user, data)
    return
  }
  mkdirSync(data)
  await own(user, data)
  await (program.kind === 'mariadb' ? bootstrapMariadb : initializeMysql)(program, user, data)
  await makeOnce(template, (temporary) => copy(data, temporary))
}

/** What `mariadb-install-db` does, which itself runs only where the package is installed. */
async function bootstrapMariadb (program: Program, user: User, data: string): Promise<void> {
  const sql = ['system_tables', 'performance_tables', 'system_tables_data'].map((name) => {
    const files = ['mysql', 'mariadb'].map((prefix) => join(program.share, `${prefix}_${name}.sql`))
    return readFileSync(files.find((file) => existsSync(file)) ?? files[0] ?? '', 'utf8')
  })
  const functions = readFileSync(join(program.share, 'maria_add_gis_sp_bootstrap.sql'), 'utf8')
  const start = [
    'create database mysql;', 'use mysql;', 'set @auth_root_socket=NULL;', 'set @skip_auth_anonymous=1;', ''
  ]
  await run([...words(program, user, data), '--innodb-log-file-size=32M', '--bootstrap', '--log-warnings=0'],
    { env: program.env, input: start.join('\n') + [...sql, functions].join('\n') })
}

async function initializeMysql (program: Program, user: User, data: string): Promise<void> {
  await run([...words(program, user, data), '--loose-innodb-redo-log-capacity=32M', '--initialize-insecure'], {
    env: program.env
  })
}

/** The words with which a program is started on a data folder, whatever it then does. */
export function words (program: Program, user: User, data: string): string[] {
  return [...user.before, ...program.words, '--no-defaults', ...program.options, ...user.options, `--datadir=${data}`]
}

function copy (from: string, to: string): void {
  cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE })
}

async function own (user: User, folder: string): Promise<void> {
  if (user.uid !== undefined) await run(['chown', '-R', `${user.uid}:${user.uid}`, folder])
}
