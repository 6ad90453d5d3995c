import t from 'tap'
import { findProgram } from '../servers/own.ts'
import { holdsUnderLoad, conflictsAreDeadlocks, keepsMoney, refusesTooLarge } from './cluster.ts'
import { startGroupReplication } from './group-replication.ts'

/**
 * Which of the two it is depends on where the commit stands as the group says no; a row that is locked still is a
 * deadlock as elsewhere.
 */
const REFUSED_BY_GROUP = ['ER_TRANSACTION_ROLLBACK_DURING_COMMIT', 'ER_ERROR_DURING_COMMIT']

const program = await findProgram('mysql').catch((error: Error) => error)
if (program instanceof Error) t.pass(`PASSED OVER, there is no MySQL to be had: ${program.message}`)
else {
  const cluster = await startGroupReplication(program)
  t.teardown(() => cluster.remove())
  await t.test('a node of three in Group Replication is killed under load', (t) => holdsUnderLoad(t, cluster))
  await t.test('changes of the same row by two nodes at once are deadlocks, and safe to retry', (t) =>
    conflictsAreDeadlocks(t, cluster, REFUSED_BY_GROUP))
  await t.test('a transaction that is larger than Group Replication takes is refused as such, if the account may ' +
    'read the log of the server', (t) => refusesTooLarge(t, cluster, {
    before: ["grant select on performance_schema.error_log to app@'%'"],
    limits: [
      'set global group_replication_transaction_size_limit = 262144'
    ],
    unlimited: ['set global group_replication_transaction_size_limit = 150000000']
  }))
  await t.test(
    'the sum of a bank in Group Replication stays what it is while a node is killed', (t) => keepsMoney(t, cluster)
  )
}
