/** Tables and columns with odd names. test/http/odd-names-law.test.ts has many more of them. */
import t, { type Test } from 'tap'
import { checkNames, tablesOf } from '../support/odd-names.ts'
import { sharedOnEachEngine } from '../support/service.ts'

const FEW = [
  '`tick`', '"double"', "it's", 'shop.a', 'two words', 'who?', '$eq', 'back\\slash', '; drop table t', 'line\nbreak',
  't', 'c0', 'select', '__proto__', '名前', 'x'.repeat(64), ' leading', 'a,b', '$and'
]

const test = sharedOnEachEngine(t, { schema: (engine) => tablesOf(engine, FEW), keepsRows: true })

await test('names are case-sensitive and compared exactly', async (t, { post, statements }) => {
  statements()
  for (const name of [
    'TWO WORDS', 'two  words', ' two words', 'á', '`t`', '"t"', 'T', 't\0', 'schema', 'valueOf', 'isPrototypeOf',
    'sqlite_schema', 'sqlite_master', '%2a', 'x'.repeat(65)
  ]) {
    const answer = await post(name, { verb: 'select' })
    t.equal(answer.status, 404, name)
    t.equal(answer.json.error.code, 'TABLE_NOT_FOUND', name)
  }
  for (const name of ['ID', 'Id', ' id', 'id ', '`id`', '"id"', 't.id', 'rowid', 'valueOf', '*', 'id\0']) {
    const answer = await post('t', { verb: 'select', columns: [name] })
    t.equal(answer.status, 400, name)
    t.equal(answer.json.error.code, 'COLUMN_NOT_FOUND', name)
  }
  t.same(statements(), [])
})

await test('inherited property names are not columns or databases', async (t, { post }) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    t.equal((await post('t', { verb: 'select', columns: [name] })).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', `{"verb":"select","filters":{"${name}":1}}`)).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', `{"verb":"insert","data":{"id":9,"${name}":1}}`)).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', { verb: 'select', orderBy: name })).json.error.code, 'COLUMN_NOT_FOUND')
    t.equal((await post('t', { verb: 'select' }, { database: name })).json.error.code, 'DATABASE_NOT_FOUND')
  }
})

await test('tables and columns with odd names are read and written like any other, and ' +
  'nothing else is changed', async (t, service) => {
  await checkNames(t as Test, service, FEW)
})
