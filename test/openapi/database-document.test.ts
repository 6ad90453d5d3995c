/** The document of a database describes its tables. */
import t from 'tap'
import { get, referencesIn, tokenFor } from '../support/documents.ts'
import { type EngineName, onEachEngine, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

/** Types and comments that only MySQL and MariaDB have are left out for SQLite. */
const facts = {
  mysql: [
    "create table people (id bigint unsigned not null auto_increment primary key, `a.b` int null, __proto__ varchar(10) null) comment 'who there is'",
    `create table things (
      code char(4) not null primary key, owner bigint unsigned not null, second_owner bigint unsigned null,
      kind enum('new', 'it''s') not null default 'it''s', marks set('a', 'b') null default 'a', small tinyint unsigned not null default 7, year year null,
      amount decimal(12,3) not null default 1.5, ratio float null, big bigint null default 9223372036854775807, title varchar(40) not null comment 'shown */ on top', flag bool not null default 1, bits bit(5) null, one bit null,
      made datetime(3) not null default current_timestamp(3), seen timestamp null, day date null, moment time null, doc json not null, data varbinary(30) null, place point null,
      doubled int generated always as (small * 2) virtual, unique key title_kind (title, kind), unique key owner_code (owner, code),
      constraint things_owner foreign key (owner) references people (id), constraint things_second foreign key (second_owner) references people (id))`,
    'create view titles as select code, title from things'
  ],
  sqlite: [
    'create table people (id integer primary key autoincrement, "a.b" int null, __proto__ varchar(10) null)',
    `create table things (
      code char(4) not null primary key, owner integer not null references people (id), second_owner integer null references people (id),
      kind varchar(4) not null default 'it''s', marks text null, small integer not null default 7, year integer null,
      amount decimal(12,3) not null default 1.5, ratio real null, big bigint null default 9223372036854775807, title varchar(40) not null, flag boolean not null default 1, bits text null, one boolean null,
      made datetime not null default current_timestamp, seen timestamp null, day date null, moment time null, doc json not null, data blob null, place blob null,
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
  sqlite: { title: { type: 'string', 'x-sql-type': 'varchar(40)' }, flag: { type: 'integer' }, small: { type: 'integer', format: 'int64' } },
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

const testFacts = sharedOnEachEngine(t, { schema: facts })

await testFacts('a row has a schema for each column', async (t, { server, engine }) => {
  const { json: { components: { schemas }, tags } } = await get(server, '/shop/openapi.json')
  const { ThingsRow: row, TitlesRow: view, PeopleRow: people } = schemas
  t.equal(row.required, undefined, 'a row has the columns that were asked for')
  t.same([row.additionalProperties, row.unevaluatedProperties], [undefined, { $ref: '#/components/schemas/Related' }], 'and members')
  t.match(row.properties, { ...everywhere, ...ofEngine[engine] })
  t.notMatch(row.properties.big, { maximum: Number }, 'no bound that a JSON number would round')
  t.same(row['x-primary-key'], ['code'])
  t.same(row['x-unique-keys'].map((key: any) => key.columns.join()).sort(), engine === 'sqlite' ? ['code', 'title,kind'] : ['code', 'owner,code', 'title,kind'])
  t.same(row['x-foreign-keys'].map((key: any) => [key.columns, key.referencedTable, key.referencedColumns]).sort(), [[['owner'], 'people', ['id']], [['second_owner'], 'people', ['id']]])
  t.same(Object.keys(people.properties), ['id', 'a.b', '__proto__'])
  t.match(people.properties.id, { 'x-auto-increment': true })
  t.same(Object.keys(view.properties), ['code', 'title'])
  t.same(schemas.ThingsColumn.enum, Object.keys(row.properties))
  if (engine !== 'sqlite') t.match(tags, [{ name: 'people', description: 'who there is' }])
})

await testFacts('the data of insert and update has the writable columns; those without a default are required', async (t, { server, engine }) => {
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
  const defaults = Object.entries<any>(insert.properties).flatMap(([name, schema]) => 'x-default' in schema ? [[name, schema['x-default']]] : [])
  t.same(defaults, [['kind', "it's"], ...engine === 'sqlite' ? [] : [['marks', ['a']]], ['small', 7], ['amount', '1.500'], ['big', 2 ** 63], ['flag', 1]])
  t.match(text, '"x-default":9223372036854775807', 'exactly, in the text')
  t.notMatch(JSON.stringify(schemas), '"default"', 'a keyword by which generators would demand the column or send it')
})

await onEachEngine(t, 'requests and responses of an operation are named schemas', { schema: facts, tokens: [tokenFor('reader', ['select'])] }, async (t, { server }) => {
  const { json: { paths, components: { schemas } } } = await get(server, '/shop/openapi.json')
  const { requestBody, responses } = paths['/shop/things'].post
  t.same(requestBody.content['application/json'].schema, { $ref: '#/components/schemas/ThingsRequest' })
  t.same(responses['200'].content['application/json'].schema, { $ref: '#/components/schemas/ThingsResponse' })
  const names = ['Select', 'Insert', 'Update', 'Delete'].map((verb) => `#/components/schemas/Things${verb}Request`)
  t.same(schemas.ThingsRequest.oneOf.map(({ $ref }: { $ref: string }) => $ref), names)
  t.same(Object.values(schemas.ThingsRequest.discriminator.mapping), names)
  t.equal(schemas.ThingsResponse.anyOf.length, 5, 'those of the verbs, and that of groups')
  const { json: { components: { schemas: own } } } = await get(server, '/shop/openapi.json', { token: 'reader' })
  t.same([own.ThingsRequest.oneOf.length, own.ThingsResponse.anyOf], [1, [{ $ref: '#/components/schemas/ThingsSelectResponse' }, { $ref: '#/components/schemas/GroupsResponse' }]])
})

await testFacts('filters have the operators of each type', async (t, { server, engine }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  const properties = schemas.ThingsFilters.properties
  const [title, doubled] = engine === 'sqlite' ? ['TextFilter', 'NullableInteger64Filter'] : ['Text40Filter', 'NullableInteger32Filter'] as const
  t.match(properties, { amount: { $ref: '#/components/schemas/Decimal12x3Filter' }, title: { $ref: `#/components/schemas/${title}` }, doubled: { $ref: `#/components/schemas/${doubled}` } })
  t.match(properties, { $and: { type: 'array', items: { $ref: '#/components/schemas/ThingsFilters' } }, $or: { type: 'array' }, $not: { $ref: '#/components/schemas/ThingsFilters', minProperties: 1 } })
  const operators = (name: string): string => Object.keys(schemas[name].anyOf.at(-1).properties).join(' ')
  t.equal(operators(title), '$eq $ne $is $in $nin $gt $gte $lt $lte $between $like $nlike $startsWith $contains', 'NOT NULL')
  t.equal(operators(doubled), '$eq $ne $is $in $nin $gt $gte $lt $lte $between $null')
  t.same(properties.$is, { $ref: '#/components/schemas/ThingsRow', propertyNames: { $ref: '#/components/schemas/ThingsColumn' }, minProperties: 1 }, 'a row without members')
  t.same(Object.keys(schemas.JsonFilter), ['not', 'description'], 'any JSON value')
  if (engine === 'sqlite') return
  t.equal(operators('ThingsKindFilter'), '$eq $ne $is $in $nin')
  t.match(schemas.ThingsKindFilter.anyOf[0], { type: 'string', enum: ['new', "it's"] })
  t.match(schemas.ThingsMarksFilter.anyOf.map(({ type }: { type: string }) => type), ['array', 'null', 'object'], 'a list is one value')
})

await onEachEngine(t, 'a column with the name of an operator has another $ in filters', { schema: () => ['create table odd ("$or" integer not null primary key, "$$and" integer null)'], only: ['sqlite'] }, async (t, { server, post }) => {
  const { json: { components: { schemas }, paths } } = await get(server, '/shop/openapi.json')
  t.same(Object.keys(schemas.OddRow.properties), ['$or', '$$and'])
  t.same(Object.keys(schemas.OddFilters.properties), ['$$or', '$$$and', '$and', '$or', '$not', '$is'])
  const { examples } = paths['/shop/odd'].post.requestBody.content['application/json']
  for (const verb of ['insert', 'select', 'update', 'delete']) t.match(await post('odd', examples[verb].value), { status: 200 }, verb)
  for (const filters of [{ $$or: 1 }, { $$$and: null }, { $is: { $or: 1, $$and: null } }]) t.match(await post('odd', { verb: 'select', filters }), { status: 200 }, JSON.stringify(filters))
})

await onEachEngine(t, 'columns of unknown types are read-only, even if a table has no others', { schema: () => ['create table odd (x, y)', 'create table keyless (a json null, "b c" int null)'], only: ['sqlite'] }, async (t, { server, post }) => {
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

await onEachEngine(t, 'every reference has a target, and every schema is referenced', { schema: facts, tokens: [tokenFor('reader', ['select']), tokenFor('writer', ['insert']), tokenFor('remover', ['delete'])] }, async (t, { server }) => {
  for (const token of ['reader', 'writer', 'remover', undefined]) {
    const { json } = await get(server, '/shop/openapi.json', token === undefined ? {} : { token })
    const references = new Set(referencesIn(json))
    const names = ['schemas', 'responses'].flatMap((kind) => Object.keys(json.components[kind]).map((name) => `#/components/${kind}/${name}`))
    t.same([...references].sort(), names.sort(), token ?? 'everything')
  }
})

await onEachEngine(t, 'foreign keys do not name tables that the token cannot see', { schema: facts, tokens: [tokenFor('some', ['select'], { shop: ['things'] })] }, async (t, { server }) => {
  const { json, text } = await get(server, '/shop/openapi.json', { token: 'some' })
  t.notMatch(text, /people/i)
  t.match(json.components.schemas.ThingsRow.properties.owner, { type: 'integer' })
})

await onEachEngine(t, 'the id in the response to an insert has the type of its column', { schema: shop }, async (t, { server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  const idOf = (name: string) => schemas[name].properties.data.properties.id
  t.match(idOf('OrdersInsertResponse'), { type: ['integer', 'null'], format: 'int64' }, 'it is null for a list with onConflict')
  t.match(idOf('ProductsInsertResponse'), { type: ['string', 'null'] }, 'a key that the client gives, or a default')
  t.match(idOf('OrderItemsInsertResponse'), { type: ['integer', 'null'], description: /^Always null/ }, 'a key of two columns')
})

await onEachEngine(t, 'an insert takes a list, and names the keys and columns of onConflict', { schema: shop, tokens: [tokenFor('inserts', ['insert'], { shop: ['customers'] })] }, async (t, { server }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  const row = { $ref: '#/components/schemas/CustomersInsert' }
  t.match(schemas.CustomersInsertRequest.properties, { data: { anyOf: [row, { type: 'array', items: row, minItems: 1, maxItems: 1000 }] }, onConflict: { $ref: '#/components/schemas/CustomersOnConflict' } })
  const { key, set } = schemas.CustomersOnConflict.properties
  t.match(key, { items: { enum: ['id', 'email'] }, minItems: 1, maxItems: 1, uniqueItems: true, description: 'The columns of one unique key: "id"; or "email".' })
  t.match(set.anyOf, [{ items: { enum: ['id', 'email', 'name', 'status', 'credit', 'note', 'created_at'] } }, { $ref: '#/components/schemas/CustomersUpdate' }])
  t.match(schemas.CustomersInsertResponse.properties.data, { required: ['inserted', 'id'], properties: { updated: { type: 'integer' }, unchanged: { type: 'integer' } } })
  const narrow = await get(server, '/shop/openapi.json', { token: 'inserts' })
  t.match(narrow.json.components.schemas.CustomersOnConflict, { required: ['key', 'set'], properties: { set: { maxItems: 0 } } }, 'who may not update leaves rows as they are')
})

await onEachEngine(t, 'names are valid identifiers and unique', {
  schema: (engine) => {
    const quote = engine === 'sqlite' ? '"' : '`'
    const names = ['order_items', 'order-items', 'orderItems2', 'orders', 'orders_insert', '2024', '名前', 'a/b {c}', 'text', 'HTTPLogs', '__proto__']
    return names.map((name) => `create table ${quote}${name}${quote} (id int not null primary key, name varchar(10) null)`)
  }
}, async (t, { server, post }) => {
  const { json } = await get(server, '/shop/openapi.json')
  const { '/shop': all, ...paths } = json.paths
  t.equal(all.post.operationId, 'runShopOperations')
  const operations = Object.values<any>(paths).map(({ post }) => post)
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(new Set(ids.map((id) => id.toLowerCase())).size, 11)
  t.same(ids.filter((id) => !/^query[A-Z][A-Za-z0-9]*$/.test(id)), [])
  for (const id of ['queryOrderItems', 'queryTable2024', 'queryHttpLogs', 'queryTable', 'queryABC', 'queryProto']) t.ok(ids.includes(id), id)
  const names = Object.keys(json.components.schemas)
  t.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length)
  for (const [path, { post: { tags: [table] } }] of Object.entries<any>(paths)) {
    t.match(path, /^\/shop\/[\w.~%-]+$/)
    t.equal(decodeURIComponent(path.slice('/shop/'.length)), table)
    t.match(await post(table, { verb: 'select' }), { status: 200 })
  }
})

await onEachEngine(t, 'filters have the tables that one foreign key relates', {
  schema: () => [
    'create table owners (id integer not null primary key, name varchar(9))', 'create table alone (id integer not null primary key)',
    'create table things (id integer not null primary key, owner_id integer references owners (id), a integer references twice (id), b integer references twice (id))', 'create table twice (id integer not null primary key)'
  ],
  only: ['sqlite']
}, async (t, { server, post }) => {
  const { json: { components: { schemas } } } = await get(server, '/shop/openapi.json')
  t.same(schemas.OwnersRelated.properties, { things: { type: 'object', properties: { filters: { $ref: '#/components/schemas/ThingsFilters' } }, additionalProperties: false } })
  t.same(Object.keys(schemas.ThingsRelated.properties), ['owners'])
  t.same([schemas.TwiceRelated, schemas.AloneRelated, schemas.AloneFilters.properties.$some], [undefined, undefined, undefined])
  t.same(schemas.OwnersFilters.properties.$none, { $ref: '#/components/schemas/OwnersRelated' })
  t.equal((await post('owners', { verb: 'select', filters: { $none: { things: { filters: { id: 1 } } } } })).status, 200)
})
