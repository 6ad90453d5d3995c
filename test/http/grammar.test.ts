/**
 * The last words of the grammar, each by every way in: HTTP, operations, in process, QUERY, streams, tools, the
 * documents that describe them, the form of the page, and programs with the types of `row-query types`
 * (test/clients/generated.test.ts compiles them).
 */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { readFilters, saysSame } from '../../page/filter-rows.ts'
import type { JsonObject } from '../../page/json.ts'
import { readOrder, writeOrder } from '../../page/order.ts'
import { summarize } from '../../page/summary.ts'
import { readDocument } from '../../page/table.ts'
import { get } from '../support/documents.ts'
import { connectTo } from '../support/mcp.ts'
import { anyEngine } from '../support/rotation.ts'
import { type PostOptions, type Schema, sharedOnEachEngine } from '../support/service.ts'

const schema: Schema = (engine) => [
  'create table lands (id int not null primary key, name varchar(10) not null, area int not null)',
  'create table customers (id int not null primary key, name varchar(10) not null, land_id int null, credit ' +
    'decimal(8,2) not null, foreign key (land_id) references lands (id))',
  `create table orders (
    id int not null primary key, customer_id int null, paid int null, due int null,
    note varchar(10) null default 'none'${engine === 'sqlite' ? ' collate nocase' : ''}, meta json null,
    foreign key (customer_id) references customers (id))`,
  "insert into lands values (1, 'Peru', 5), (2, 'Chad', 7)",
  "insert into customers values (1, 'Ada', 1, 10.50), (2, 'Bob', 2, 2.00), (3, 'Cy', null, 1.00)",
  'insert into orders values (1, 1, 5, 5, \'Bell\', \'{"tags": ["a", "b"]}\'), (2, 2, 3, null, \'bELL\', \'{"tags": ' +
    '["b", "a"]}\'), (3, 1, null, 4, \'x\', null), (4, null, 2, 9, \'y\', \'{"tags": []}\')'
]

interface Line {
  readonly body: Readonly<Record<string, unknown>>
  /** What the answer has: the rows of a select, or the fields of a write. */
  readonly rows?: readonly object[]
  readonly answer?: object
  /** A body that differs in one thing, which the service refuses. */
  readonly wrong: Readonly<Record<string, unknown>>
  /** Lines of test/clients/programs/client.ts: one that compiles, and the reason why one must not. */
  readonly compiles: string
  readonly refuses: string
}

const select = { verb: 'select', columns: ['id'], orderBy: 'id' }
const through = {
  customer: { table: 'customers', columns: ['name'], include: { land: { table: 'lands', columns: ['name'] } } }
}
const grouped = { customer: { table: 'customers', include: { land: { table: 'lands' } } } }
const named = (id: number, name: string | null, land: string | null): object =>
  ({ id, customer: name === null ? null : { name, land: land === null ? null : { name: land } } })

