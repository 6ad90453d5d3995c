import t from 'tap'
import { holdsUnderLoad, conflictsAreDeadlocks, keepsMoney, refusesTooLarge } from './cluster.ts'
import { findGalera, startGalera } from './galera.ts'

const galera = await findGalera().catch((error: Error) => error)
if (galera instanceof Error) t.pass(`PASSED OVER, there is no Galera to be had: ${galera.message}`)
else {
  const cluster = await startGalera(galera)
  t.teardown(() => cluster.remove())
  await t.test('a node of three that form a Galera cluster is killed under load', (t) => holdsUnderLoad(t, cluster))
  await t.test('changes of the same row by two nodes at once are deadlocks, and safe to retry', (t) =>
    conflictsAreDeadlocks(t, cluster, ['ER_LOCK_DEADLOCK']))
  await t.test('a transaction that is larger than a Galera cluster takes ' +
    'is refused as such', (t) => refusesTooLarge(t, cluster, {
    limits: ['set global wsrep_max_ws_size = 262144', 'set global wsrep_max_ws_rows = 2'],
    unlimited: ['set global wsrep_max_ws_size = 2147483647', 'set global wsrep_max_ws_rows = 0']
  }))
  await t.test(
    'the sum of a bank in a Galera cluster stays what it is while a node is killed', (t) => keepsMoney(t, cluster)
  )
}
