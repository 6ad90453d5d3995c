// night: answers of megabytes
/** The size of the answer to several operations: that of the whole request. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const UNIT = 524_288
const schema = {
  mysql: [
    'create table wide (id int primary key, wide_id int not null, text longtext, key (wide_id))',
    'insert into wide with recursive n (id) as (select 1 union all select id + 1 from n where id < 10) select id, ' +
      "id, repeat('0', 262144) from n"
  ],
  sqlite: [
    'create table wide (id integer primary key, wide_id integer not null, text text)',
    'create index by_wide on wide (wide_id)',
    `insert into wide with recursive n (id) as (select 1 union all select id + 1 from n where id < 10)
      select id, id, hex(zeroblob(${UNIT / 4})) from n`
  ]
}
const select = (limit: number, rest: object = {}) => ({ table: 'wide', verb: 'select', limit, ...rest })
const include = { own: { table: 'wide', on: { id: 'wide_id' }, limit: 1 } }
const isTooLarge = { status: 422, json: { error: { code: 'RESULT_TOO_LARGE', details: [{ path: '/operations/2' }] } } }

await onEachEngine(t, 'operations of an idle service are answered up to the size of one answer, ' +
  'and beyond it never', { schema, options: { limits: { answerMemory: 8 * UNIT } } }, async (t, { operate }) => {
  for (let each = 0; each < 2; each++) {
    t.match(await operate([select(5), select(5)]), { status: 200 }, '5 of 6 units')
    const refused = await operate([select(5), select(5), select(4)])
    t.match(refused, isTooLarge)
    t.match(refused.json.error.message, `larger than ${6 * UNIT} bytes`)
  }
})

await onEachEngine(t, 'resultLimit is that of all ' +
  'operations together', { schema, database: { resultLimit: 3 * UNIT } }, async (t, { operate }) => {
  t.match(await operate([select(2), select(2)]), { status: 200 })
  const refused = await operate([select(2), select(2), select(4)])
  t.match(refused, isTooLarge)
  t.match(refused.json.error.message, `larger than ${3 * UNIT} bytes`)
})

await onEachEngine(t, 'rows of members, which are copied, count twice beside the ' +
  'answers before them', { schema, options: { limits: { answerMemory: 8 * UNIT } } }, async (t, { operate }) => {
  t.match(await operate([select(2), select(1), select(2, { include })]), { status: 200 }, '1.5 units, and 2 twice')
  t.match(await operate([select(2), select(1), select(3, { include })]), isTooLarge, '1.5 units, and 3 twice')
})
