/** Foreign keys to tables of other databases. */
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { startService } from '../support/service.ts'
import { outcomeOf, tokenOf, upsertById as upsert } from './support.ts'

for (const engine of await engines()) {
  t.test(`a foreign key to a table with rules in another database is checked (${engine.name})`, async (t) => {
    const other = await createTestDatabase(engine, ['create table owners (id int primary key, tenant int not null)', 'insert into owners values (1, 7), (2, 8)'])
    const key = (name: string): string => `constraint ${name} foreign key (owner_id) references ${other.name}.owners (id)`
    const database = await createTestDatabase(engine, [
      `create table cars (id int primary key, x int not null default 1, owner_id int, note varchar(20), ${key('owned')})`,
      `create table trucks (id int primary key, owner_id int default 2, ${key('defaulted')})`,
      `create table vans (id int primary key, half int, owner_id int generated always as (half * 2) stored, ${key('computed')})`,
      'insert into cars values (1, 1, null, null)',
      'insert into vans (id) values (1)'
    ])
    t.teardown(async () => {
      await database.drop()
      await other.drop()
    })
    const rules = { Owners: { rows: { tenant: 7 } } }
    const tokens = [
      tokenOf('everything', {}),
      tokenOf('all', { databases: { other: rules, shop: '*' } }),
      tokenOf('list', { databases: { other: rules, shop: ['cars', 'trucks', 'vans'] } }),
      tokenOf('narrowed', { databases: { other: rules, shop: { cars: { rows: { x: 1 } }, trucks: {}, vans: {} } } }),
      tokenOf('free', { databases: { other: { owners: {} }, shop: { cars: { rows: { x: 1 } } } } })
    ]
    const { post } = await startService(t as Test, database.url, { options: { databases: { shop: { url: database.url }, other: { url: other.url } }, tokens } })
    const send = async (token: string, table: string, body: object) => outcomeOf(await post(table, body, { token }))
    const cars = async () => await database.query('select * from cars order by id')
    const before = await cars()
    const refused = [403, 'PERMISSION_DENIED']
    for (const token of ['all', 'list', 'narrowed']) {
      for (const owner of [1, 2, 99]) {
        t.same(await send(token, 'cars', { verb: 'insert', data: { id: 5, x: 1, owner_id: owner } }), refused)
        t.same(await send(token, 'cars', { verb: 'insert', data: [{ id: 5, x: 1 }, { id: 6, x: 1, owner_id: owner }] }), refused)
        t.same(await send(token, 'cars', { verb: 'update', data: { owner_id: owner }, filters: { id: 1 }, dryRun: true }), refused)
        t.same(await send(token, 'cars', upsert({ id: 1, x: 1, owner_id: owner })), refused)
        t.same(await send(token, 'cars', upsert({ id: 1, x: 1 }, { owner_id: owner })), refused)
      }
      t.same(await send(token, 'cars', { verb: 'update', data: { owner_id: { $inc: 1 } }, filters: { id: 1 } }), refused)
      t.same(await send(token, 'trucks', { verb: 'insert', data: { id: 5 } }), refused, 'a default')
      t.same(await send(token, 'vans', { verb: 'update', data: { half: 1 }, filters: { id: 1 } }), refused, 'a generated column')
      t.same(await cars(), before)
      t.match(await send(token, 'cars', { verb: 'insert', data: { id: 5, x: 1, owner_id: null } }), { inserted: 1 })
      t.match(await send(token, 'cars', upsert({ id: 5, x: 1, note: 'n' })), { updated: 1 })
      t.match(await send(token, 'cars', { verb: 'update', data: { owner_id: null, note: 'm' }, filters: { id: 5 } }), { updated: 1 })
      t.match(await send(token, 'cars', { verb: 'select', filters: { id: 5 } }), { rows: [{ id: 5, owner_id: null, note: 'm' }] })
      t.match(await send(token, 'cars', { verb: 'delete', filters: { id: 5 } }), { deleted: 1 })
    }
    for (const token of ['everything', 'free']) {
      t.match(await send(token, 'cars', { verb: 'update', data: { owner_id: 2 }, filters: { id: 1 } }), { updated: 1 }, 'without rules for the other table')
      t.match(await send(token, 'cars', { verb: 'update', data: { owner_id: null }, filters: { id: 1 } }), { updated: 1 })
      t.same(await send(token, 'cars', { verb: 'update', data: { owner_id: 99 }, filters: { id: 1 } }), [409, 'FOREIGN_KEY_VIOLATION', '/data/owner_id'], 'the key is named')
    }
  })
}
