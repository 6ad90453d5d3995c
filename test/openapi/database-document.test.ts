/** The document of a database describes its tables and accepts what the service accepts. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { get, referencesIn, tokenFor } from '../support/documents.ts'
import { anyEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

/** Types and comments that only MySQL and MariaDB have are left out for SQLite. */
const facts = {
  mysql: [
    'create table people (id bigint unsigned not null auto_increment primary key, `a.b` int null, __proto__ ' +
      "varchar(10) null) comment 'who there is'",
    `create table things (
      code char(4) not null primary key, owner bigint unsigned not null, second_owner bigint unsigned null,
      kind enum('new', 'it''s') not null default 'it''s', marks set('a', 'b') null default 'a',
      small tinyint unsigned not null default 7, year year null,
      amount decimal(12,3) not null default 1.5, ratio float null, big bigint null default 9223372036854775807,
      title varchar(40) not null comment 'shown */ on top', flag bool not null default 1, bits bit(5) null,
      one bit null,
      made datetime(3) not null default current_timestamp(3), seen timestamp null, day date null, moment time null,
      doc json not null, data varbinary(30) null, place point null,
      doubled int generated always as (small * 2) virtual, unique key title_kind (title, kind),
      unique key owner_code (owner, code),
      constraint things_owner foreign key (owner) references people (id),
      constraint things_second foreign key (second_owner) references people (id))`,
    'create view titles as select code, title from things'
  ],
  sqlite: [
    'create table people (id integer primary key autoincrement, "a.b" int null, __proto__ varchar(10) null)',
    `create table things (
      code char(4) not null primary key, owner integer not null references people (id),
      second_owner integer null references people (id),
      kind varchar(4) not null default 'it''s', marks text null, small integer not null default 7, year integer null,
      amount decimal(12,3) not null default 1.5, ratio real null, big bigint null default 9223372036854775807,
      title varchar(40) not null, flag boolean not null default 1, bits text null, one boolean null,
      made datetime not null default current_timestamp, seen timestamp null, day date null, moment time null,
      doc json not null, data blob null, place blob null,
      doubled int generated always as (small * 2) virtual, constraint title_kind unique (title, kind))`,
    'create view titles as select code, title from things'
  ]
}

type Expected = Record<string, object>

const everywhere: Expected = {
  amount: { type: 'string', format: 'decimal', pattern: '^-?\\d{1,9}(\\.\\d{1,3})?$' },
  doc: { description: 'Any JSON value.' },
  seen: { type: ['string', 'null'], format: 'date-time' },
  day: { type: ['string', 'null'], format: 'date' },
  made: { type: 'string', pattern: String, description: 'A date and time without an offset.' },
  data: { type: ['string', 'null'], contentEncoding: 'base64' },
  doubled: { readOnly: true },
  owner: { 'x-references': { table: 'people', column: 'id' } },
  second_owner: { 'x-references': { table: 'people', column: 'id' } }
}
const ofEngine: Record<EngineName, Expected> = {
  sqlite: {
    title: { type: 'string', 'x-sql-type': 'varchar(40)' },
    flag: { type: 'integer' },
    small: { type: 'integer', format: 'int64' }
  },
  get mysql () { return this.mariadb },
  mariadb: {
    code: { type: 'string', maxLength: 4, 'x-sql-type': 'char(4)' },
    owner: { type: 'integer', format: 'int64', minimum: 0 },
    kind: { type: 'string', enum: ['new', "it's"] },
    marks: { type: ['array', 'null'], items: { enum: ['a', 'b'] }, uniqueItems: true },
    small: { type: 'integer', format: 'int32', minimum: 0, maximum: 255 },
    year: { type: ['integer', 'null'], minimum: 0, maximum: 2155, description: /1901/ },
    ratio: { type: ['number', 'null'], format: 'float' },
    title: { type: 'string', maxLength: 40, description: 'shown */ on top' },
    flag: { type: 'integer', format: 'int32' },
    bits: { type: ['string', 'null'], pattern: '^[01]{1,5}$' },
    one: { type: ['boolean', 'null'] },
    data: { type: ['string', 'null'], contentEncoding: 'base64', maxLength: 40 },
    place: { type: ['object', 'null'], properties: { type: { enum: ['Point'] } } }
  }
}

