/** Members in the results of calls without HTTP: their integers are exact at every level. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

await onEachEngine(t, 'integers of members beyond 2^53 are exact', {
  schema: () => [
    'create table owners (id bigint not null primary key, big bigint not null)', 'create table things (id bigint not null primary key, owner_id bigint not null, big bigint not null)', 'create index by_owner on things (owner_id)',
    'insert into owners values (9007199254740993, 9007199254740995), (1, 2)', 'insert into things values (9007199254740997, 9007199254740993, 9007199254740999), (3, 1, 4)'
  ]
}, async (t, { server }) => {
  const execute = server.rows.execute as unknown as (request: object) => Promise<{ rows: object[] }>
  const body = { verb: 'select', orderBy: 'id DESC', include: { things: { on: { id: 'owner_id' }, include: { owner: { table: 'owners', on: { owner_id: 'id' }, columns: ['big'] } } }, sums: { table: 'things', on: { id: 'owner_id' }, aggregates: { n: { $count: '*' }, last: { $max: 'big' } } } } }
  const { rows } = await execute({ database: 'shop', table: 'owners', grant: { permissions: ['select'] }, body })
  t.strictSame(rows, [
    { id: 9007199254740993n, big: 9007199254740995n, things: [{ id: 9007199254740997n, owner_id: 9007199254740993n, big: 9007199254740999n, owner: { big: 9007199254740995n } }], sums: { n: 1, last: 9007199254740999n } },
    { id: 1, big: 2, things: [{ id: 3, owner_id: 1, big: 4, owner: { big: 2 } }], sums: { n: 1, last: 4 } }
  ])
})
