/** Three MariaDB servers that form a Galera cluster, on the loopback interface. */
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeData, words } from '../servers/data.ts'
import { temporaryFolder } from '../servers/folders.ts'
import { DURABLE } from '../servers/own.ts'
import { unpackedPackage } from '../servers/packages.ts'
import { createServerProcess } from '../servers/processes.ts'
import { programOnPath, unpackedProgram, type Program } from '../servers/program.ts'
import { run } from '../servers/shell.ts'
import { freePort } from '../servers/free-port.ts'
import { settings } from '../servers/start.ts'
import { userFor, type User } from '../servers/user.ts'
import { until } from '../support/until.ts'
import { sqlOn } from './service.ts'
import type { Cluster, Node } from './cluster.ts'
import type { Network } from './network.ts'

/**
 * How fast the others notice that one is gone: when all of them have missed it for a second, and not for the five that
 * Galera would take. One that misses another alone waits longer: on a machine that does much else, two that miss each
 * other for a moment would both be left without a majority for good.
 */
const TIMES =
  'evs.keepalive_period=PT0.2S;evs.inactive_check_period=PT0.2S;evs.suspect_timeout=PT1S;evs.inactive_timeout=PT5S;ev' +
    's.install_timeout=PT5S'
const LIBRARY = '/usr/lib/galera/libgalera_smm.so'

/** `increment` and `state`: where a node is given what it lacks, or everything. */
interface Ports { readonly sql: number, readonly group: number, readonly increment: number, readonly state: number }

interface Place extends Galera {
  readonly user: User, readonly folder: string, readonly ports: readonly Ports[], readonly network: Network | undefined
}

/** What it takes: the server with Galera's library, and the programs by which one node is given what it lacks. */
export interface Galera { readonly program: Program, readonly provider: string }

/** @throws where this system and its packages have none */
export async function findGalera (): Promise<Galera> {
  if (existsSync(LIBRARY)) return { program: await programOnPath({ kind: 'mariadb' }), provider: LIBRARY }
  const root = await unpackedPackage('mariadb-server')
  const program = await unpackedProgram('mariadb', root)
  return {
    program: { ...program, env: { ...program.env, PATH: `${root}/usr/bin:${process.env['PATH']}` } },
    provider: join(root, LIBRARY)
  }
}

/** `network`: the machines of the nodes, which are this one otherwise. */
export async function startGalera (found: Galera, network?: Network): Promise<Cluster> {
  const folder = temporaryFolder(join(tmpdir(), 'row-query'))
  chmodSync(folder.path, 0o711) // as in start.ts
  const user = userFor(found.program, folder.path)
  const ports = await Promise.all([1, 2, 3].map(async (): Promise<Ports> =>
    ({ sql: await freePort(), group: await freePort(), increment: await freePort(), state: await freePort() })))
  const place = { ...found, user, folder: folder.path, ports, network }
  const nodes = ports.map((_, index) => createNode(place, index))
  const [first, ...others] = nodes as [Node, ...Node[]]
  await makeEqualData(place, first)
  await first.start(['--wsrep-new-cluster'])
  for (const node of others) await node.start()
  return {
    nodes,
    part: network?.part,
    remove () {
      for (const node of nodes) node.remove()
      folder.remove()
    }
  }
}

const dataOf = ({ folder }: Place, index: number): string => join(folder, `n${index}`)
const addressOf = ({ network }: Place, index: number): string => network?.address(index) ?? '127.0.0.1'