const testFacts = sharedOnEachEngine(t, {
  schema: facts,
  tokens: [
    tokenFor('reader', ['select']), tokenFor('writer', ['insert']), tokenFor('remover', ['delete']),
    tokenFor('some', ['select'], { shop: ['things'] })
  ]
})

const WRITES = 'token-that-writes-0123456789-0123456789'
const writer = [
  { name: 'changes', sha256: hashToken(WRITES), permissions: ['insert' as const, 'update' as const, 'delete' as const] }
]

type Check = (name: string, value: unknown) => boolean

/**
 * By the server whose document they are for: compiling its schemas takes longer than using them, and to optimize their
 * code a fifth of this file.
 */
const checks = new WeakMap<object, Check>()

/** Tells whether a value is as a schema of the document says. */
function createCheck (document: any, server: object = document): Check {
  const known = checks.get(server)
  if (known !== undefined) return known
  const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false } })
  ajv.addSchema(document, 'document')
  const check: Check = (name, value) => ajv.validate(`document#/components/schemas/${name}`, value)
  checks.set(server, check)
  return check
}

const events = (engine: EngineName): string[] => [
  'create table events (id bigint not null primary key, at datetime null, code decimal(10,2) not null, doc json null)',
  "insert into events values (1, '2026-01-01 00:00:00', 1.5, '{}'), (2, null, 2, null)",
  'create table no_key (a int null)', 'insert into no_key values (1), (2)',
  ...engine === 'sqlite' ? [] : ["create table labelled (id int not null primary key, labels set('a') null)"]
]

const memberTokens = [
  tokenFor('some', ['select'], { shop: ['orders', 'order_lines'] }),
  {
    ...tokenFor('narrow', ['select']),
    databases: {
      shop: {
        orders: {},
        customers: { columns: { select: ['id', 'name'] } },
        order_items: { columns: { select: ['line', 'price'] } }
      }
    }
  },
  { ...tokenFor('views', ['select']), databases: { shop: ['order_lines'] } },
  {
    ...tokenFor('writes', ['select', 'insert']),
    databases: { shop: { orders: {}, customers: { permissions: ['insert' as const] } } }
  }
]

const only = await anyEngine(t)
const testShop = sharedOnEachEngine(t, {
  only,
  schema: (engine) => [...engine === 'sqlite' ? shop.sqlite : shop.mysql, ...events(engine)],
  tokens: [...writer, ...memberTokens, tokenFor('inserts', ['insert'], { shop: ['customers'] })]
})

await testFacts('a row has a schema for each column', async (t, { server, engine }) => {
  const { json: { components: { schemas }, tags } } = await get(server, '/shop/openapi.json')
  const { ThingsRow: row, TitlesRow: view, PeopleRow: people } = schemas
  t.equal(row.required, undefined, 'a row has the columns that were asked for')
  t.same(
    [row.additionalProperties, row.unevaluatedProperties], [undefined, { $ref: '#/components/schemas/Related' }],
    'and members'
  )
  t.match(row.properties, { ...everywhere, ...ofEngine[engine] })
  t.notMatch(row.properties.big, { maximum: Number }, 'no bound that a JSON number would round')
  t.same(row['x-primary-key'], ['code'])
  t.same(row['x-unique-keys'].map((key: any) => key.columns.join()).sort(), engine === 'sqlite'
    ? ['code', 'title,kind']
    : ['code', 'owner,code', 'title,kind'])
  t.same(row['x-foreign-keys'].map((key: any) => [key.columns, key.referencedTable, key.referencedColumns]).sort(), [
    [['owner'], 'people', ['id']], [['second_owner'], 'people', ['id']]
  ])
  t.same(Object.keys(people.properties), ['id', 'a.b', '__proto__'])
  t.match(people.properties.id, { 'x-auto-increment': true })
  t.same(Object.keys(view.properties), ['code', 'title'])
  t.same(schemas.ThingsColumn.enum, Object.keys(row.properties))
  if (engine !== 'sqlite') t.match(tags, [{ name: 'people', description: 'who there is' }])
})