const LINES: Readonly<Record<string, Line>> = {
  'a text that is longer than its column': {
    body: { ...select, filters: { note: { $ne: 'x'.repeat(50) } } },
    rows: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }],
    wrong: { ...select, filters: { note: { $ne: 5 } } },
    compiles: "note: { $like: 'a%' }",
    refuses: 'filters of an aggregate have values of the columns'
  },
  'NULLS FIRST and NULLS LAST': {
    body: { ...select, orderBy: 'due ASC NULLS LAST' },
    rows: [{ id: 3 }, { id: 1 }, { id: 4 }, { id: 2 }],
    wrong: { ...select, orderBy: [{ due: 'ASC NULLS UP' }] },
    compiles: "orderBy: 'note ASC NULLS LAST, id DESC'",
    refuses: 'NULL has two places'
  },
  $case: {
    body: { ...select, filters: { note: { $eq: 'BELL', $case: 'ignore' } } },
    rows: [{ id: 1 }, { id: 2 }],
    wrong: { ...select, filters: { note: { $eq: 'BELL', $case: 'keep' } } },
    compiles: "$case: 'ignore'",
    refuses: 'an order follows the collation'
  },
  $column: {
    body: { ...select, filters: { due: { $gt: { $column: 'paid' } } } },
    rows: [{ id: 4 }],
    wrong: { ...select, filters: { due: { $gt: { $column: 5 } } } },
    compiles: "$gt: { $column: 'customer_id' }",
    refuses: 'no list has columns'
  },
  '[last] in paths': {
    body: { ...select, filters: { meta: { $at: { '$.tags[last]': 'b' } } } },
    rows: [{ id: 1 }],
    wrong: { ...select, filters: { meta: { $at: { '$.tags[first]': 'b' } } } },
    compiles: "'$[0]': 'new'",
    refuses: 'a text has no paths'
  },
  'order by a path': {
    body: { ...select, orderBy: [{ meta: { '$.tags[0]': 'DESC' } }, { id: 'DESC' }] },
    rows: [{ id: 2 }, { id: 1 }, { id: 4 }, { id: 3 }],
    wrong: { ...select, orderBy: [{ meta: { '$.tags[0]': 'DOWN' } }] },
    compiles: "tags: { '$[0]': 'DESC NULLS LAST' }",
    refuses: 'no direction'
  },
  $default: {
    body: { verb: 'update', filters: { id: 1 }, data: { note: { $default: true } }, returning: ['note'], dryRun: true },
    answer: { updated: 1, rows: [{ note: 'none' }] },
    wrong: { verb: 'update', filters: { id: 1 }, data: { note: { $default: 1 } } },
    compiles: 'note: { $default: true }',
    refuses: 'a default is true'
  },
  outcomes: {
    body: {
      verb: 'insert',
      data: [{ id: 1, paid: 6 }, { id: 9, paid: 1 }],
      onConflict: { key: ['id'] },
      outcomes: true,
      dryRun: true
    },
    answer: { outcomes: ['updated', 'inserted'], inserted: 1, updated: 1 },
    wrong: { verb: 'insert', data: [{ id: 1 }], onConflict: { key: ['id'] }, outcomes: 1 },
    compiles: 'outcomes: true',
    refuses: 'only an upsert has outcomes'
  },
  'include beside returning of a delete': {
    body: { verb: 'delete', filters: { id: 1 }, returning: ['id'], include: through, dryRun: true },
    answer: { deleted: 1, rows: [named(1, 'Ada', 'Peru')] },
    wrong: { verb: 'delete', filters: { id: 1 }, returning: ['id'], include: 5 },
    compiles: "filters: { id: 5 }, returning: ['id'], include: { customer:",
    refuses: 'the rows that a delete does not return have no members'
  },
  'orders through members of members': {
    body: { ...select, orderBy: [{ customer: { land: { name: 'DESC' } } }, { id: 'ASC' }], include: through },
    rows: [named(1, 'Ada', 'Peru'), named(3, 'Ada', 'Peru'), named(2, 'Bob', 'Chad'), named(4, null, null)],
    wrong: { ...select, orderBy: [{ customer: { land: { name: 5 } } }], include: through },
    compiles: "orderBy: 'order.customer.name DESC, line'",
    refuses: 'an unknown column of the member of a member'
  },
  'groups through members of members': {
    body: {
      verb: 'select',
      groupBy: [{ land: { customer: { land: 'name' } } }],
      aggregates: { n: { $count: '*' } },
      include: grouped,
      orderBy: 'land'
    },
    rows: [{ land: null, n: 1 }, { land: 'Chad', n: 1 }, { land: 'Peru', n: 2 }],
    wrong: { verb: 'select', groupBy: [{ land: { customer: { land: 5 } } }], include: grouped },
    compiles: "groupBy: [{ name: { order: { customer: 'name' } } }",
    refuses: 'an unknown column of the member of a member'
  },
  'aggregates of a related column': {
    body: {
      verb: 'select',
      aggregates: { credit: { $sum: { customer: 'credit' } }, lands: { $count: { customer: { land: 'id' } } } },
      include: grouped
    },
    rows: [{ credit: '23.00', lands: 3 }],
    wrong: { verb: 'select', aggregates: { credit: { $sum: { customer: 5 } } }, include: grouped },
    compiles: "$sum: { order: { customer: 'credit' } }",
    refuses: 'a text has no sum'
  }
}

