/** Values of JSON columns: numbers stay unchanged, and objects that look like operators are sent under `$eq`. */
import t from 'tap'
import { onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'

const schema = () => ['create table documents (id integer not null primary key, doc json null)', 'create table strict_documents (id integer not null primary key, doc json not null)']

const insert = (id: number, doc: string, table = 'documents'): [string, string] => [table, `{"verb":"insert","data":{"id":${id},"doc":${doc}}}`]
/** The text of the stored document in the response to a select. */
async function shown ({ post }: Service, id: number): Promise<string> {
  const { text } = await post('documents', { verb: 'select', columns: ['doc'], filters: { id } })
  return /"rows":\[{"doc":(.*)}\],"count"/.exec(text)?.[1] as string
}

const NUMBERS = '{"lat":52.0,"n":1e2,"list":[12.50,-0,0.0,1E+2,[1.5e-3],0.0000001],"big":18446744073709551615,"whole":52}'

const test = sharedOnEachEngine(t, { schema })

await test('a number in JSON was once stored as JavaScript writes it: 52.0 as 52', async (t, service) => {
  const { engine, post, sql } = service
  t.match(await post(...insert(1, NUMBERS)), { status: 200 })
  t.match(await post(...insert(2, '{}')), { status: 200 })
  t.match((await post('documents', `{"verb":"update","data":{"doc":${NUMBERS}},"filters":{"id":2}}`)).json, { data: { updated: 1 } })
  for (const id of [1, 2]) {
    if (engine !== 'mysql') t.equal(await shown(service, id), NUMBERS)
    // MySQL stores 64-bit integers and doubles, and sorts keys
    else t.equal((await shown(service, id)).replaceAll(' ', ''), '{"n":100.0,"big":18446744073709551615,"lat":52.0,"list":[12.5,0,0.0,100.0,[0.0015],0.0000001],"whole":52}')
  }
  if (engine === 'mysql') t.same(await sql("select json_type(json_extract(doc, '$.lat')) as lat, json_type(json_extract(doc, '$.whole')) as whole from documents where id = 1"), [{ lat: 'DOUBLE', whole: 'INTEGER' }])
  t.match((await post('documents', `{"verb":"select","filters":{"doc":${await shown(service, 1)}}}`)).json, { data: { count: 2 } }, 'and a filter finds it')
})

await onEachEngine(t, 'numbers with a decimal point or an exponent are accepted in every number column', {
  schema: () => ['create table numbers (id integer not null primary key, whole bigint null, price decimal(6,2) null, ratio double null)']
}, async (t, { post }) => {
  t.match(await post('numbers', '{"verb":"insert","data":{"id":1.0,"whole":1e2,"price":12.50,"ratio":-0.0}}'), { status: 200 })
  t.match((await post('numbers', '{"verb":"select","filters":{"id":1.0,"whole":{"$in":[1.0e2,5.0]},"price":{"$between":[1e1,13.0]},"ratio":{"$lte":0.0}},"limit":1e1}')).json,
    { data: { rows: [{ id: 1, whole: 100, price: '12.50' }], count: 1 } })
  t.match((await post('numbers', '{"verb":"select","limit":1.50}')).json, { error: { code: 'INVALID_BODY' } })
  t.match((await post('numbers', '{"verb":"select","filters":{"whole":1.50}}')).json, { error: { code: 'INVALID_VALUE' } })
})

await test('an object whose keys all begin with $ is a value of a JSON column under $eq alone', async (t, service) => {
  const { post, statements } = service
  const values = ['{"$x":1}', '{"$eq":{"$x":1}}', '{"$eq":null}', '{"$inc":1.50}', '[{"$x":1}]', '{"a":{"$x":1}}', '{"$x":1,"a":2}', '{}', '5', '"$x"', 'null']
  for (const [index, value] of values.entries()) {
    t.match(await post(...insert(index, `{"$eq":${value}}`)), { status: 200 }, value)
    const text = await shown(service, index)
    t.same(JSON.parse(text), JSON.parse(value))
    t.match((await post('documents', `{"verb":"select","filters":{"id":${index},"doc":{"$eq":${text}}}}`)).json, { data: { count: 1 } }, `a filter finds ${value}`)
    t.match(await post(...insert(100 + index, `{"$eq":${text}}`)), { status: 200 }, `${value} is accepted again`)
    t.match((await post('documents', `{"verb":"update","data":{"doc":{"$eq":${value}}},"filters":{"id":0}}`)), { status: 200 })
  }
  t.match(await post(...insert(1, '{"$eq":null}', 'strict_documents')), { status: 200 }, "JSON's own null where the column takes no other")
  t.match(await post(...insert(500, '{"$x":1,"a":2}')), { status: 200 }, 'one key that does not begin so makes it a value')
  statements()
  for (const [value, key] of [['{"$x":1}', '$x'], ['{"$eq":1,"$x":2}', '$x'], ['{"$ref":"/0/id"}', '$ref'], ['{"$inc":1}', '$inc']] as const) {
    for (const body of [`{"verb":"insert","data":{"id":900,"doc":${value}}}`, `{"verb":"update","data":{"doc":${value}},"filters":{"id":1}}`]) {
      t.match((await post('documents', body)).json.error, { code: 'INVALID_VALUE', message: `Column "doc": "${key}" is not allowed here`, details: [{ path: '/data/doc' }] }, body)
    }
    t.match((await post('documents', `{"verb":"delete","filters":{"doc":${value}}}`)).json.error, { code: 'INVALID_VALUE' }, 'as in filters')
  }
  t.match((await post('documents', '{"verb":"select","filters":{"id":{"$x":1}}}')).json.error, { code: 'INVALID_BODY' }, 'what is no operator is one for no other column')
  t.same(statements(), [])
})
