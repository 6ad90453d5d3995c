/**
 * What `npm test` runs: obtains the MySQL-protocol servers, then runs tap with them.
 *
 *     node test/run.ts [--all | --sqlite-only] [tap's arguments…]
 *
 * `--all`: MariaDB and MySQL, where otherwise one of them will do. `--sqlite-only`: no server at all.
 */
import { obtain } from './servers/obtain.ts'
import type { Server } from './servers/answer.ts'
import { endWithTap, runTap } from './tap.ts'

const OWN_OPTIONS = ['--all', '--sqlite-only']

async function serversFor (options: string[]): Promise<Server[]> {
  if (options.includes('--sqlite-only')) return []
  if (!options.includes('--all')) return [await obtain([{ kind: 'mariadb' }, { kind: 'mysql' }])]
  const [mariadb, mysql] = await Promise.allSettled([obtain([{ kind: 'mariadb' }]), obtain([{ kind: 'mysql', atLeast: '9.7' }])])
  if (mariadb.status === 'rejected') throw mariadb.reason
  if (mysql.status === 'fulfilled') return [mariadb.value, mysql.value]
  // it comes from an archive that changes by the day: a day without it is no failure of this project
  console.log(`# tests go on WITHOUT MySQL: ${(mysql.reason as Error).message}`)
  return [mariadb.value]
}

endWithTap()
const options = process.argv.slice(2).filter((argument) => OWN_OPTIONS.includes(argument))
const args = process.argv.slice(2).filter((argument) => !OWN_OPTIONS.includes(argument))
try {
  const servers = await serversFor(options)
  for (const { engine, from } of servers) console.log(`# ${engine.name} ${engine.version} on ${new URL(engine.url).host} (${from})`)
  // the servers and their data go when this process exits, whichever way it does
  process.exit(await runTap(args, { TEST_ENGINES: JSON.stringify(servers.map(({ engine }) => engine)) }))
} catch (error) {
  console.error(`npm test: ${(error as Error).message}`)
  process.exit(1)
}