const test = sharedOnEachEngine(t, { schema, options: { mcp: { verbs: ['select', 'insert', 'update', 'delete'] } } })
await test('each word of the grammar has the same answer by every way in', async (t, service) => {
  const { post, operate, server } = service
  const tools = await connectTo(t, service)
  const execute = server.rows.execute as unknown as (request: object) => Promise<object>
  const answersTo = async ({ body }: Line): Promise<Record<string, unknown>> => {
    const { verb, ...fields } = body
    const { dryRun, ...operation } = body
    const called = await tools.call(String(verb), { database: 'shop', table: 'orders', ...fields })
    const written = {
      http: (await post('orders', body)).json.data,
      operations: (await operate({
        operations: [{ table: 'orders', ...operation }], ...dryRun === true && { dryRun }
      })).json.data?.results?.[0],
      'in process': await execute({
        database: 'shop',
        table: 'orders',
        body,
        grant: { name: 'everything', permissions: ['select', 'insert', 'update', 'delete'] }
      }),
      tool: called.isError ? called.text : called.result
    }
    if (verb !== 'select') return written
    const { text } = await post('orders', body, { headers: { accept: 'application/x-ndjson' } })
    return {
      ...written,
      QUERY: (await post('orders', fields, { method: 'QUERY' as NonNullable<PostOptions['method']> })).json.data,
      stream: { rows: text.trim().split('\n').map((line) => JSON.parse(line)) }
    }
  }
  for (const [name, line] of Object.entries(LINES)) {
    for (const [way, answer] of Object.entries(await answersTo(line))) {
      const { rows } = answer as { rows?: object[] }
      t.match(line.rows === undefined ? answer : rows, line.rows ??
        line.answer, `${name}: ${way}: ${JSON.stringify(answer)}`)
    }
  }
})

await test('the documents and the tools describe each word, and refuse what differs in it', async (t, service) => {
  const document = (await get(service.server, '/shop/openapi.json')).json
  const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false } })
  ajv.addSchema(document, 'document')
  const { tools } = await (await connectTo(t, service)).client.listTools()
  for (const [name, { body, wrong }] of Object.entries(LINES)) {
    const { verb, ...fields } = body
    const request = ajv.getSchema(
      `document#/components/schemas/Orders${String(verb).replace(/^./, (first) => first.toUpperCase())}Request`
    )
    t.ok(request?.(body), `${name}: the document: ${JSON.stringify(request?.errors?.at(-1))}`)
    t.notOk(request?.(wrong), `${name}: the document takes ${JSON.stringify(wrong)}`)
    const { inputSchema } = tools.find((each) => each.name === verb) ?? {}
    t.ok(
      ajv.validate(inputSchema as object, { database: 'shop', table: 'orders', ...fields }),
      `${name}: the arguments of the tool: ${JSON.stringify(ajv.errors)}`
    )
    t.equal((await service.post('orders', wrong)).status, 400, `${name}: ${JSON.stringify(wrong)}`)
  }
}, await anyEngine(t))

await test('describe_table says what filters and members need, and the form of the page keeps each word ' +
  'as it was written', async (t, service) => {
  const { result } = await (await connectTo(t, service)).call('describe_table', { database: 'shop', table: 'orders' })
  const described = JSON.stringify(result)
  for (const word of ['"$case"', '"$at"', '{"table":"customers","on":{"customer_id":"id"},"rows":"one"}']) {
    t.ok(described.includes(word), `${word} in ${described}`)
  }
  const document = (await get(service.server, '/shop/openapi.json')).json
  const table = readDocument('shop', document).table('orders')
  for (const [name, { body }] of Object.entries(LINES)) {
    const { filters, orderBy } = body as JsonObject
    if (table === undefined || !t.ok(saysSame(readFilters(filters, table), filters), `${name}: its filters`)) return
    const terms = readOrder(body as JsonObject)
    t.same(
      readOrder({ ...body as JsonObject, orderBy: writeOrder(terms) ?? null }), terms,
      `${name}: its order ${JSON.stringify(orderBy)}`
    )
    t.notMatch(summarize(table, body as JsonObject), /undefined|object Object/, name)
  }
}, await anyEngine(t))

t.test('programs with the types of row-query types know each word', (t) => {
  const program = readFileSync(new URL('../clients/programs/client.ts', import.meta.url), 'utf8')
  for (const [name, { compiles, refuses }] of Object.entries(LINES)) {
    t.ok(program.includes(compiles), `${name}: a line that compiles`)
    t.ok(program.includes(`// @ts-expect-error: ${refuses}\n`), `${name}: one that must not`)
  }
  t.end()
})
