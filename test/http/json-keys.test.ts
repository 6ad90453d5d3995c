/** Keys with escapes, as PHP and Python send each name that is not ASCII. */
import t from 'tap'
import { parseSafely } from '../../src/json/parser.ts'
import { sharedOnEachEngine } from '../support/service.ts'

const schema = {
  sqlite: ['create table documents (id integer primary key, "größe" text, value json)'],
  mysql: ['create table documents (id int primary key, `größe` varchar(20), value json)']
}

const test = sharedOnEachEngine(t, { schema })

await test('a key with an escape is stored as it is, whatever other clients have sent', async (t, service) => {
  const insert = (id: number, value: string, column = 'value'): string => `{"verb":"insert","data":{"id":${id},"${column}":${value}}}`
  const keys = [['caf\\\\', 'caf\\u00e9', 'café'], ['\\\\', '\\n', '\n'], ['https:\\\\/', 'https:\\/\\/', 'https://']] as const
  for (const [at, [poison, key, name]] of keys.entries()) {
    const [first, second] = [at * 4, at * 4 + 2]
    for (const [more, number] of [[first, '2'], [second, '12345678901234567']] as const) {
      t.match(await service.post('documents', insert(more, `{"id":1,"${poison}":${number}}`)), { status: 200 })
      t.match(await service.post('documents', insert(more + 1, `{"id":1,"${key}":${number}}`)), { status: 200 })
      const [{ text: stored }] = await service.sql(`select ${service.engine === 'sqlite' ? 'value' : 'cast(value as char)'} as text from documents where id = ${more + 1}`) as [{ text: string }]
      t.same(Object.keys(parseSafely(stored, Number) as object).sort(), ['id', name].sort(), `${key} after ${poison}`)
    }
  }
})

await test('a column whose name has an escape is found, whatever other clients have sent', async (t, service) => {
  t.match(await service.post('documents', '{"verb":"insert","data":{"id":1,"gr\\\\u00":"x"}}'), { status: 400, json: { error: { code: 'COLUMN_NOT_FOUND' } } })
  t.match(await service.post('documents', '{"verb":"insert","data":{"id":1,"gr\\u00f6\\u00dfe":"x"}}'), { status: 200 })
  t.match(await service.operate('{"operations":[{"table":"documents","verb":"select","filters":{"gr\\u00f6\\u00dfe":"x"}}]}'), { status: 200, json: { data: { results: [{ count: 1 }] } } })
})
