/** Writes of several statements whose connection is lost, or that meet locks: nothing is half done. */
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { waiters, type Connection } from '../support/connections.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { Proxy } from '../support/recorder.ts'

const rows = Array.from({ length: 5 }, (_, id) => `(${id + 1}, ${id}, 'w${id}')`).join()
const schema: Schema = { sqlite: [], mysql: ['create table parts (id int not null auto_increment primary key, n int not null, word varchar(20) null unique)', `insert into parts values ${rows}`] }
const only = ['mariadb', 'mysql'] as const

const writes: Array<[name: string, body: object]> = [
  ['an update that returns rows', { verb: 'update', data: { n: { $inc: 10 } }, filters: { id: { $gte: 2 } }, returning: '*' }],
  ['an update with an expectation', { verb: 'update', data: { n: { $inc: 10 } }, filters: { id: { $gte: 2 } }, expect: { $lte: 10 } }],
  ['a delete that returns rows', { verb: 'delete', filters: { id: { $gte: 4 } }, returning: ['id'], expect: 2 }],
  ['an insert that returns its row', { verb: 'insert', data: { n: 7 }, returning: '*' }],
  ['a list that returns its rows', { verb: 'insert', data: [{ n: 7, word: 'a' }, { n: 8, word: 'b' }], returning: ['id'] }],
  ['an upsert that returns its rows', { verb: 'insert', data: [{ n: 7, word: 'w1' }, { n: 8, word: 'b' }], onConflict: { key: ['word'] }, returning: ['id'] }]
]

await onEachEngine(t, 'a connection that is lost at any statement leaves all or nothing changed, as the answer says', { schema, only }, async (t, service) => {
  const { post, sql } = service
  const proxy = service.proxy as Proxy
  const dump = async () => (await sql('select * from parts order by id')).map((row) => ({ ...row }))
  const reset = async () => {
    await sql('delete from parts')
    await sql(`insert into parts values ${rows}`)
  }
  for (const [name, body] of writes) {
    await reset()
    const before = await dump()
    proxy.statements.splice(0)
    t.equal((await post('parts', body)).status, 200, name)
    const sent = proxy.statements.filter((statement) => !/limit 0$|^set |@@/.test(statement))
    const commit = sent.findIndex((statement) => /^commit/i.test(statement))
    t.ok(commit > 1, `${name}: ${sent.length} statements`)
    for (let lost = 0; lost < sent.length; lost++) {
      await reset()
      let index = -1
      proxy.onStatement = (statement) => {
        if (!/limit 0$|^set |@@/.test(statement) && ++index === lost) proxy.cut()
        return undefined
      }
      const answer = await post('parts', body)
      proxy.onStatement = () => undefined
      if (answer.status === 200) {
        t.equal(lost, 0, `${name}: only the beginning is sent again`)
        continue
      }
      const isUnknown = answer.status === 502
      isRefusal(t, answer, isUnknown ? { status: 502, code: 'OUTCOME_UNKNOWN', why: `${name}: ${sent[lost]}` } : { status: 503, code: 'DATABASE_UNAVAILABLE', why: `${name}: ${sent[lost]}` })
      if (lost === commit) t.ok(isUnknown, `${name}: the outcome of COMMIT is not known`)
      else t.same(await dump(), before, `${name}: nothing is changed after ${sent[lost]?.slice(0, 40)}`)
    }
  }
})

await onEachEngine(t, 'a row that is locked by another client for too long is 503 or 504, and nothing is changed', { schema, only, database: { statementTimeout: 1500 } }, async (t, { post, sql }) => {
  const before = await sql('select * from parts order by id')
  await sql('start transaction')
  await sql('select * from parts where id = 5 for update')
  for (const [name, body] of writes.slice(0, 3)) {
    const answer = await post('parts', body)
    t.ok(['LOCK_TIMEOUT', 'QUERY_TIMEOUT'].includes(answer.json.error?.code), `${name}: ${answer.text}`)
  }
  await sql('rollback')
  t.same(await sql('select * from parts order by id'), before)
})

