// night: waits for real time limits
/** SQLite runs in a child process: long statements do not block the service and can be killed. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Session } from '../../src/dialects/sqlite/session.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, type ServiceOptions } from '../support/service.ts'
import { until } from '../support/until.ts'
import { listen, request } from '../support/wire.ts'

const schema: Schema = {
  mysql: [],
  sqlite: [
    'create table texts (id integer primary key, body text not null, n int not null default 0)',
    ...Array.from({ length: 30 }, () => "insert into texts (body) values (replace(hex(zeroblob(250000)), '00', 'aa'))"),
    'create table parents (id integer primary key)',
    'create table children (id integer primary key, parent int not null references parents deferrable ' +
      'initially deferred)',
    // the trigger of the second changed row does not end
    `create trigger endless after update on children when new.id = 2 begin
      insert into parents with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n; end`,
    'create view numbers (a, b, c, d, e) as with recursive n (i) as (select 10001 union all select i + 1 from n ' +
      'where i < 12000) select i, i, i, i, i from n',
    'insert into parents values (1), (2)',
    'insert into children values (1, 1), (2, 1)'
  ]
}
/** SQLite compares it with 500,000 characters at each of 500,000 positions. */
const SLOW = '%' + 'a'.repeat(950) + 'b'
const slow = { verb: 'select', columns: ['id'], filters: { body: { $like: SLOW } } }
const quick = { verb: 'select', columns: ['id'], filters: { id: 1 } }
const LIMIT = 1000
const options: ServiceOptions = { schema, only: ['sqlite'], database: { statementTimeout: LIMIT } }

/** Changes the orders that the service sends to a session from now on. */
function change (
  t: Test,
  ask: (
    session: Session,
    send: () => ReturnType<Session['ask']>,
    order: Parameters<Session['ask']>[0]
  ) => ReturnType<Session['ask']>
): void {
  const original = Session.prototype.ask
  Session.prototype.ask = function (order) {
    return ask(this, () => original.call(this, order), order)
  }
  t.teardown(() => { Session.prototype.ask = original })
}

await onEachEngine(t, 'a select that takes too long is killed, and other requests are ' +
  'answered meanwhile', options, async (t, { post, server }) => {
  const begin = performance.now()
  const answer = post('texts', slow)
  let turns = 0
  const timer = setInterval(() => turns++, 10)
  t.equal((await server.app.inject('/health/live')).statusCode, 200)
  isRefusal(t, await answer, { status: 504, code: 'QUERY_TIMEOUT', why: 'a pattern that takes minutes' })
  clearInterval(timer)
  const time = performance.now() - begin
  t.ok(time < 3 * LIMIT, `it took ${time} ms`)
  t.ok(turns > 20, `the event loop went round ${turns} times`)
  t.same((await post('texts', quick)).json.data, { rows: [{ id: 1 }], count: 1 }, 'and the next statement runs')
})

await onEachEngine(t, 'a write that takes too long is killed ' +
  'and changes nothing', options, async (t, { post, sql }) => {
  const all = { verb: 'update', data: { parent: 2 }, filters: { id: { $gt: 0 } } }
  isRefusal(t, await post('children', all), {
    status: 504, code: 'QUERY_TIMEOUT', why: 'a trigger that never ends, after one row was changed'
  })
  t.same((await sql('select parent from children')).map(({ parent }) => parent), [1, 1])
  isRefusal(t, await post('texts', { verb: 'delete', filters: { body: { $nlike: SLOW } } }), {
    status: 504, code: 'QUERY_TIMEOUT', why: 'a pattern that takes minutes'
  })
  t.match(await sql('select count(*) as count from texts'), [{ count: 30 }])
  t.same((await post('children', { ...all, filters: { id: 1 } })).json.data, { updated: 1 }, 'its lock is released')
  t.match(await sql('pragma integrity_check'), [{ integrity_check: 'ok' }])
})

