/** Statements that are larger than the server's max_allowed_packet. The server is told to name a smaller one than it has. */
import t, { type Test } from 'tap'
import { createRewritingProxy } from '../support/rewriting-proxy.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, startService } from '../support/service.ts'

const LARGEST = '000000000020000+0000'

const schema = { mysql: ['create table notes (id int not null auto_increment primary key, text longtext null)', 'create table kept (id int not null auto_increment primary key, text longtext null) engine = MyISAM'], sqlite: [] }

await onEachEngine(t, 'a statement that the server would not take is not sent, and a list is divided', { schema, only: ['mariadb', 'mysql'] }, async (t, { url, sql }) => {
  const toServer = (text: string): string => text.replace('@@max_allowed_packet', LARGEST.padEnd('@@max_allowed_packet'.length))
  const { post } = await startService(t as Test, await createRewritingProxy(t as Test, url, { toServer }))
  const rows = Array.from({ length: 50 }, (_, index) => ({ text: `${index}${'😀'.repeat(400)}` }))
  t.same((await post('notes', { verb: 'insert', data: rows })).json.data, { inserted: 50, id: 1 })
  t.same((await sql('select id from notes where text like concat(id - 1, \'😀%\')')).length, 50, 'in its order')
  const large = { text: 'x'.repeat(20_000) }
  const one = await post('notes', { verb: 'insert', data: large })
  isRefusal(t, one, { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'one row' })
  const select = await post('notes', { verb: 'select', filters: large })
  isRefusal(t, select, { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'a select' })
  for (const { json } of [one, select]) t.match(json.error.message, /larger than the database accepts/, 'it was once "a value that does not fit its column"')
  const answer = await post('notes', { verb: 'insert', data: [...rows.slice(0, 7), large] })
  isRefusal(t, answer, { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'a row of a list' })
  t.equal(answer.json.error.details[0].path, '/data/7')
  isRefusal(t, await post('notes', { verb: 'update', data: large, filters: { id: 1 } }), { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'an update' })
  isRefusal(t, await post('kept', { verb: 'insert', data: large }), { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'nothing was sent to a table without transactions' })
  t.equal((await sql('select id from notes')).length, 50)
})
