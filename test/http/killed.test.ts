/** Statements that are killed for their time, and that the server reports as ended well. */
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { createRewritingProxy } from '../support/rewriting-proxy.ts'
import { startService } from '../support/service.ts'

const SCHEMA = [
  'create table items (id int primary key, slept int null)',
  'create table plain (id int primary key)',
  'insert into items values (0, 0), (1, 0)',
  // the second row is the slow one
  'create view slow as select sleep(id * 5) as slept from items',
  'create trigger slow_insert before insert on items for each row set new.slept = sleep(5)'
]

/** ER_QUERY_INTERRUPTED, the answer to the statement, becomes OK: one row, in a transaction or not, and a text. */
const endWell = (status: string) => (all: string): string =>
  all.replace(/\xff%.#70100[^]*$/, ({ length }) =>
    `\0\x01\0${status}\0\0\0${String.fromCharCode(length - 8)}${' '.repeat(length - 8)}`)

/** ER_QUERY_INTERRUPTED after the first row of a result becomes its last row and its end. */
const endWithRow = (all: string): string =>
  all.replace(/[^]\0\0([^])\xff%.#70100[^]*$/, ({ length }, number: string) => {
    const value = '1'.repeat(length - 14)
    return `${String.fromCharCode(value.length + 1)}\0\0${number}${String.fromCharCode(value.length)}${value}` +
      `\x05\0\0${String.fromCharCode(number.charCodeAt(0) + 1)}\xfe\0\0\x02\0`
  })

for (const engine of await engines()) {
  const start = async (t: Test, toClient = (all: string) => all) => {
    const database = await createTestDatabase(engine, SCHEMA)
    t.teardown(() => database.drop())
    const url = await createRewritingProxy(t, database.url, { toClient })
    return { ...await startService(t, url, { database: { statementTimeout: 200 } }), sql: database.query }
  }

  t.test(`a select that is killed for its time is 504, also if the server returns rows (${engine.name})`, async (t) => {
    const { post } = await start(t as Test, endWithRow)
    const { status, json } = await post('slow', { verb: 'select' })
    t.same([status, json.error?.code], [504, 'QUERY_TIMEOUT'])
  })

  t.test(`a write that is killed for its time is 502 if the server reports it as ended well (${engine.name})`, async (
    t
  ) => {
    const { post } = await start(t as Test, endWell('\x02'))
    const { status, json } = await post('items', { verb: 'insert', data: { id: 2 } })
    t.same([status, json.error?.code], [502, 'OUTCOME_UNKNOWN'])
  })

  t.test(`such a write is rolled back and 504 in a transaction (${engine.name})`, async (t) => {
    const { operate, sql } = await start(t as Test, endWell('\x03'))
    const { status, json } = await operate([
      { verb: 'insert', table: 'plain', data: { id: 1 } }, { verb: 'insert', table: 'items', data: { id: 3 } }
    ])
    t.same([status, json.error?.code], [504, 'QUERY_TIMEOUT'])
    t.same(await sql('select * from plain'), [])
  })
}
