import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { makeData, words } from './data.ts'
import { dataFolder, temporaryFolder } from './folders.ts'
import { programFromPackages } from './packages.ts'
import { createServerProcess, type ServerProcess } from './processes.ts'
import { programOnPath, type Kind, type Program } from './program.ts'
import { freePort } from './free-port.ts'
import { settings } from './start.ts'
import { userFor } from './user.ts'

/** A server of a test's own, which is always on the same port and has the same data. */
export interface OwnServer extends Omit<ServerProcess, 'start'> {
  readonly kind: Kind
  /** With `root`, who has no password. */
  readonly url: string
  start (more?: string[]): Promise<void>
}

/**
 * Every answer of a server that is killed must have been kept: what was committed is with the system, if not on the
 * disk.
 */
export const DURABLE = ['--innodb-flush-log-at-trx-commit=2', '--innodb-doublewrite=ON']

export async function findProgram (kind: Kind): Promise<Program> {
  return await programOnPath({ kind }).catch(() => programFromPackages({ kind }))
}

/** Makes the data and starts it; `options` are the server's own. */
export async function startOwnServer (kind: Kind, options: string[] = []): Promise<OwnServer> {
  const program = await findProgram(kind)
  const folder = temporaryFolder(join(dataFolder(), 'row-query'))
  chmodSync(folder.path, 0o711) // as in start.ts
  const data = join(folder.path, 'data')
  const user = userFor(program, folder.path)
  await makeData(program, user, data)
  const port = await freePort()
  const url = `mysql://root@127.0.0.1:${port}`
  const log = join(data, 'log.err')
  const command = [...words(program, user, data), ...settings(kind), ...(kind === 'mysql'
    ? ['--secure-file-priv=NULL']
    : []), ...DURABLE, ...options,
    `--tmpdir=${data}`, '--bind-address=127.0.0.1', `--port=${port}`, `--socket=${join(data, 's')}`,
    `--pid-file=${join(data, 'pid')}`, `--log-error=${log}`]
  const process = createServerProcess({ url, data, log, env: program.env })
  const server: OwnServer = {
    ...process,
    kind,
    url,
    start: (more = []) => process.start([...command, ...more]),
    remove () {
      process.remove()
      folder.remove()
    }
  }
  await server.start()
  return server
}