await testFacts('the data of insert and update has the writable columns; those without a ' +
  'default are required', async (t, { server, engine }) => {
  const { json: { components: { schemas } }, text } = await get(server, '/shop/openapi.json')
  const { ThingsInsert: insert, ThingsUpdate: update, ThingsRow: row, PeopleInsert: people } = schemas
  t.same(insert.required, ['code', 'owner', 'title', 'doc'])
  t.same(people.required, undefined)
  const writable = Object.keys(row.properties).filter((name) => name !== 'doubled')
  for (const schema of [insert, update]) {
    t.same(Object.keys(schema.properties), writable)
    t.equal(schema.additionalProperties, false)
    t.match(schema.properties.amount, { anyOf: [{ type: 'string' }, { type: 'number' }] }, 'more is taken than shown')
    t.match(schema.properties.flag, { anyOf: [{ type: 'integer' }, { type: 'boolean' }] })
  }
  t.same(update.required, undefined)
  t.equal(update.minProperties, 1)
  const defaults = Object.entries<any>(insert.properties).flatMap(
    ([name, schema]) => 'x-default' in schema ? [[name, schema['x-default']]] : []
  )
  t.same(defaults, [
    ['kind', "it's"], ...engine === 'sqlite' ? [] : [['marks', ['a']]], ['small', 7], ['amount', '1.500'],
    ['big', 2 ** 63], ['flag', 1]
  ])
  t.match(text, '"x-default":9223372036854775807', 'exactly, in the text')
  t.notMatch(JSON.stringify(schemas), '"default"', 'a keyword by which generators would demand the column or send it')
})

await testFacts('requests and responses of an operation are named schemas', async (t, { server }) => {
  const { json: { paths, components: { schemas } } } = await get(server, '/shop/openapi.json')
  const { requestBody, responses } = paths['/shop/things'].post
  t.same(requestBody.content['application/json'].schema, { $ref: '#/components/schemas/ThingsRequest' })
  t.same(responses['200'].content['application/json'].schema, { $ref: '#/components/schemas/ThingsResponse' })
  const names = ['Select', 'Insert', 'Update', 'Delete'].map((verb) => `#/components/schemas/Things${verb}Request`)
  t.same(schemas.ThingsRequest.oneOf.map(({ $ref }: { $ref: string }) => $ref), names)
  t.same(Object.values(schemas.ThingsRequest.discriminator.mapping), names)
  t.equal(schemas.ThingsResponse.anyOf.length, 5, 'those of the verbs, and that of groups')
  const { json: { components: { schemas: own } } } = await get(server, '/shop/openapi.json', { token: 'reader' })
  t.same([own.ThingsRequest.oneOf.length, own.ThingsResponse.anyOf], [
    1, [{ $ref: '#/components/schemas/ThingsSelectResponse' }, { $ref: '#/components/schemas/GroupsResponse' }]
  ])
})

await testFacts('filters have the operators of each type', async (t, { server, engine }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  const properties = schemas.ThingsFilters.properties
  const [title, doubled] = engine === 'sqlite'
    ? ['TextFilter', 'NullableInteger64Filter']
    : ['Text40Filter', 'NullableInteger32Filter'] as const
  t.match(properties, {
    amount: { $ref: '#/components/schemas/Decimal12x3Filter' },
    title: { $ref: `#/components/schemas/${title}` },
    doubled: { $ref: `#/components/schemas/${doubled}` }
  })
  t.match(properties, {
    $and: { type: 'array', items: { $ref: '#/components/schemas/ThingsFilters' } },
    $or: { type: 'array' },
    $not: { $ref: '#/components/schemas/ThingsFilters', minProperties: 1 }
  })
  const operators = (name: string): string => Object.keys(schemas[name].anyOf.at(-1).properties).join(' ')
  t.equal(
    operators(title), '$eq $ne $is $in $nin $gt $gte $lt $lte $between $like $nlike $startsWith $contains', 'NOT NULL'
  )
  t.equal(operators(doubled), '$eq $ne $is $in $nin $gt $gte $lt $lte $between $null')
  t.same(properties.$is, {
    $ref: '#/components/schemas/ThingsRow',
    propertyNames: { $ref: '#/components/schemas/ThingsColumn' },
    minProperties: 1
  }, 'a row without members')
  t.same(Object.keys(schemas.JsonFilter), ['not', 'description'], 'any JSON value')
  if (engine === 'sqlite') return
  t.equal(operators('ThingsKindFilter'), '$eq $ne $is $in $nin')
  t.match(schemas.ThingsKindFilter.anyOf[0], { type: 'string', enum: ['new', "it's"] })
  t.match(
    schemas.ThingsMarksFilter.anyOf.map(({ type }: { type: string }) => type), ['array', 'null', 'object'],
    'a list is one value'
  )
})

