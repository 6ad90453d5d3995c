// night: needs a process of its own
// alone: adds a field to the schemas before they are used
/** A row that is added to schemas/fields.ts is a field: checked, authorized, documented, and an argument of tools. */
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { FIELDS, type Field } from '../../schemas/fields.ts'

// before the modules that derive something from the rows
const rows: Readonly<Record<string, Field>> = {
  weight: { in: { operations: Type.Optional(Type.Integer({ minimum: 1, description: 'How much it weighs.' })) } },
  color: { in: { operations: Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('green')])) } },
  labels: { in: { operations: Type.Optional(Type.Array(Type.String())) } },
  other: { in: { operations: Type.Optional(Type.Null()) } },
  mark: { in: { selectInTransaction: Type.Optional(Type.String({ maxLength: 3, description: 'A mark.' })) } },
  label: {
    in: { select: Type.Optional(Type.String({ maxLength: 5 })) },
    expected: 'a short text',
    excludes: { select: ['offset'] },
    needs: { select: 'delete' },
    needsAllRows: true,
    isNoPage: true
  }
}
Object.assign(FIELDS, rows)
const { isRefusal } = await import('../support/refusals.ts')
const { onEachEngine, TOKEN } = await import('../support/service.ts')

const { callOf, send } = await import('../support/mcp.ts')
const { tokenOf } = await import('../grants/support.ts')

const create = 'create table things (id integer not null primary key)'

await onEachEngine(t, 'a field that is added to several operations, or to one of them, is checked and documented', {
  schema: { sqlite: [create], mysql: [create] }, only: ['sqlite']
}, async (t, { operate, post, server }) => {
  const select = { table: 'things', verb: 'select', limit: 1 }
  const update = { table: 'things', verb: 'delete', filters: { id: 1 } }
  t.same((await operate({
    operations: [{ ...select, mark: 'abc' }], weight: 2, color: 'red', labels: ['x'], other: null
  })).json.data, { results: [{ rows: [], count: 0 }] })
  const refused: Array<[body: object, path: string, message: string]> = [
    [{ operations: [select], weight: 0 }, '/weight', '"weight" must be a whole number'],
    [{ operations: [select], color: 'blue' }, '/color', '"color" must be one of red, green'],
    [{ operations: [select], labels: 'x' }, '/labels', '"labels" must be a list of labels'],
    [{ operations: [select], other: 1 }, '/other', '"other" must be what the OpenAPI document says'],
    [{ operations: [select], height: 1 }, '/height', '"height" is not allowed here; did you mean "weight"?'],
    [{ operations: [{ ...select, mark: 'abcd' }] }, '/operations/0/mark', '"mark" must be a string'],
    [
      { operations: [select, { ...update, mark: 'abc' }] }, '/operations/1/mark',
      '"mark" is not allowed with delete; it is a field of select'
    ],
    [{ operations: [{ ...select, lock: 1 }] }, '/operations/0/lock', '"lock" must be true or false'],
    [{ operations: [{ ...select, table: 1 }] }, '/operations/0/table', '"table" must be the name of a table'],
    [
      { operations: [{ ...select, dryRun: true }] }, '/operations/0/dryRun',
      '"dryRun" is not allowed in an operation; it belongs beside "operations"'
    ]
  ]
  for (const [body, path, message] of refused) {
    const answer = await operate(body)
    isRefusal(t, answer, { status: 400, code: 'INVALID_BODY', why: path })
    t.match(answer.json.error, { message, details: [{ path }] })
  }
  isRefusal(t, await post('things', { verb: 'select', mark: 'abc' }), {
    status: 400, code: 'INVALID_BODY', why: 'no field of a single request'
  })

  for (const url of ['/api/openapi.json', '/api/shop/openapi.json']) {
    const { components: { schemas } } = (await server.app.inject({
      url, headers: { authorization: `Bearer ${TOKEN}` }
    })).json()
    const { OperationsRequest: request } = schemas
    t.same(request.properties.weight, { type: 'integer', minimum: 1, description: 'How much it weighs.' }, url)
    t.same(request.properties.color, { type: 'string', enum: ['red', 'green'] })
    t.same(request.required, ['operations'])
    const marked = Object.keys(schemas).filter((name) => schemas[name].properties?.mark !== undefined)
    t.same(marked, url === '/api/openapi.json' ? ['SelectOperation'] : ['SelectOperation', 'ThingsSelectOperation'])
  }
})

const tokens = [tokenOf('reader', { permissions: ['select'] })]
const settings = {
  schema: { sqlite: [create], mysql: [create] }, tokens, options: { mcp: {} }, only: ['sqlite' as const]
}

await onEachEngine(t, 'a field that is added to a verb has ' +
  'what its row says', settings, async (t, { operate, post, server }) => {
  const select = { verb: 'select', label: 'mine' }
  const data = { rows: [], count: 0 }
  t.same((await post('things', select)).json.data, data)
  t.same((await operate({ operations: [{ ...select, table: 'things' }] })).json.data.results, [data])
  const refused: Array<[status: number, message: string, path: string[], body: object, options?: object]> = [
    [400, '"label" must be a short text', ['/label'], { ...select, label: 'longer' }],
    [400, '"offset" is not allowed with "label"', ['/offset'], { ...select, offset: 0 }],
    [400, '"label" is not allowed in a stream', ['/label'], select, { headers: { accept: 'text/csv' } }],
    [400, '"label" is not allowed with delete; it is a field of select', ['/label'], {
      ...select, verb: 'delete', filters: { id: 1 }
    }],
    [403, '"label" needs the permission delete, which the token does not have', [], select, { token: 'reader' }]
  ]
  for (const [status, message, paths, body, options] of refused) {
    const { status: answered, json: { error } } = await post('things', body, options)
    t.same([answered, error.message, error.details.map(({ path }: { path: string }) => path)], [status, message, paths])
  }

  for (const token of [TOKEN, 'reader']) {
    const { components: { schemas } } = (await server.app.inject({
      url: '/api/shop/openapi.json', headers: { authorization: `Bearer ${token}` }
    })).json()
    t.same(schemas.ThingsSelectRequest.properties.label, token === TOKEN
      ? { type: 'string', maxLength: 5, description: 'Not together with offset.' }
      : undefined)
  }
  const { json } = await send({ server }, callOf('select', { database: 'shop', table: 'things', label: 'mine' }))
  t.same(JSON.parse(json.result.content[0].text), data, 'not a page')
})
