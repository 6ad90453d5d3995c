/** Foreign keys to tables with rules that the database account does not see. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { runRowQuery } from '../support/row-query.ts'
import { startService } from '../support/service.ts'
import { createUser } from '../support/users.ts'
import { outcomeOf, tokenFor, tokenOf, upsertById as upsert } from './support.ts'

const rules = { owners: { rows: { tenant: 7 } } }
const tokens = [
  tokenFor('ruled', { ...rules, cars: {}, trucks: {} }),
  tokenFor('free', { owners: {}, cars: { rows: { x: 1 } }, trucks: {} })
]
const refused = [403, 'PERMISSION_DENIED']

for (const engine of await engines()) {
  const create = async (t: Test) => {
    const database = await createTestDatabase(engine, [
      'create table owners (id int primary key, tenant int not null)',
      'insert into owners values (1, 7), (2, 8)',
      'create table cars (id int primary key, x int not null default 1, owner_id int, note varchar(20), constraint owned foreign key (owner_id) references owners (id))',
      'create table trucks (id int primary key, owner_id int default 2, constraint defaulted foreign key (owner_id) references owners (id))',
      'insert into cars values (1, 1, null, null)'
    ])
    t.teardown(() => database.drop())
    return database
  }

  t.test(`a foreign key to a table that the account does not see is checked (${engine.name})`, async (t) => {
    const database = await create(t as Test)
    const url = await createUser(t as Test, database, { grants: ['select, insert, update, delete on cars', 'select, insert, update, delete on trucks'] })
    const { post } = await startService(t as Test, url, { options: { databases: { shop: { url } }, tokens: [tokenOf('everything', {}), ...tokens] } })
    const send = async (token: string, table: string, body: object) => outcomeOf(await post(table, body, { token }))
    const before = await database.query('select * from cars order by id')
    for (const owner of [1, 2, 99]) {
      t.same(await send('ruled', 'cars', { verb: 'insert', data: { id: 5, owner_id: owner } }), refused)
      t.same(await send('ruled', 'cars', { verb: 'insert', data: [{ id: 5 }, { id: 6, owner_id: owner }] }), refused)
      t.same(await send('ruled', 'cars', { verb: 'update', data: { owner_id: owner }, filters: { id: 1 }, dryRun: true }), refused)
      t.same(await send('ruled', 'cars', upsert({ id: 1, owner_id: owner })), refused)
      t.same(await send('ruled', 'cars', upsert({ id: 1 }, { owner_id: owner })), refused)
    }
    t.same(await send('ruled', 'trucks', { verb: 'insert', data: { id: 5 } }), refused, 'a default')
    t.same(await database.query('select * from cars order by id'), before)
    t.match(await send('ruled', 'cars', { verb: 'insert', data: { id: 5, owner_id: null } }), { inserted: 1 })
    t.match(await send('ruled', 'cars', { verb: 'update', data: { owner_id: null, note: 'm' }, filters: { id: 5 } }), { updated: 1 })
    for (const token of ['everything', 'free']) t.match(await send(token, 'cars', { verb: 'update', data: { owner_id: 2 }, filters: { id: 5 }, dryRun: true }), { updated: 1 }, 'without rules for the other table')
  })

  t.test(`a foreign key whose columns the account may not list is checked (${engine.name})`, async (t) => {
    const database = await create(t as Test)
    const url = await createUser(t as Test, database, { grants: ['select on owners', 'select (id, x, owner_id), insert (id, owner_id), update (x, owner_id) on cars'] })
    const { post } = await startService(t as Test, url, { options: { databases: { shop: { url } }, tokens: [tokenOf('everything', {}), ...tokens] } })
    const send = async (token: string, body: object) => outcomeOf(await post('cars', body, { token }))
    for (const owner of [2, 99]) {
      const answers = [
        await send('ruled', { verb: 'insert', data: { id: 5, owner_id: owner } }),
        await send('ruled', { verb: 'update', data: { owner_id: owner }, filters: { id: 1 } })
      ]
      for (const [status] of answers) t.ok([403, 409].includes(status), JSON.stringify(answers))
    }
    t.same(await database.query('select owner_id from cars'), [{ owner_id: null }])
    t.match(await send('everything', { verb: 'update', data: { owner_id: 2 }, filters: { id: 1 } }), { updated: 1 }, 'without rules')
  })

  t.test(`row-query check warns of foreign keys that cannot be checked (${engine.name})`, async (t) => {
    const database = await create(t as Test)
    const url = await createUser(t as Test, database, { grants: ['select, insert on cars', 'select on trucks'] })
    const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
    t.teardown(() => { rmSync(folder, { recursive: true }) })
    const config = join(folder, 'row-query.json')
    writeFileSync(config, JSON.stringify({ databases: { shop: { url } }, tokens: [...tokens, tokenFor('reader', { ...rules, cars: { permissions: ['select'] } })] }))
    const { stdout } = await runRowQuery(t as Test, ['check', '--config', config])
    const lines = stdout.split('\n').filter((line) => line.includes('rules cannot be checked'))
    t.same(lines, ['cars', 'trucks'].map((table) =>
      `  warning: token "ruled": rules cannot be checked for "owner_id" of "${table}", so only null can be written: foreign key "${table === 'cars' ? 'owned' : 'defaulted'}" refers to "owners", which the database account does not see`))
  })
}