const testOdd = sharedOnEachEngine(t, {
  schema: () => [
    'create table operators ("$or" integer not null primary key, "$$and" integer null)', 'create table odd (x, y)',
    'create table keyless (a json null, "b c" int null)',
    'create table owners (id integer not null primary key, name varchar(9))',
    'create table alone (id integer not null primary key)', 'create table twice (id integer not null primary key)',
    'create table things (id integer not null primary key, owner_id integer references owners (id), a integer ' +
      'references twice (id), b integer references twice (id))'
  ],
  only: ['sqlite']
})

await testOdd('a column with the name of an operator has another $ in filters', async (t, { server, post }) => {
  const { json: { components: { schemas }, paths } } = await get(server, '/shop/openapi.json')
  t.same(Object.keys(schemas.OperatorsRow.properties), ['$or', '$$and'])
  t.same(Object.keys(schemas.OperatorsFilters.properties), ['$$or', '$$$and', '$and', '$or', '$not', '$is'])
  const { examples } = paths['/shop/operators'].post.requestBody.content['application/json']
  for (const verb of ['insert', 'select', 'update', 'delete']) {
    t.match(await post('operators', examples[verb].value), { status: 200 }, verb)
  }
  for (const filters of [{ $$or: 1 }, { $$$and: null }, { $is: { $or: 1, $$and: null } }]) {
    t.match(await post('operators', { verb: 'select', filters }), { status: 200 }, JSON.stringify(filters))
  }
})

await testOdd('columns of unknown types are read-only, even if a table has no others', async (t, { server, post }) => {
  const { json: { components: { schemas }, paths } } = await get(server, '/shop/openapi.json')
  t.match(schemas.OddRow.properties.x, { description: /not writable/ })
  t.same(schemas.OddInsert.properties, {})
  t.match(schemas.NullableUnknownFilter.anyOf, [{ type: 'null' }, { properties: { $null: {} } }])
  for (const table of ['odd', 'keyless']) {
    const { examples } = paths[`/shop/${table}`].post.requestBody.content['application/json']
    t.match(await post(table, examples.select.value), { status: 200 })
    t.match(await post(table, examples.delete.value), { status: 200 })
    t.notOk('orderBy' in examples.select.value)
  }
})

await testFacts('every reference has a target, and every schema is referenced', async (t, { server }) => {
  for (const token of ['reader', 'writer', 'remover', undefined]) {
    const { json } = await get(server, '/shop/openapi.json', token === undefined ? {} : { token })
    const references = new Set(referencesIn(json))
    const names = ['schemas', 'responses'].flatMap(
      (kind) => Object.keys(json.components[kind]).map((name) => `#/components/${kind}/${name}`)
    )
    t.same([...references].sort(), names.sort(), token ?? 'everything')
  }
})

await testFacts('foreign keys do not name tables that the token cannot see', async (t, { server }) => {
  const { json, text } = await get(server, '/shop/openapi.json', { token: 'some' })
  t.notMatch(text, /people/i)
  t.match(json.components.schemas.ThingsRow.properties.owner, { type: 'integer' })
})

