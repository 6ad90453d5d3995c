import { execFileSync } from 'node:child_process'
import { untilItAnswers, type Server } from './answer.ts'
import { atExit } from './at-exit.ts'
import { run } from './shell.ts'
import { settings } from './start.ts'
import type { Wish } from './program.ts'

const IMAGES = { mariadb: 'mariadb:lts', mysql: 'mysql:9.7' }

/** A container whose port is published on the loopback interface only, and which is removed when it stops. */
export async function startContainer ({ kind }: Wish): Promise<Server> {
  // the client alone answers happily: what counts is the daemon
  await run(['docker', 'version', '--format', '{{.Server.Version}}'], { seconds: 15 })
  const id = (await run(['docker', 'run', '--detach', '--rm', '--publish', '127.0.0.1::3306',
    '--env', 'MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1', '--env', 'MYSQL_ALLOW_EMPTY_PASSWORD=1',
    IMAGES[kind], ...settings(kind)], { seconds: 600 })).trim()
  const stop = atExit(() => { execFileSync('docker', ['rm', '--force', id], { stdio: 'ignore' }) })
  try {
    const address = (await run(['docker', 'port', id, '3306/tcp'])).trim()
    return { engine: await untilItAnswers(`mysql://root@${address}`, 120), from: `Docker's ${IMAGES[kind]}`, stop }
  } catch (error) {
    stop()
    throw error
  }
}
