/** Types for which servers change values silently. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

await onEachEngine(t, 'a number with more digits than DOUBLE(M,D) or FLOAT(M,D) stores was once rounded', {
  only: ['mariadb', 'mysql'],
  schema: () => ['create table fixed (id int not null auto_increment primary key, amount double(10,2) null, ratio float(7,3) null, plain double null)']
}, async (t, { post, statements }) => {
  t.match(await post('fixed', '{"verb":"insert","data":{"amount":99999999.99,"ratio":9999.999,"plain":1.005}}'), { status: 200 })
  t.match(await post('fixed', '{"verb":"insert","data":{"amount":0.10,"ratio":1e0}}'), { status: 200 })
  statements()
  for (const [column, value] of [['amount', '1.005'], ['amount', '100000000'], ['ratio', '0.0001'], ['ratio', '10000']]) {
    for (const body of [`{"verb":"insert","data":{"${column}":${value}}}`, `{"verb":"update","data":{"${column}":${value}},"filters":{"id":1}}`, `{"verb":"select","filters":{"${column}":${value}}}`]) {
      t.match((await post('fixed', body)).json, { error: { code: 'INVALID_VALUE', message: new RegExp(`^Column "${column}": can have at most \\d digits`) } }, body)
    }
  }
  t.same(statements(), [])
  for (const filters of ['{"amount":99999999.99}', '{"ratio":9999.999}', '{"amount":{"$gte":99999999.99}}']) t.match((await post('fixed', `{"verb":"select","filters":${filters}}`)).json.data, { count: 1, rows: [{ id: 1, amount: 99999999.99, ratio: 9999.999 }] }, filters)
})

await onEachEngine(t, 'the empty string that an ENUM stores for an invalid member can be selected, filtered and, on MySQL, written again', {
  only: ['mariadb', 'mysql'],
  schema: () => ["create table chosen (id int not null auto_increment primary key, kind enum('a', 'b') not null, other enum('a', '') not null default 'a')"]
}, async (t, { engine, post, sql }) => {
  await sql("set session sql_mode = ''")
  await sql("insert into chosen (kind) values ('zz')")
  const { rows: [row] } = (await post('chosen', { verb: 'select', filters: { kind: '' } })).json.data
  t.same(row, { id: 1, kind: '', other: 'a' })
  const again = await post('chosen', { verb: 'insert', data: { ...row, id: 2 } })
  const change = await post('chosen', { verb: 'update', data: { kind: '', other: '' }, filters: { id: 1 } })
  if (engine === 'mariadb') {
    for (const { json } of [again, change]) t.match(json.error, { code: 'VALUE_OUT_OF_RANGE' }, 'in strict mode the server rejects it in every form')
  } else {
    t.match([again, change], [{ status: 200 }, { status: 200 }])
    t.match(await sql('select kind + 0 as kind, other + 0 as other from chosen order by id'), [{ kind: 0, other: 2 }, { kind: 0, other: 1 }])
    t.match((await post('chosen', { verb: 'select', filters: { kind: '' } })).json.data, { count: 2 })
  }
  t.match((await post('chosen', { verb: 'insert', data: { kind: '0' } })).json.error, { code: 'INVALID_VALUE' })
})