await testShop('the id in the response to an insert has the type of its column', async (t, { server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  const idOf = (name: string) => schemas[name].properties.data.properties.id
  t.match(
    idOf('OrdersInsertResponse'), { type: ['integer', 'null'], format: 'int64' },
    'it is null for a list with onConflict'
  )
  t.match(idOf('ProductsInsertResponse'), { type: ['string', 'null'] }, 'a key that the client gives, or a default')
  t.match(
    idOf('OrderItemsInsertResponse'), { type: ['integer', 'null'], description: /^Always null/ }, 'a key of two columns'
  )
})

await testShop('an insert takes a list, and names the keys and columns of onConflict', async (t, { server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  const row = { $ref: '#/components/schemas/CustomersInsert' }
  t.match(schemas.CustomersInsertRequest.properties, {
    data: { anyOf: [row, { type: 'array', items: row, minItems: 1, maxItems: 1000 }] },
    onConflict: { $ref: '#/components/schemas/CustomersOnConflict' }
  })
  const { key, set } = schemas.CustomersOnConflict.properties
  t.match(key, {
    items: { enum: ['id', 'email'] },
    minItems: 1,
    maxItems: 1,
    uniqueItems: true,
    description: 'The columns of one unique key: "id"; or "email".'
  })
  t.match(set.anyOf, [{ items: { enum: ['id', 'email', 'name', 'status', 'credit', 'note', 'created_at'] } }, {
    $ref: '#/components/schemas/CustomersUpdate'
  }])
  t.match(schemas.CustomersInsertResponse.properties.data, {
    required: ['inserted', 'id'], properties: { updated: { type: 'integer' }, unchanged: { type: 'integer' } }
  })
  const narrow = await get(server, '/shop/openapi.json', { token: 'inserts' })
  t.match(
    narrow.json.components.schemas.CustomersOnConflict,
    { required: ['key', 'set'], properties: { set: { maxItems: 0 } } }, 'who may not update leaves rows as they are'
  )
})

await onEachEngine(t, 'names are valid identifiers and unique', {
  only,
  schema: (engine) => {
    const quote = engine === 'sqlite' ? '"' : '`'
    const names = [
      'order_items', 'order-items', 'orderItems2', 'orders', 'orders_insert', '2024', '名前', 'a/b {c}', 'text',
      'HTTPLogs', '__proto__'
    ]
    return names.map(
      (name) => `create table ${quote}${name}${quote} (id int not null primary key, name varchar(10) null)`
    )
  }
}, async (t, { server, post }) => {
  const { json } = await get(server, '/shop/openapi.json')
  const { '/shop': all, ...paths } = json.paths
  t.equal(all.post.operationId, 'runShopOperations')
  const operations = Object.values<any>(paths).map(({ post }) => post)
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(new Set(ids.map((id) => id.toLowerCase())).size, 11)
  t.same(ids.filter((id) => !/^query[A-Z][A-Za-z0-9]*$/.test(id)), [])
  for (const id of ['queryOrderItems', 'queryTable2024', 'queryHttpLogs', 'queryTable', 'queryABC', 'queryProto']) {
    t.ok(ids.includes(id), id)
  }
  const names = Object.keys(json.components.schemas)
  t.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length)
  for (const [path, { post: { tags: [table] } }] of Object.entries<any>(paths)) {
    t.match(path, /^\/shop\/[\w.~%-]+$/)
    t.equal(decodeURIComponent(path.slice('/shop/'.length)), table)
    t.match(await post(table, { verb: 'select' }), { status: 200 })
  }
})

await testOdd('filters have the tables that one foreign key relates', async (t, { server, post }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  t.same(schemas.OwnersRelated.properties, {
    things: {
      type: 'object',
      properties: { filters: { $ref: '#/components/schemas/ThingsFilters' } },
      additionalProperties: false
    }
  })
  t.same(Object.keys(schemas.ThingsRelated.properties), ['owners'])
  t.same([schemas.TwiceRelated, schemas.AloneRelated, schemas.AloneFilters.properties.$some], [
    undefined, undefined, undefined
  ])
  t.same(schemas.OwnersFilters.properties.$none, { $ref: '#/components/schemas/OwnersRelated' })
  t.same(schemas.OwnersFilters.properties.$some, { $ref: '#/components/schemas/OwnersCounted' })
  t.same(schemas.OwnersCounted.properties.things.properties.count, { $ref: '#/components/schemas/RelatedCount' })
  t.match(schemas.RelatedCount.anyOf, [{ type: 'integer', minimum: 0, maximum: 100_000 }, {
    properties: { $gte: { maximum: 100_000 }, $between: { minItems: 2 } }
  }])
  t.equal(
    (await post('owners', { verb: 'select', filters: { $none: { things: { filters: { id: 1 } } } } })).status, 200
  )
})

// The schemas of `returning`, `expect`, `dryRun` and the forms of an update.

const acceptedWrites: Array<[schema: string, body: object]> = [
  ['CustomersUpdateRequest', {
    verb: 'update',
    data: { credit: { $inc: '1.00' }, created_at: { $now: true }, note: null },
    filters: { id: 1 },
    returning: ['id', 'login'],
    expect: 1,
    dryRun: true
  }],
  ['CustomersUpdateRequest', {
    verb: 'update', data: { credit: { $inc: 1 } }, filters: { id: 1 }, returning: '*', expect: { $gte: 1, $lte: 3 }
  }],
  ['ProductsUpdateRequest', { verb: 'update', data: { tags: { $merge: { a: null } } }, filters: { sku: 'a' } }],
  ['OrdersDeleteRequest', { verb: 'delete', filters: { id: 1 }, returning: ['note'], expect: 0, dryRun: false }],
  ['SettingsInsertRequest', { verb: 'insert', data: {}, returning: ['level'], dryRun: true }],
  ['SettingsSelectRequest', { verb: 'select', expect: { $lt: 5 } }]
]
const rejectedWrites: Array<[schema: string, body: object]> = [
  ['CustomersUpdateRequest', { verb: 'update', data: { name: { $inc: 1 } }, filters: { id: 1 } }],
  ['CustomersUpdateRequest', { verb: 'update', data: { credit: { $now: true } }, filters: { id: 1 } }],
  ['CustomersUpdateRequest', { verb: 'update', data: { created_at: { $now: false } }, filters: { id: 1 } }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, returning: ['nope'] }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, returning: [] }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, expect: -1 }],
  ['CustomersUpdateRequest', { verb: 'update', data: { name: 'x' }, filters: { id: 1 }, expect: { $ne: 1 } }],
  ['SettingsInsertRequest', { verb: 'insert', data: { level: { $inc: 1 } } }],
  ['SettingsInsertRequest', { verb: 'insert', data: {}, expect: 1 }],
  ['SettingsSelectRequest', { verb: 'select', returning: '*' }]
]