await onEachEngine(t, 'writes that return rows and lock the same rows in another order all succeed', { schema, only }, async (t, { post, sql }) => {
  const answers = await Promise.all(Array.from({ length: 24 }, (_, client) => post('parts', {
    verb: 'update', data: { n: { $inc: 1 } }, filters: { id: { $in: client % 2 === 0 ? [1, 2, 3] : [3, 2, 1] } }, returning: ['id', 'n'], expect: 3
  })))
  t.same(answers.map(({ status }) => status), answers.map(() => 200))
  t.same((await sql('select n from parts where id <= 3 order by id')).map(({ n }) => n), [24, 25, 26], 'each of them counts')
})

const keyed: Schema = { sqlite: [], mysql: [...schema.mysql, CREATE.mysql] }
const lists: Array<[name: string, body: object, written: object]> = [
  ['a list', { verb: 'insert', data: [{ n: 7, word: 'a' }, { n: 8, word: 'b' }, { n: 9, word: 'z' }] }, { inserted: 3 }],
  ['an upsert', { verb: 'insert', data: [{ n: 7, word: 'a' }, { n: 8, word: 'w1' }, { n: 9, word: 'z' }], onConflict: { key: ['word'] } }, { inserted: 2, updated: 1, unchanged: 0, id: null }]
]

await onEachEngine(t, 'a connection that is killed in the middle of a list leaves nothing, and the list can be sent again with its key', { schema: keyed, only }, async (t, { post, sql }) => {
  const dump = async () => (await sql('select n, word from parts order by word')).map((row) => ({ ...row }))
  /** Sends a list whose last row waits for another client, and kills its connection then. */
  const sendAndKill = async (body: object, headers: Record<string, string> = {}) => {
    await sql('start transaction')
    await sql("insert into parts (n, word) values (0, 'z')")
    const answer = post('parts', body, { headers })
    let waiting: Connection | undefined
    // not the statement before it, which inserts the key
    await until('the list waits', async () => { [waiting] = await waiters({ sql }, 'insert into `parts`'); return waiting !== undefined })
    await sql(`kill ${waiting?.id}`)
    const killed = await answer
    await sql('rollback')
    return killed
  }
  for (const [index, [name, body, written]] of lists.entries()) {
    await sql('delete from parts')
    await sql(`insert into parts values ${rows}`)
    const before = await dump()
    isRefusal(t, await sendAndKill(body), { status: 502, code: 'OUTCOME_UNKNOWN', why: `${name} without a key, of one statement` })
    t.same(await dump(), before, `${name}: nothing is written`)
    const headers = { 'idempotency-key': `killed-${index}` }
    // the key makes it a transaction, of which nothing is left without COMMIT
    isRefusal(t, await sendAndKill(body, headers), { status: 503, code: 'DATABASE_UNAVAILABLE', why: `${name} with a key` })
    t.same(await dump(), before, `${name}: nothing is written`)
    t.match(await post('parts', body, { headers }), { status: 200, json: { data: written } }, `${name}: it can be sent again`)
    const after = await dump()
    t.equal(after.length, 5 + (index === 0 ? 3 : 2))
    t.match(await post('parts', body, { headers }), { status: 200, headers: { 'idempotency-replayed': 'true' }, json: { data: written } })
    t.same(await dump(), after, `${name}: it has one effect`)
  }
})

await onEachEngine(t, 'a deadlock on the last row of a list is tried again, and all rows are written', { schema, only, database: { statementTimeout: 10_000 } }, async (t, { post, sql, statements }) => {
  const list = { verb: 'insert', data: [...Array(4).keys()].map((n) => ({ n: n + 100, word: `w${n}` })).concat([{ n: 9, word: 'z' }]), onConflict: { key: ['word'] } }
  // the server ends the transaction that has changed fewer rows: this one changes more than the list
  await sql('start transaction')
  await sql(`insert into parts (n, word) values ${Array.from({ length: 50 }, (_, n) => `(0, 'm${n}')`).join()}, (0, 'z')`)
  statements()
  const answer = post('parts', list)
  await until('the list waits', async () => (await waiters({ sql }, 'insert into `parts`')).length === 1)
  await sql("update parts set n = 50 where word = 'w0'")
  await sql('commit')
  t.match(await answer, { status: 200, json: { data: { inserted: 0, updated: 5, unchanged: 0 } } })
  t.same((await sql("select n from parts where word in ('w0', 'w1', 'w2', 'w3', 'z') order by word")).map(({ n }) => n), [100, 101, 102, 103, 9])
  t.ok(statements().filter((statement) => /^insert/i.test(statement)).length > 1, 'the list was the one that the server ended')
})
