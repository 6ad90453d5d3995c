/** A few requests of each law of related rows; test/http/include-law.test.ts has many. */
import t, { type Test } from 'tap'
import {
  groupsAreThoseOfPlainSql, membersAreThoseOfPlainSql, onRandomTables, writesChangeWhatPlainSqlFinds
} from '../support/related-laws.ts'

await onRandomTables(
  t as Test, 'members are what plain SQL finds for each row', { seed: 11, runs: 12 }, membersAreThoseOfPlainSql
)
await onRandomTables(
  t as Test, 'groups and aggregates by columns of members are what plain SQL computes', { seed: 11, runs: 12 },
  groupsAreThoseOfPlainSql
)
await onRandomTables(
  t as Test, 'updates and deletes change what plain SQL finds', { seed: 5, runs: 20 }, writesChangeWhatPlainSqlFinds
)