await testShop('a document accepts what the service accepts, and the ' +
  'answers have its schemas', async (t, { server, post }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const check = createCheck(document, server)
  for (const [schema, body] of acceptedWrites) {
    t.ok(check(schema, body), `${schema} ${JSON.stringify(body)}`)
    const table = schema.replace(/(Select|Insert|Update|Delete)Request$/, '').toLowerCase()
    const answer = await post(table, body)
    t.ok([200, 412].includes(answer.status), answer.text)
    if (answer.status === 200) t.ok(check(schema.replace('Request', 'Response'), answer.json), answer.text)
  }
  for (const [schema, body] of rejectedWrites) t.notOk(check(schema, body), `${schema} ${JSON.stringify(body)}`)
  t.same(document.components.schemas.CustomersUpdateResponse.properties.data.properties.rows.items, {
    $ref: '#/components/schemas/CustomersRow'
  })
})

await testShop('the document of a token that may not select has no fields that tell of rows', async (t, { server }) => {
  const { json: document } = await get(server, '/shop/openapi.json', { token: WRITES })
  const fields = (name: string) => Object.keys(document.components.schemas[name].properties)
  t.same(fields('CustomersInsertRequest').filter((field) => ['returning', 'dryRun'].includes(field)), ['dryRun'])
  t.same(fields('CustomersUpdateRequest'), ['verb', 'data', 'key', 'filters'])
  t.same(fields('CustomersDeleteRequest'), ['verb', 'filters'])
  t.notOk(document.components.schemas.CustomersUpdateResponse.properties.data.properties.rows)
})

await testShop('an operation may have references in place of values', async (t, { server, operate }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const check = createCheck(document, server)
  const first = { table: 'customers', verb: 'select', columns: ['id'], limit: 1 }
  const row = { customer_id: { $ref: '/0/rows/0/id' }, note: 'x' }
  for (const data of [row, [row], [{ customer_id: 1, note: 'y' }, row]]) {
    const operation = { table: 'orders', verb: 'insert', data }
    t.ok(check('Operation', operation), JSON.stringify(data))
    t.equal((await operate({ operations: [first, operation], dryRun: true })).status, 200)
  }
  for (const data of [[], 'x', [[row]]]) {
    t.notOk(check('Operation', { table: 'orders', verb: 'insert', data }), JSON.stringify(data))
  }
  t.notOk(check('Operation', { table: 'nowhere', verb: 'select' }))
})

// The schemas of `after`, `offset`, `total` and `next`: a document accepts what the service accepts.

const acceptedPages: Array<[table: string, body: object]> = [
  ['events', { after: null, limit: 1 }], ['events', { after: { id: 1 } }], [
    'events', { orderBy: 'at DESC', limit: 1, after: { at: '2026-01-02T00:00:00', id: 1 } }
  ], ['events', { orderBy: 'at', limit: 1, after: null }],
  ['events', { orderBy: 'code', limit: 1, after: { code: '0.00', id: 9 }, total: true }], [
    'events', { offset: 0, limit: 1, total: 5 }
  ], ['events', { total: 1 }], ['no_key', { offset: 0, limit: 1 }], ['no_key', { total: true }]
]
const rejectedPages: Array<[table: string, body: object]> = [
  ['events', { after: { nope: 1 } }], ['events', { after: { id: 'x' } }], ['events', { after: { doc: {} } }], [
    'events', { after: { id: null } }
  ], ['events', { after: 5 }], ['events', { offset: -1 }], ['events', { total: false }], ['events', { total: 0 }],
  ['no_key', { after: null }]
]

