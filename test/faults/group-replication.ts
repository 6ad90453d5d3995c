/** Three MySQL servers in Group Replication, each of which takes writes, on the loopback interface. */
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeData, words } from '../servers/data.ts'
import { temporaryFolder } from '../servers/folders.ts'
import { DURABLE } from '../servers/own.ts'
import { createServerProcess } from '../servers/processes.ts'
import type { Program } from '../servers/program.ts'
import { run } from '../servers/shell.ts'
import { freePort } from '../servers/free-port.ts'
import { settings } from '../servers/start.ts'
import { userFor, type User } from '../servers/user.ts'
import { until } from '../support/until.ts'
import type { Cluster, Node } from './cluster.ts'
import type { Network } from './network.ts'
import { sqlOn } from './service.ts'

const GROUP = 'b1a5f2de-5d3c-4b8e-9a57-000000003410'
/** What the servers of other tests do without. */
const NEEDED = ['--skip-log-bin', '--performance-schema=OFF']

/** How one node gets what it lacks from another. No node is to send this to the others: `sql_log_bin` is off. */
const RECOVERY = [
  "create user rpl@'%' identified by 'rplpw'",
  "grant replication slave, connection_admin, backup_admin, group_replication_stream on *.* to rpl@'%'",
  "change replication source to source_user = 'rpl', source_password = 'rplpw' for channel 'group_replication_recovery'"
]
const MEMBERS = 'select count(*) as count from performance_schema.replication_group_members where ' +
  "MEMBER_STATE = 'ONLINE'"
const OWN_STATE = 'select MEMBER_STATE as state from performance_schema.replication_group_members where ' +
  'MEMBER_ID = @@server_uuid'
const IS_MEMBER = 'select 1 from performance_schema.replication_group_members where MEMBER_PORT = ?'

/**
 * How much longer than five seconds the others wait for a node that is cut off, and how long it waits for them, in
 * seconds. On a machine that does much else, nodes that miss each other for a moment would let each other go, and the
 * next failure would end the group.
 */
const PATIENT = 5
const UNREACHABLE = 60
/** How long the group may take to let a node go, or in, in seconds. */
const PATIENCE = 90

interface Place {
  readonly program: Program,
  readonly user: User,
  readonly folder: string,
  readonly ports: readonly number[],
  readonly network: Network | undefined
}

/** `network`: the machines of the nodes, which are this one otherwise. */
export async function startGroupReplication (program: Program, network?: Network): Promise<Cluster> {
  const folder = temporaryFolder(join(tmpdir(), 'row-query'))
  chmodSync(folder.path, 0o711) // as in start.ts
  const user = userFor(program, folder.path)
  const place = { program, user, folder: folder.path, ports: await Promise.all([1, 2, 3].map(freePort)), network }
  const nodes = place.ports.map((_, index) => createNode(place, index))
  await makeEqualData(place)
  await Promise.all(nodes.map(async (node) => {
    await node.start()
    for (const statement of RECOVERY) await sqlOn(node.url, '', 'set sql_log_bin = 0')(statement)
  }))
  await formGroup(nodes)
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
const urlOf = (place: Place, index: number): string =>
  `mysql://root@127.0.0.1:${place.ports[index]}` +
    `${place.network === undefined ? '' : `?socketPath=${join(dataOf(place, index), 's')}`}`

function createNode (place: Place, index: number): Node {
  const { program: { env }, ports } = place
  const data = dataOf(place, index)
  const url = urlOf(place, index)
  const log = join(data, 'log.err')
  const server = createServerProcess({ url, data, log, env })
  const sql = sqlOn(url, '')
  const neighbour = sqlOn(urlOf(place, (index + 1) % ports.length), '')
  const isOnline = async (): Promise<boolean> => (await sql(OWN_STATE))[0]?.state === 'ONLINE'
  const start = async (): Promise<void> => await server.start([...commandOf(place, index), `--log-error=${log}`])
  return {
    ...server,
    url,
    start,
    async rejoin () {
      await start()
      // while the others still wait for the one that was killed they would refuse it
      await until(
        'the others have let it go', async () => (await neighbour(IS_MEMBER, [ports[index]])).length === 0, PATIENCE
      )
      await sql('start group_replication')
      await until('the node is in the group', isOnline, PATIENCE)
    },
    async recover () {
      // it learns from the others that they have let it go, if they have
      await until('the node takes part, or has given up', async () => {
        if (await isOnline()) return (await neighbour(MEMBERS))[0].count === ports.length
        await sql('stop group_replication')
        await sql('set global offline_mode = off')
        await sql('start group_replication').catch(() => {})
        return false
      }, PATIENCE)
    }
  }
}

function commandOf (place: Place, index: number): string[] {
  const { program, ports, network } = place
  const user = network?.userOn(index, place.user) ?? place.user
  const data = dataOf(place, index)
  const address = addressOf(place, index)
  const port = ports[index]
  const members = ports.map((port, index) => `${addressOf(place, index)}:${port}`).join()
  return [
    ...words(program, user, data), ...settings('mysql').filter((option) => !NEEDED.includes(option)), ...DURABLE,
    '--secure-file-priv=NULL',
    `--bind-address=${address}`, `--port=${port}`, `--socket=${join(data, 's')}`, `--pid-file=${join(data, 'pid')}`,
    `--server-id=${index + 1}`, '--log-bin=binlog', '--gtid-mode=ON', '--enforce-gtid-consistency=ON',
    `--report-host=${address}`, `--report-port=${port}`, '--plugin-load-add=group_replication.so',
    `--group-replication-group-name=${GROUP}`,
    // the group's own protocol would listen on every interface
    '--group-replication-communication-stack=MYSQL', `--group-replication-local-address=${address}:${port}`,
    `--group-replication-group-seeds=${members}`, '--group-replication-start-on-boot=OFF',
    '--group-replication-single-primary-mode=OFF',
    '--group-replication-enforce-update-everywhere-checks=ON', '--group-replication-recovery-get-public-key=ON',
    `--group-replication-member-expel-timeout=${network === undefined ? 0 : PATIENT}`,
    // a member without the majority would answer old rows, and keep writes waiting, for ever, and after its time while
    // it tries to rejoin
    `--group-replication-unreachable-majority-timeout=${UNREACHABLE}`, '--group-replication-autorejoin-tries=0',
    '--group-replication-exit-state-action=OFFLINE_MODE'
  ]
}

async function makeEqualData (place: Place): Promise<void> {
  const { program, user } = place
  const data = dataOf(place, 0)
  await makeData(program, user, data)
  rmSync(join(data, 'auto.cnf'), { force: true }) // each is to have an identity of its own
  for (const copy of [1, 2].map((index) => dataOf(place, index))) {
    cpSync(data, copy, { recursive: true })
    if (user.uid !== undefined) await run(['chown', '-R', `${user.uid}:${user.uid}`, copy])
  }
}

async function formGroup ([first, ...others]: Node[]): Promise<void> {
  const sql = sqlOn((first as Node).url, '')
  await sql('set global group_replication_bootstrap_group = ON')
  await sql('start group_replication')
  await sql('set global group_replication_bootstrap_group = OFF')
  for (const { url } of others) await sqlOn(url, '')('start group_replication')
  await until('all three are in the group', async () => (await sql(MEMBERS))[0].count === 3, PATIENCE)
}