await onEachEngine(t, 'the outcome of a write whose COMMIT is not ' +
  'confirmed is unknown', options, async (t, { post, sql }) => {
  change(t, (session, send, order) => {
    const reply = send()
    if ('sql' in order && order.sql === 'commit') session.kill()
    return reply
  })
  isRefusal(t, await post('texts', { verb: 'update', data: { n: 1 }, filters: { id: 1 } }), {
    status: 502, code: 'OUTCOME_UNKNOWN', why: 'the process ended at COMMIT'
  })
  t.equal((await post('texts', quick)).status, 200)
  t.match(await sql('pragma integrity_check'), [{ integrity_check: 'ok' }])
})

await onEachEngine(t, 'a write whose COMMIT fails changes nothing', options, async (t, { post, sql }) => {
  const answer = await post('children', { verb: 'insert', data: { id: 3, parent: 99 } })
  isRefusal(t, answer, { status: 409, code: 'FOREIGN_KEY_VIOLATION', why: 'a foreign key that is checked at COMMIT' })
  t.match(await sql('select count(*) as count from children'), [{ count: 2 }])
  t.equal((await post('children', { verb: 'insert', data: { id: 3, parent: 2 } })).status, 200)
})

await onEachEngine(t, 'if the child process exits during a write, nothing is changed, and a new ' +
  'process is started', options, async (t, { post, sql }) => {
  let kills = 0
  change(t, (session, send) => {
    const reply = send()
    if (kills++ === 0) session.kill()
    return reply
  })
  const insert = { verb: 'insert', data: { id: 9 } }
  isRefusal(t, await post('parents', insert), {
    status: 503, code: 'DATABASE_UNAVAILABLE', why: 'the process ended under a statement'
  })
  t.match(await sql('select count(*) as count from parents'), [{ count: 2 }])
  t.equal((await post('parents', insert)).status, 200)
})

await onEachEngine(t, 'when a client disconnects, its running statement is killed, and a ' +
  'waiting one is not sent', { ...options, database: { statementTimeout: 60_000 } }, async (t, service) => {
  const { post, sql, log, statements } = service
  const wire = await listen(service)
  const send = async (body: object) => {
    const socket = await wire.open()
    socket.on('error', () => {})
    socket.write(request({ start: 'POST /api/shop/texts HTTP/1.1', body: JSON.stringify(body) }))
    return socket
  }
  statements()
  const first = await send(slow)
  await until('the select runs', () => statements().length > 0)
  const second = await send({ verb: 'delete', filters: { id: 2 } })
  await sleep(200)
  second.resetAndDestroy()
  await once(second, 'close')
  first.resetAndDestroy()
  await until('the reason is logged', () => log.filter((line) => line.includes('"reason":"CLIENT_GONE"')).length === 2)
  t.equal((await post('texts', quick)).status, 200)
  t.notMatch(statements().join(), 'delete')
  t.match(await sql('select count(*) as count from texts'), [{ count: 30 }])
})

await onEachEngine(t, 'requests that wait too long for another statement are refused', {
  ...options, database: { statementTimeout: 2000, pool: { wait: 100, queue: 1 } }
}, async (t, { post }) => {
  const running = [post('texts', slow), post('texts', slow)]
  await sleep(300) // the second one is in the session that only reads
  const answers = await Promise.all([post('texts', quick), post('texts', quick)])
  for (const answer of answers) {
    isRefusal(t, answer, {
      status: 503, code: 'OVERLOADED', why: 'one waited too long, the other had no place to wait'
    })
  }
  t.same((await Promise.all(running)).map(({ status }) => status), [504, 504])
})

await onEachEngine(t, 'an answer with too many texts or ' +
  'numbers is too large', { ...options, database: { resultLimit: 10_000 } }, async (t, { post }) => {
  for (const [table, body] of [['texts', { verb: 'select', limit: 1 }], ['numbers', { verb: 'select', limit: 1000 }], [
    'numbers', { verb: 'select', columns: ['a'], limit: 1000 }
  ]] as const) {
    isRefusal(t, await post(table, body), { status: 422, code: 'RESULT_TOO_LARGE', why: table })
    t.equal((await post('texts', quick)).status, 200)
  }
})
