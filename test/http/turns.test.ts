/** Requests that wait for a connection: callers take turns. */
import t from 'tap'
import { createToken, hashToken } from '../../src/access/tokens.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Answer } from '../support/service.ts'
import { until } from '../support/until.ts'

const OTHER = createToken()
const create = (id: string): string[] => ['create table gate (id integer not null primary key, n integer not null)', `create table passed (id integer primary key${id}, who varchar(10) not null)`, 'insert into gate values (1, 0)']
const schema = { mysql: create(' auto_increment'), sqlite: create('') }
const tokens = [{ name: 'other', sha256: hashToken(OTHER), permissions: ['select' as const, 'insert' as const, 'update' as const] }]
const MINUTE = 60_000

await onEachEngine(t, 'a token that fills the queue for connections once kept another one waiting behind all of it, or out', { schema, tokens, database: { statementTimeout: MINUTE, pool: { size: 1, queue: 4, wait: MINUTE } } }, async (t, service) => {
  const { sql, operate, post, engine } = service
  const pass = (who: string, token?: string) => operate([{ table: 'gate', verb: 'update', filters: { id: 1 }, data: { n: { $inc: 1 } } }, { table: 'passed', verb: 'insert', data: { who } }], token === undefined ? {} : { token })
  await post('passed', { verb: 'select' }) // the connection is open
  await sql(engine === 'sqlite' ? 'begin immediate' : 'begin')
  await sql('update gate set n = n + 1 where id = 1')

  // one of them runs and waits for the row, four wait for it to end
  const greedy = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((who) => pass(who))
  const refused: Answer[] = []
  for (const answer of greedy) answer.then((answer) => { if (answer.status !== 200) refused.push(answer) }, () => {})
  await until('the queue is full', () => refused.length === 1)
  const other = pass('other', OTHER)
  await until('the token that has most loses a place', () => refused.length === 2)
  await sql('rollback')

  t.equal((await other).status, 200)
  t.same((await Promise.all(greedy)).map(({ status }) => status).sort(), [200, 200, 200, 200, 503, 503])
  for (const answer of refused) isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'one too many' })
  const passed = (await sql('select who from passed order by id')).map(({ who }) => who)
  t.ok(passed.indexOf('other') <= 2, `${passed.join()}: behind the one that ran and one that waited`)
})