await testShop('positions are typed by the columns of the table', async (t, { server, post, engine }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const check = createCheck(document, server)
  const nameOf = (table: string): string => table === 'events' ? 'Events' : 'NoKey'
  for (const [table, fields] of acceptedPages) {
    const body = { verb: 'select', ...fields }
    t.ok(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    const { status, json, text } = await post(table, body)
    t.equal(status, 200, text)
    t.ok(check(`${nameOf(table)}SelectResponse`, json), text)
  }
  for (const [table, fields] of rejectedPages) {
    const body = { verb: 'select', ...fields }
    t.notOk(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    t.not((await post(table, body)).status, 200)
  }
  t.same(Object.keys(document.components.schemas.EventsPosition.properties), ['id', 'at', 'code'])
  if (engine !== 'sqlite') t.same(Object.keys(document.components.schemas.LabelledPosition.properties), ['id'])
  t.equal(document.components.schemas.NoKeyPosition, undefined)
})

// The schemas of `include`: a member has the schema of its table as the grant sees it, and rows with members are as the
// document says.

const customer = { table: 'customers', columns: ['name'] }

const acceptedMembers: Array<[table: string, include: object]> = [
  ['orders', { customer }],
  ['orders', {
    items: {
      table: 'order_items', filters: { line: { $gt: 0 } }, columns: ['line'], orderBy: 'line DESC, price', limit: 2
    }
  }],
  ['orders', {
    items: {
      table: 'order_items',
      orderBy: [{ line: 'DESC' }],
      include: { product: { table: 'products', include: { items: { table: 'order_items', limit: 1 } } } }
    }
  }],
  ['orders', {
    sums: {
      table: 'order_items',
      filters: { quantity: 1 },
      aggregates: { n: { $count: '*' }, paid: { $sum: 'price', filters: { line: 1 } } }
    }
  }],
  ['orders', {
    customer: { table: 'customers', on: { customer_id: 'id' } }, again: { table: 'orders', on: { id: 'id' } }
  }],
  ['orders', {
    last: { table: 'order_items', as: 'object', orderBy: 'line DESC' },
    customers: { table: 'customers', as: 'list', limit: 1 }
  }],
  ['orders', {
    lines: { table: 'order_lines', on: { id: 'order_id' }, orderBy: 'line', limit: 2 },
    n: { table: 'order_lines', on: { id: 'order_id' }, aggregates: { n: { $count: '*' } } }
  }],
  ['order_lines', { order: { table: 'orders', on: { order_id: 'id' } } }]
]
const rejectedMembers: Array<[table: string, include: object]> = [
  ['orders', {}], ['orders', { customer: { table: 'customers', columns: ['nope'] } }], [
    'orders', { customer: { table: 'customers', filters: { nope: 1 } } }
  ], ['orders', { customer: { table: 'nowhere' } }],
  ['orders', { '1st': customer }], ['orders', { lines: { table: 'order_lines' } }],
  ['orders', { settings: { table: 'settings', on: {} } }],
  ['orders', { items: { table: 'order_items', as: 'rows' } }],
  ['orders', { items: { table: 'order_items', limit: 1001 } }],
  ['orders', { items: { table: 'order_items', groupBy: ['line'] } }],
  ['orders', { items: { table: 'order_items', aggregates: { n: { $sum: 'product_sku' } } } }],
  ['orders', Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`c${index}`, customer]))]
]

const nameOf = (table: string): string => table === 'orders' ? 'Orders' : 'OrderLines'

