import t from 'tap'
import type { Body } from '../../schemas/body.ts'
import type { Column, Table } from '../../src/catalog/catalog.ts'
import { alone } from '../../src/catalog/catalog.ts'
import type { Database } from '../../src/databases/database.ts'
import { Runner } from '../../src/execute/runner.ts'
import { createPlan, verbs } from '../../src/verbs/index.ts'
import { onEachEngine, type Schema } from '../support/service.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const database = { dialect: { engine: 'mysql' }, statementCounts: { cached: 0, built: 0 } } as unknown as Database
const answer = async (body: object, table: Table, insertId = '0'): Promise<string> => {
  const plan = createPlan(body as Body, alone(table), LIMITS)
  const { run, respond } = verbs[plan.verb]
  const result = await run(new Runner(async () => ({ rows: 0, changed: 3, insertId }), database), plan, {
    sink: undefined
  })
  return String(respond(plan, result, undefined))
}
const idOf = async (data: object, columns: Column[], primaryKey: string[], insertId?: string): Promise<string
  | undefined> =>
  /"id":(.*)}}$/.exec(await answer({ verb: 'insert', data }, tableOf({ columns, primaryKey }), insertId))?.[1]

const id = mysqlColumn('id', 'bigint', { nullable: false })
const number = mysqlColumn('number', 'bigint unsigned', { nullable: false, autoIncrement: true })
const code = mysqlColumn('code', 'varchar(20)', { nullable: false })

t.test('the answer of an insert contains the exact number that the database assigned', async (t) => {
  t.equal(await idOf({}, [number], ['number'], '18446744073709551615'), '18446744073709551615')
  t.equal(await idOf({ code: 'x' }, [code, number], ['code'], '7'), '7', 'before the key')
})

t.test('the answer of an insert contains the given key as a select would show it', async (t) => {
  t.equal(await idOf({ number: '5' }, [number], ['number'], '9'), '5')
  t.equal(await idOf({ code: 'a "b"\n' }, [code], ['code']), '"a \\"b\\"\\n"')
  t.equal(await idOf({ id: -1 }, [id], ['id']), '-1')
})

t.test('an unknown id is null', async (t) => {
  t.equal(await idOf({ id: 1, code: 'x' }, [id, code], ['id', 'code'], '9'), 'null', 'a key of two columns')
  t.equal(await idOf({ id: 1 }, [id], [], '9'), 'null', 'no key')
  t.equal(await idOf({}, [code], ['code'], '9'), 'null', 'a key that the database gave a default')
})

t.test('an id is known only if no trigger can have set it', async (t) => {
  const idWith = async (data: object, identity: Column, insertId?: string): Promise<unknown> => {
    const table = tableOf({
      columns: [identity], primaryKey: [identity.name], triggers: { isComplete: false, list: [] }
    })
    return /"id":(.*)}}$/.exec(await answer({ verb: 'insert', data }, table, insertId))?.[1]
  }
  t.equal(await idWith({ code: 'x' }, code), 'null', 'the account may not see the triggers')
  t.equal(await idWith({ number: 5 }, number, '6'), '6', 'the database says what number the row has')
  t.equal(
    await idWith({ count: -5 }, mysqlColumn('count', 'int', { autoIncrement: true }), '18446744073709551611'), '-5'
  )
})

t.test('answers of updates and deletes contain the number of changed rows', async (t) => {
  const table = tableOf({ columns: [id, code] })
  t.equal(
    await answer({ verb: 'update', data: { code: 'x' }, filters: { id: 1 } }, table),
    '{"success":true,"data":{"updated":3}}'
  )
  t.equal(await answer({ verb: 'delete', filters: { id: 1 } }, table), '{"success":true,"data":{"deleted":3}}')
})

const triggered = 'create trigger own_number before insert on numbered for each row set new.id = 77'
const schema: Schema = {
  mysql: ['create table numbered (id int not null auto_increment primary key, note varchar(5) null)', triggered],
  sqlite: []
}

await onEachEngine(t, 'a number that a trigger ' +
  'assigned is the id', { schema, only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  t.same((await post('numbered', { verb: 'insert', data: { note: 'x' } })).json, {
    success: true, data: { inserted: 1, id: 77 }
  })
  t.match(await sql('select id, note from numbered'), [{ id: 77, note: 'x' }])
})
