/** The schemas of `after`, `offset`, `total` and `next`: a document accepts what the service accepts. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { get } from '../support/documents.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'

const schema = (engine: EngineName): string[] => [
  'create table events (id bigint not null primary key, at datetime null, code decimal(10,2) not null, doc json null)',
  "insert into events values (1, '2026-01-01 00:00:00', 1.5, '{}'), (2, null, 2, null)",
  'create table no_key (a int null)', 'insert into no_key values (1), (2)',
  ...engine === 'sqlite' ? [] : ["create table labelled (id int not null primary key, labels set('a') null)"]
]

const accepted: Array<[table: string, body: object]> = [
  ['events', { after: null, limit: 1 }], ['events', { after: { id: 1 } }], ['events', { orderBy: 'at DESC', limit: 1, after: { at: '2026-01-02T00:00:00', id: 1 } }], ['events', { orderBy: 'at', limit: 1, after: null }],
  ['events', { orderBy: 'code', limit: 1, after: { code: '0.00', id: 9 }, total: true }], ['events', { offset: 0, limit: 1, total: 5 }], ['events', { total: 1 }], ['no_key', { offset: 0, limit: 1 }], ['no_key', { total: true }]
]
const rejected: Array<[table: string, body: object]> = [
  ['events', { after: { nope: 1 } }], ['events', { after: { id: 'x' } }], ['events', { after: { doc: {} } }], ['events', { after: { id: null } }], ['events', { after: 5 }], ['events', { offset: -1 }], ['events', { total: false }], ['events', { total: 0 }],
  ['no_key', { after: null }]
]

await onEachEngine(t, 'positions are typed by the columns of the table', { schema }, async (t, { server, post, engine }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  const nameOf = (table: string): string => table === 'events' ? 'Events' : 'NoKey'
  const check = (name: string, value: unknown): boolean => ajv.validate(`document#/components/schemas/${name}`, value)
  for (const [table, fields] of accepted) {
    const body = { verb: 'select', ...fields }
    t.ok(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    const { status, json, text } = await post(table, body)
    t.equal(status, 200, text)
    t.ok(check(`${nameOf(table)}SelectResponse`, json), text)
  }
  for (const [table, fields] of rejected) {
    const body = { verb: 'select', ...fields }
    t.notOk(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    t.not((await post(table, body)).status, 200)
  }
  t.same(Object.keys(document.components.schemas.EventsPosition.properties), ['id', 'at', 'code'])
  if (engine !== 'sqlite') t.same(Object.keys(document.components.schemas.LabelledPosition.properties), ['id'])
  t.equal(document.components.schemas.NoKeyPosition, undefined)
})
