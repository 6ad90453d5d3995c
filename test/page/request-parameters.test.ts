/** How the page reads the parameters of named requests, and the query strings that it writes. */
import t from 'tap'
import { fitsQuery, queryOf, readRequests, type NamedRequest } from '../../page/requests.ts'
import { get } from '../support/documents.ts'
import { onEachEngine, TOKEN, type Schema } from '../support/service.ts'

const NAMES = ['title', 'body', 'day', 'at', 'moment', 'price', 'is_new', 'meta', 'photo']
const schema: Schema = (engine) => [
  `create table things (id integer primary key, title varchar(50), body
    text${engine === 'sqlite' ? '' : ' character set latin1'}, day date, at datetime, moment timestamp null,
    price decimal(10,2), is_new boolean, meta json, photo
    blob${engine === 'sqlite' ? '' : ", size enum('s', 'm'), colors set('red', 'blue')"})`
]
const param = (name: string) => ({ $param: name })
const optional = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { optional: true }]))
const add = {
  database: 'shop',
  table: 'things',
  parameters: { id: {}, ...optional(NAMES) },
  body: {
    verb: 'insert', data: Object.fromEntries(['id', ...NAMES].map((name) => [name, param(name)]))
  }
}
const find = {
  database: 'shop',
  table: 'things',
  parameters: {
    ids: {}, metas: { optional: true }, after: { default: null }
  },
  body: {
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    limit: 2,
    after: param('after'),
    filters: { id: { $in: param('ids') }, meta: { $in: param('metas') } }
  }
}
const members = {
  database: 'shop',
  table: 'things',
  parameters: optional(['sizes', 'sets', 'not']),
  body: {
    verb: 'select', filters: { size: { $in: param('sizes') }, colors: { $in: param('sets'), $ne: param('not') } }
  }
}

for (const [only, requests] of [
  [['sqlite', 'mariadb', 'mysql'], { add, find }], [['mariadb', 'mysql'], { members }]
] as const) {
  await onEachEngine(t, `the page reads parameters: ${Object.keys(requests).join(', ')}`, {
    schema, only: [...only], options: { requests, docs: true } as any
  }, async (t, { server }) => {
    const { json } = await get(server, '/requests/openapi.json')
    const known = new Map(readRequests(json).map((request) => [request.name, request]))
    const call = async (request: NamedRequest, values: any): Promise<any> => {
      const { body } = await server.app.inject({
        url: `/api${request.path}${queryOf(request, values)}`, headers: { authorization: `Bearer ${TOKEN}` }
      })
      return JSON.parse(body)
    }
    const [added, found, ofMembers] = ['add', 'find', 'members'].map(
      (name) => known.get(name) as NamedRequest
    ) as [NamedRequest, NamedRequest, NamedRequest]
    if (ofMembers !== undefined) {
      t.match(ofMembers.parameters, [
        { isList: true, hasLines: false, column: { kind: 'list', members: ['s', 'm'] } },
        { isList: true, hasLines: true }, { isList: false, column: { kind: 'list', members: ['red', 'blue'] } }
      ])
      t.match(await call(ofMembers, { sizes: ['s', 'm'], sets: [['red'], ['red', 'blue']], not: ['blue'] }), {
        success: true
      })
      return
    }
    t.same(Object.fromEntries(
      added.parameters.map(({ column: { name, kind, type } }) => [name, kind === 'text' ? type : kind])
    ), {
      id: 'integer',
      title: 'text',
      body: 'text',
      day: 'date',
      at: 'datetime',
      moment: 'timestamp',
      price: 'decimal',
      is_new: 'boolean',
      meta: 'json',
      photo: 'bytes'
    })
    t.same(added.parameters.filter(({ column }) => column.isRequired).map(({ column }) => column.name), ['id'])
    t.match(found.parameters, [
      { isList: true, hasLines: true, column: { kind: 'integer' } }, { isList: true, column: { kind: 'json' } },
      { isPosition: true, column: { default: null } }
    ])
    t.match(await call(found, { ids: [1, 2], metas: [{ $gt: 0 }, 'a & é', 3], after: { id: 1 } }), {
      success: true, data: { rows: [] }
    })
    t.same([{ ids: [] }, { ids: [null] }, { ids: [1], after: null }].map((values) => fitsQuery(found, values)), [
      false, false, true
    ])
  })
}