async function compare (t: Test, { server, post }: Service): Promise<void> {
  const { json: document } = await get(server, '/shop/openapi.json')
  const check = createCheck(document, server)
  for (const [table, include] of acceptedMembers) {
    const body = { verb: 'select', limit: 2, include }
    t.ok(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    const { status, json, text } = await post(table, body)
    t.equal(status, 200, text)
    t.ok(check(`${nameOf(table)}SelectResponse`, json), text)
    t.notOk(check(`${nameOf(table)}SelectResponse`, {
      ...json, data: { ...json.data, rows: [{ ...json.data.rows[0], other: 5 }] }
    }), 'a member is no number')
  }
  for (const [table, include] of rejectedMembers) {
    const body = { verb: 'select', include }
    t.notOk(check(`${nameOf(table)}SelectRequest`, body), JSON.stringify(body))
    t.match(await post(table, body), { status: /40[04]/ }, JSON.stringify(body))
  }
  const grouped = {
    verb: 'select',
    groupBy: ['note', { who: { customer: 'name' } }],
    include: { customer: { table: 'customers' } },
    aggregates: { n: { $count: '*', filters: { $some: { order_items: {} } } } }
  }
  t.ok(check('OrdersSelectRequest', grouped))
  t.equal((await post('orders', grouped)).status, 200)
  t.notOk(check('OrdersSelectRequest', { ...grouped, groupBy: [{ who: { customer: 'name', other: 'name' } }] }))
  const returned = {
    verb: 'update',
    filters: { id: 1 },
    data: { note: 'x' },
    returning: ['id'],
    include: { customer, items: { table: 'order_items', limit: 2 } }
  }
  t.ok(check('OrdersUpdateRequest', returned))
  t.notOk(check('OrdersUpdateRequest', { ...returned, include: { customer: { table: 'nowhere' } } }))
  const answer = (await post('orders', returned)).json
  t.ok(check('OrdersUpdateResponse', answer), JSON.stringify(answer))
  t.ok(check('OrdersSelectOperation', { table: 'orders', verb: 'select', include: { customer } }))
  t.notOk(check('OrdersFilters', { $is: { id: 1, customer: null } }), 'a filter has no members')
}

await testShop('members are typed by their tables', async (t, service) => {
  await compare(t as Test, service)
  const { server } = service
  const schemasFor = async (token: string): Promise<any> =>
    (await get(server, '/shop/openapi.json', { token })).json.components.schemas
  t.equal((await schemasFor('some')).Member.anyOf.length, 2, 'only tables and views that the token sees')
  const narrow = await schemasFor('narrow')
  t.same([narrow.CustomersMember.properties.columns.items, narrow.CustomersColumn.enum], [
    { $ref: '#/components/schemas/CustomersColumn' }, ['id', 'name']
  ])
  const views = await schemasFor('views')
  t.same(
    [views.Member.anyOf.length, views.OrderLinesMember.required, views.OrderLinesSelectRequest.properties.include.$ref],
    [1, ['table', 'on'], '#/components/schemas/Include'], 'a view needs on'
  )
  t.same(
    (await schemasFor('writes')).Member.anyOf, [{ $ref: '#/components/schemas/OrdersMember' }],
    'members are of tables that may be selected from'
  )
})

await onEachEngine(t, 'the setting limits.include 0 leaves members out of documents', {
  schema: shop, only: ['sqlite'], options: { limits: { include: { members: 0 } } }
}, async (t, { server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  t.same([schemas.Include, schemas.OrdersSelectRequest.properties.include, schemas.OrdersRow.additionalProperties], [
    undefined, undefined, false
  ])
})

/** One more than have types of their own. */
const TABLES = 51

await onEachEngine(t, 'in large databases members have one schema without the types of tables', {
  schema: () => Array.from(
    { length: TABLES },
    (_, index) =>
      `create table t${index} (id integer not null primary key, parent int null references t${Math.max(0, index - 1)}
        (id))`
  ),
  only: ['sqlite']
}, async (t, { server, post }) => {
  const { json } = await get(server, '/shop/openapi.json')
  const { schemas } = json.components
  const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false } })
  ajv.addSchema(json, 'document')
  t.equal(schemas.Member.properties.table.enum.length, TABLES)
  t.same(Object.keys(schemas).filter((name) => name.endsWith('Member')), ['Member'])
  const body = { verb: 'select', include: { up: { table: 't8', columns: ['id'] }, down: { table: 't10', limit: 1 } } }
  t.ok(ajv.validate('document#/components/schemas/T9SelectRequest', body))
  t.match(await post('t9', body), { status: 200 })
  const references = new Set(referencesIn(json))
  t.same(Object.keys(schemas).filter((name) => !references.has(`#/components/schemas/${name}`)), [])
})
