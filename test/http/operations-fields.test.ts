// night: needs a process of its own
// alone: adds a field to the schemas before they are used
/** A field that is added to schemas/fields.ts is checked and documented. */
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { FIELDS, type Field } from '../../schemas/fields.ts'

// before the modules that derive something from the rows
const rows: Readonly<Record<string, Field>> = {
  weight: { in: { operations: Type.Optional(Type.Integer({ minimum: 1, description: 'How much it weighs.' })) } },
  color: { in: { operations: Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('green')])) } },
  labels: { in: { operations: Type.Optional(Type.Array(Type.String())) } },
  other: { in: { operations: Type.Optional(Type.Null()) } },
  mark: { in: { selectInTransaction: Type.Optional(Type.String({ maxLength: 3, description: 'A mark.' })) } }
}
Object.assign(FIELDS, rows)
const { isRefusal } = await import('../support/refusals.ts')
const { onEachEngine, TOKEN } = await import('../support/service.ts')

const create = 'create table things (id integer not null primary key)'

await onEachEngine(t, 'a field that is added to several operations, or to one of them, is checked and documented', { schema: { sqlite: [create], mysql: [create] }, only: ['sqlite'] }, async (t, { operate, post, server }) => {
  const select = { table: 'things', verb: 'select', limit: 1 }
  const update = { table: 'things', verb: 'delete', filters: { id: 1 } }
  t.same((await operate({ operations: [{ ...select, mark: 'abc' }], weight: 2, color: 'red', labels: ['x'], other: null })).json.data, { results: [{ rows: [], count: 0 }] })
  const refused: Array<[body: object, path: string, message: string]> = [
    [{ operations: [select], weight: 0 }, '/weight', '"weight" must be a whole number'],
    [{ operations: [select], color: 'blue' }, '/color', '"color" must be one of red, green'],
    [{ operations: [select], labels: 'x' }, '/labels', '"labels" must be a list of labels'],
    [{ operations: [select], other: 1 }, '/other', '"other" must be what the OpenAPI document says'],
    [{ operations: [select], height: 1 }, '/height', '"height" is not allowed here; the fields are operations, isolation, dryRun, weight, color, labels, other'],
    [{ operations: [{ ...select, mark: 'abcd' }] }, '/operations/0/mark', '"mark" must be a string'],
    [{ operations: [select, { ...update, mark: 'abc' }] }, '/operations/1/mark', '"mark" is not allowed with delete; it is a field of select'],
    [{ operations: [{ ...select, lock: 1 }] }, '/operations/0/lock', '"lock" must be true or false'],
    [{ operations: [{ ...select, table: 1 }] }, '/operations/0/table', '"table" must be the name of a table'],
    [{ operations: [{ ...select, dryRun: true }] }, '/operations/0/dryRun', '"dryRun" is not allowed in an operation; it belongs beside "operations"']
  ]
  for (const [body, path, message] of refused) {
    const answer = await operate(body)
    isRefusal(t, answer, { status: 400, code: 'INVALID_BODY', why: path })
    t.match(answer.json.error, { message, details: [{ path }] })
  }
  isRefusal(t, await post('things', { verb: 'select', mark: 'abc' }), { status: 400, code: 'INVALID_BODY', why: 'no field of a single request' })

  for (const url of ['/api/openapi.json', '/api/shop/openapi.json']) {
    const { components: { schemas } } = (await server.app.inject({ url, headers: { authorization: `Bearer ${TOKEN}` } })).json()
    const { OperationsRequest: request } = schemas
    t.same(request.properties.weight, { type: 'integer', minimum: 1, description: 'How much it weighs.' }, url)
    t.same(request.properties.color, { type: 'string', enum: ['red', 'green'] })
    t.same(request.required, ['operations'])
    const marked = Object.keys(schemas).filter((name) => schemas[name].properties?.mark !== undefined)
    t.same(marked, url === '/api/openapi.json' ? ['SelectOperation'] : ['ThingsSelectOperation', 'OperationWithReferences'])
  }
})
