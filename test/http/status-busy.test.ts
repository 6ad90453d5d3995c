// night: waits for real time limits
import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { liveIds, running } from '../support/connections.ts'
import { until } from '../support/until.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }

const schema: Schema = {
  sqlite,
  mysql: [
    ...mysql,
    'create table heavy (id int not null primary key, n int not null)',
    `insert into heavy values ${Array.from({ length: 500 }, (_, id) => `(${id}, 0)`).join()}`,
    'create view slow as select id, sleep(5) as slept from customers',
    // the global setting would affect tests that run at the same time
    'create trigger impatient before insert on orders for each row set session innodb_lock_wait_timeout = 1'
  ]
}

/** A transaction that locks a customer without the service; it ends with the test at the latest. */
async function hold ({ sql }: Pick<Service, 'sql'>, id: number): Promise<void> {
  await sql('begin')
  await sql('update customers set note = ? where id = ?', ['held', id])
}

const isRunning = (service: Service, start: string) => until(`"${start}" runs`, async () => (await running(service)).some((statement) => statement.startsWith(start)))
const rename = (id: number | number[], name = 'New') => ({ verb: 'update', data: { name }, filters: { id } })
const names = async ({ sql }: Service): Promise<string> => (await sql('select name from customers order by id')).map(({ name }) => name).join()

await onEachEngine(t, '503 DEADLOCK for the transaction that the database rolls back', { schema, only: servers }, async (t, service) => {
  const { sql, post, statements } = service
  await hold(service, 2)
  await sql('update heavy set n = n + 1') // the server ends the one that has changed less
  statements()
  const answer = post('customers', rename([1, 2]))
  await isRunning(service, 'update `customers`')
  await sql("update customers set note = 'held' where id = 1")
  const refusal = await answer
  isRefusal(t, refusal, { status: 503, code: 'DEADLOCK', why: 'the victim' })
  t.equal(refusal.headers['retry-after'], '1')
  t.equal(statements().filter((statement) => statement.startsWith('update')).length, 1, 'the service does not retry')
  await sql('commit')
  t.equal(await names(service), 'Ada,Grace,Linus,Zoë', 'nothing was changed')
  t.same((await post('customers', rename([1, 2]))).json.data, { updated: 2 }, 'and the client may retry')
})

await onEachEngine(t, '503 LOCK_TIMEOUT for a row that stays locked', { schema }, async (t, service) => {
  const { sql, post, engine } = service
  await sql(engine === 'sqlite' ? 'begin immediate' : 'begin')
  await sql("update customers set note = 'held' where id = 1")
  const answer = await post('orders', { verb: 'insert', data: { customer_id: 1 } })
  isRefusal(t, answer, { status: 503, code: 'LOCK_TIMEOUT', why: 'a locked row' })
  t.equal(answer.headers['retry-after'], '1')
  await sql('rollback')
  t.match(await sql('select count(*) as count from orders'), [{ count: 2 }], 'nothing was changed')
  t.equal((await post('orders', { verb: 'insert', data: { customer_id: 1 } })).status, 200, 'and the client may retry')
})

await onEachEngine(t, '503 OVERLOADED immediately if too many requests wait', { schema, only: servers, database: { pool: { size: 1, queue: 1, wait: 10_000 } } }, async (t, service) => {
  const { sql, post } = service
  await hold(service, 1)
  const answers = [post('customers', rename(1, 'One'))]
  await isRunning(service, 'update `customers`')
  service.statements()
  for (let each = 0; each < 6; each++) answers.push(post('customers', { verb: 'select', columns: ['id'], limit: 1 }))
  let refused = 0
  for (const answer of answers) answer.then(({ status }) => { if (status === 503) refused++ }, () => {})
  await until('all but one are refused while the row is locked', () => refused === 5)
  t.same(service.statements(), [])
  await sql('rollback')
  const results = await Promise.all(answers)
  t.equal(results[0]?.status, 200, 'the running request continues')
  for (const answer of results.filter(({ status }) => status !== 200)) {
    isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'one too many' })
    t.equal(answer.headers['retry-after'], '1')
  }
  t.equal(results.filter(({ status }) => status === 200).length, 2, 'the waiting request is answered')
})

await onEachEngine(t, '503 OVERLOADED for a request that waits too long for a connection', { schema, only: servers, database: { pool: { size: 1, queue: 5, wait: 200 } } }, async (t, service) => {
  await hold(service, 1)
  const first = service.post('customers', rename(1, 'One'))
  await isRunning(service, 'update `customers`')
  const answer = await service.post('customers', rename(2, 'Two'))
  isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'the second' })
  t.equal(answer.headers['retry-after'], '1')
  await service.sql('rollback')
  t.equal((await first).status, 200)
  t.equal(await names(service), 'One,Grace,Linus,Zoë', 'the refused request changed nothing')
  t.equal((await service.post('customers', rename(2, 'Two'))).status, 200, 'the connection that was opened too late is used')
})

await onEachEngine(t, '504 QUERY_TIMEOUT ends the statement in the database and keeps the connection', { schema, only: servers, database: { statementTimeout: 300, pool: { size: 1 } } }, async (t, service) => {
  const { sql, post } = service
  await post('customers', { verb: 'select' })
  const before = await liveIds(service)
  t.equal(before.length, 1)

  await hold(service, 1)
  for (const [table, body] of [['customers', rename(1)], ['customers', { verb: 'delete', filters: { id: 1 } }], ['slow', { verb: 'select' }]] as const) {
    const answer = await post(table, body)
    isRefusal(t, answer, { status: 504, code: 'QUERY_TIMEOUT', why: body.verb })
    t.equal(answer.headers['retry-after'], undefined)
    // the server removes a statement from its list shortly after its answer; the row stays locked much longer
    await until('the statement was ended', async () => (await running(service)).length === 0)
  }
  await sql('rollback')

  t.equal(await names(service), 'Ada,Grace,Linus,Zoë', 'nothing was changed')
  t.same((await post('customers', rename(1))).json.data, { updated: 1 })
  // the connection that sent KILL closes a moment later
  await until('there is one connection', async () => (await liveIds(service)).length === 1)
  t.same(await liveIds(service), before, 'the connection is the same')
})
