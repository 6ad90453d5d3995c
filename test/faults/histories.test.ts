/**
 * Histories on one InnoDB, on a Galera cluster and on Group Replication; TEST_HISTORY is the number of operations on
 * each.
 */
import t, { type Test } from 'tap'
import { findProgram } from '../servers/own.ts'
import type { Cluster, Node } from './cluster.ts'
import { findGalera, startGalera } from './galera.ts'
import { startGroupReplication } from './group-replication.ts'
import { holdsHistories, TABLES } from './histories.ts'
import { createNetwork, type Network } from './network.ts'
import { until } from '../support/until.ts'
import { kinds, ownShop, shopOn, sqlOn } from './service.ts'

const only = process.env['TEST_HISTORY_ON']
const isMeant = (name: string): boolean => only === undefined || only === name

for (const kind of kinds.filter(isMeant)) {
  await t.test(`the history of one ${kind}`, async (t) => {
    const { server, sql } = await ownShop(t as Test, kind, TABLES)
    await holdsHistories(t as Test, {
      urls: [server.url],
      services: 2,
      isStrict: true,
      isSerializable: true,
      sql: () => sql,
      freeze: (_index, on) => server.freeze(on),
      async kill () {
        await server.end('SIGKILL')
        await server.start()
      }
    })
  })
}

async function holdsOn (t: Test, cluster: Cluster): Promise<void> {
  t.teardown(() => cluster.remove())
  const node = (index: number): Node => cluster.nodes[index] as Node
  await shopOn(node(0).url, TABLES)
  // Behind a proxy and a socket of the file system, MySQL asks for the password in a way that only one of both
  // understands, until it has seen it
  const logIn = async (index: number): Promise<void> =>
    await until('the account is there', () => sqlOn(
      Object.assign(new URL(node(index).url), { username: 'app', password: 'app-password' }).href
    )('do 1').then(() => true, () => false))
  for (const index of cluster.nodes.keys()) await logIn(index)
  await holdsHistories(t, {
    urls: cluster.nodes.map(({ url }) => url),
    services: 2,
    // a node may be behind the one that has accepted a write
    isStrict: false,
    // a group refuses serializable transactions, and in Galera they hold on their own node only
    isSerializable: false,
    sql: (index) => sqlOn(node(index).url),
    async kill (index) {
      await node(index).end('SIGKILL')
      await node(index).rejoin()
      await logIn(index)
    },
    part: cluster.part && (async (index, on) => {
      await cluster.part?.(index, on)
      if (!on) await node(index).recover()
    })
  })
}

/** Machines for the nodes, where this system has them for us. */
async function networkOf (t: Test): Promise<Network | undefined> {
  const network = await createNetwork(3).catch(unavailable)
  if (!(network instanceof Error)) {
    t.teardown(network.remove)
    return network
  }
  t.comment(`PASSED OVER, the nodes are not cut off from each other: ${network.message}`)
}

const unavailable = (error: Error): Error => error

if (isMeant('galera')) {
  await t.test('the history of a Galera cluster', async (t) => {
    const found = await findGalera().catch(unavailable)
    if (found instanceof Error) t.pass(`PASSED OVER, there is no Galera to be had: ${found.message}`)
    else await holdsOn(t as Test, await startGalera(found, await networkOf(t as Test)))
  })
}

if (isMeant('group')) {
  await t.test('the history of Group Replication', async (t) => {
    const program = await findProgram('mysql').catch(unavailable)
    if (program instanceof Error) t.pass(`PASSED OVER, there is no MySQL to be had: ${program.message}`)
    else await holdsOn(t as Test, await startGroupReplication(program, await networkOf(t as Test)))
  })
}