function createNode (place: Place, index: number): Node {
  const data = dataOf(place, index)
  const url =
    `mysql://root@127.0.0.1:${place.ports[index]?.sql}` +
      `${place.network === undefined ? '' : `?socketPath=${join(data, 's')}`}`
  const log = join(data, 'log.err')
  const [base, command] = commandsOf(place, index)
  const { env } = place.program
  const server = createServerProcess({ url, data, log, env })
  const status = async (name: string): Promise<string
    | undefined> => (await sqlOn(url, '')(`show status like '${name}'`).catch(() => []))[0]?.Value
  // until then it refuses every statement
  const isSynced = async (): Promise<boolean> => await status('wsrep_local_state_comment') === 'Synced'
  const isWhole = async (): Promise<boolean> => Number(await status('wsrep_cluster_size')) === place.ports.length
  const start = async (more: string[] = []): Promise<void> => {
    await server.start([...base, ...command, `--log-error=${log}`, ...more])
    await until('the node is in the cluster', isSynced, 60)
  }
  /** Where a node that was killed had come to, as InnoDB knows. */
  const position = async (): Promise<string> => {
    const report = join(data, 'recover.log')
    await run([...base, '--wsrep-recover', '--wsrep-cluster-address=gcomm://', `--log-error=${report}`], { env }).catch(
      () => {}
    )
    return [...readFileSync(report, 'utf8').matchAll(/Recovered position: (\S+)/g)].at(-1)?.[1] as string
  }
  return {
    ...server,
    url,
    start,
    async rejoin () {
      await start([`--wsrep-start-position=${await position()}`])
      await until('the cluster is whole', isWhole, 60)
    },
    async recover () {
      await until(
        'the node is in the cluster, and the cluster whole', async () => await isSynced() && await isWhole(), 60
      )
    }
  }
}

/** What each start says, and what only one into the cluster does. */
function commandsOf (place: Place, index: number): [string[], string[]] {
  const { program, provider, ports, network } = place
  const user = network?.userOn(index, place.user) ?? place.user
  const address = addressOf(place, index)
  const { sql, group, increment, state } = ports[index] as Ports
  const data = dataOf(place, index)
  const members = ports.map(({ group }, index) => `${addressOf(place, index)}:${group}`).join()
  return [[
    ...words(program, user, data), ...settings('mariadb'), ...DURABLE, '--innodb-autoinc-lock-mode=2',
    '--binlog-format=ROW',
    '--bind-address=127.0.0.1', `--port=${sql}`, `--socket=${join(data, 's')}`, `--pid-file=${join(data, 'pid')}`,
    // a conflict is to be seen, and not tried again in silence
    '--wsrep-on=ON', `--wsrep-provider=${provider}`, '--wsrep-retry-autocommit=0'
  ], [
    '--wsrep-cluster-name=t', `--wsrep-node-name=n${index}`, `--wsrep-node-address=${address}`,
    `--wsrep-cluster-address=gcomm://${members}`,
    '--wsrep-sst-method=rsync', `--wsrep-sst-receive-address=${address}:${state}`,
    `--wsrep-provider-options=gmcast.listen_addr=tcp://${address}:${group};ist.recv_addr=${address}:` +
      `${increment};gcache.size=32M;${TIMES}`
  ]]
}

/** All begin at the same position, so that none has to be given everything by another. */
async function makeEqualData (place: Place, first: Node): Promise<void> {
  const { program, user } = place
  const data = dataOf(place, 0)
  await makeData(program, user, data)
  await first.start(['--wsrep-new-cluster'])
  await first.end()
  for (const file of ['galera.cache', 'gvwstate.dat', 's', 'pid', 'log.err']) rmSync(join(data, file), { force: true })
  for (const copy of [1, 2].map((index) => dataOf(place, index))) {
    cpSync(data, copy, { recursive: true })
    const state = join(copy, 'grastate.dat')
    writeFileSync(state, readFileSync(state, 'utf8').replace('safe_to_bootstrap: 1', 'safe_to_bootstrap: 0'))
    if (user.uid !== undefined) await run(['chown', '-R', `${user.uid}:${user.uid}`, copy])
  }
  // rsync, by which a node is told that it lacks nothing more, writes as `nobody` where root starts it
  if (user.options.includes('--user=root')) for (const index of [0, 1, 2]) chmodSync(dataOf(place, index), 0o777)
}
