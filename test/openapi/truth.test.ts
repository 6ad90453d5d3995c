// night: many random cases
/**
 * The documents are correct: returned rows match their schemas, the service accepts the examples, and random bodies
 * that a document allows.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type BodyPart, fieldNamed } from '../../schemas/fields.ts'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { engines } from '../servers/engines.ts'
import { get } from '../support/documents.ts'
import { quoted } from '../support/quoted.ts'
import { createSchemaValues } from '../support/schema-values.ts'
import { seed } from '../support/seed.ts'
import { type Answer, type EngineName, onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

const ROWS = 40

/** Parses JSON text without rounding numbers. */
const quotedText = (text: string): string =>
  text.startsWith('{"$') ? JSON.stringify(quoted(parseExactJson(text))) : text

/** Creates a function that validates a value against a schema of the document and returns the error, or undefined. */
function createCheck (document: any): (name: string, value: unknown) => unknown {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false }, allErrors: true })
  ajv.addSchema(document, 'document')
  return (name, value) => ajv.validate(`document#/components/schemas/${name}`, value)
    ? undefined
    : { value, errors: ajv.errors }
}

/** What the document lets aggregates compute is accepted, and their answers are as it says. */
async function holdForGroups (t: Test, document: any, post: (body: object) => Promise<Answer>): Promise<void> {
  const check = createCheck(document)
  const functions = Object.entries<any>(document.components.schemas.EveryAggregate.properties).filter(
    ([call]) => call !== 'filters'
  )
  t.ok(functions.length >= 6)
  for (const [call, { enum: operands }] of functions) {
    for (const operand of operands) {
      const body = {
        verb: 'select',
        aggregates: { value: { [call]: operand } },
        having: { value: { $null: false } },
        orderBy: 'value'
      }
      t.same(check('EverySelectRequest', body), undefined, JSON.stringify(body))
      const { status, json, text } = await post(body)
      // a sum of doubles or of long decimals may be too large
      if (json.error?.code === 'VALUE_OUT_OF_RANGE') continue
      t.equal(status, 200, `${JSON.stringify(body)}: ${text}`)
      t.same(check('GroupsResponse', json), undefined, text)
      if (!['$sum', '$avg'].includes(call) || json.data.count === 0) continue
      t.match(text, /"value":("-?\d+(\.\d+)?"|-?\d+(\.\d+)?(e[+-]?\d+)?)\}/)
    }
  }
  const faults = [
    { aggregates: {} }, { aggregates: { n: {} } }, { aggregates: { n: { $sum: '*' } } },
    { aggregates: { n: { $count: 'nope' } } }, { groupBy: [] }, { groupBy: ['nope'] },
    { aggregates: { n: { $count: '*', $min: 'id', filters: {} } } }, { groupBy: [{ p: { $month: 'id' } }] },
    { groupBy: [{ p: { $day: 'id' } }] }
  ]
  for (const fault of faults) {
    t.ok(check('EverySelectRequest', { verb: 'select', ...fault }), JSON.stringify(fault))
    t.match(await post({ verb: 'select', ...fault }), { status: 400 }, JSON.stringify(fault))
  }
  const { text: page, json: { data: { next } } } = await post({ verb: 'select', groupBy: ['id'], offset: 1, limit: 2 })
  t.same([next, check('GroupsResponse', JSON.parse(page))], [3, undefined])
  t.ok(
    check('GroupsResponse', { success: true, data: { rows: [], count: 0, next: { id: 1 } } }),
    'groups have no positions'
  )
  const filtered = { verb: 'select', aggregates: { n: { $count: '*', filters: { id: { $gt: 0 } } } } }
  t.same([check('EverySelectRequest', filtered), (await post(filtered)).status], [undefined, 200])
  for (const [part, { enum: columns }] of Object.entries<any>(document.components.schemas.EveryPart?.properties ??
    {})) {
    for (const column of columns) {
      const body = { verb: 'select', groupBy: [{ part: { [part]: column } }, 'id'], orderBy: 'part' }
      t.same(check('EverySelectRequest', body), undefined, JSON.stringify(body))
      const { status, json, text } = await post(body)
      t.equal(status, 200, `${JSON.stringify(body)}: ${text}`)
      t.same(check('GroupsResponse', json), undefined, text)
    }
  }
  for (const column of document.components.schemas.EveryColumn.enum) {
    const { status, json } = await post({ verb: 'select', groupBy: [column], aggregates: { n: { $count: '*' } } })
    if (status !== 200) t.equal(json.error.code, 'INVALID_VALUE', column)
    else t.same(check('GroupsResponse', json) ?? check('EveryResponse', json), undefined, column)
  }
}

for (const [name, group] of [...Object.entries<readonly TypedColumn[]>(mysqlGroups), ...Object.entries(sqliteGroups)]) {
  const only = Object.hasOwn(sqliteGroups, name) ? ['sqlite'] : (await engines()).map((engine) => engine.name)
  const columnsFor = (engine: EngineName): TypedColumn[] =>
    group.filter(({ only }) => only === undefined || only === engine)
  const schema = (engine: EngineName): string[] =>
    [`create table every (id integer not null primary key,
      ${columnsFor(engine).map(({ declaration }, index) =>
        `c${index} ${declaration}${engine === 'sqlite' ? '' : ' null'}, `).join('')} rest int null)`]

  await onEachEngine(t, `values of ${name} match their schemas`, {
    only: only as EngineName[], schema
  }, async (t, { server, post, engine }) => {
    const { json: document } = await get(server, '/shop/openapi.json')
    const check = createCheck(document)
    const samples = columnsFor(engine).map(({ values }, index) =>
      fc.sample(fc.option(values, { freq: 10, nil: 'null' }), { numRuns: ROWS, seed: seed + index }))
    for (let row = 0; row < ROWS; row++) {
      const data = [
        `"id":${row + 1}`, ...samples.map((texts, index) => `"c${index}":${quotedText(texts[row] as string)}`)
      ]
      t.match(await post('every', `{"verb":"insert","data":{${data.join(',')}}}`), { status: 200 })
    }
    const answer = await post('every', { verb: 'select', orderBy: 'id' })
    t.same(check('EverySelectResponse', answer.json), undefined, 'what a select shows')
    await holdForGroups(t, document, (body) => post('every', body))
    for (const row of answer.json.data.rows) {
      t.same(
        check('EveryInsert', Object.fromEntries(Object.entries(row).map(([column, value]) => [column, quoted(value)]))),
        undefined, 'is what an insert takes'
      )
      t.same(check('EveryFilters', { $is: row }), undefined, 'and what filters take as a row')
      for (const [column, value] of Object.entries(row)) {
        t.same(check('EveryFilters', { [column]: quoted(value) }), undefined, 'and what a filter takes')
      }
    }
  })

  await onEachEngine(t, `the examples of ${name} can be sent`, {
    only: only as EngineName[],
    schema: (engine) =>
      schema(engine).map((sql) => sql.replaceAll(/(c\d+ .*?)( null)?, (?=c\d|rest)/g, '$1 not null, '))
  }, async (t, { server, post }) => {
    const { json: document } = await get(server, '/shop/openapi.json')
    const check = createCheck(document)
    const { examples } = document.paths['/shop/every'].post.requestBody.content['application/json']
    t.same(Object.keys(examples), ['select', 'insert', 'update', 'delete'])
    for (const verb of ['insert', 'select', 'update', 'delete']) {
      const { value } = examples[verb]
      t.match(await post('every', value), { status: 200 }, JSON.stringify(value))
      t.same(check(`Every${verb[0]?.toUpperCase()}${verb.slice(1)}Request`, value), undefined)
    }
    t.match(
      (await post('every', { verb: 'select', columns: ['id'] })).json, { data: { count: 1 } },
      'an example that somebody sends unread removes nothing'
    )
  })
}

/** One table for each type, so that examples filter and sort by its column. */
const typeTables = (engine: EngineName): Array<[table: string, sql: string]> => {
  const groups = engine === 'sqlite' ? sqliteGroups : mysqlGroups
  const columns = Object.values(groups).flat().filter(({ only }) => only === undefined || only === engine)
  return columns.map(
    ({ declaration }, index) => [`t${index}`, `create table t${index} (\`c,0\` ${declaration} not null)`]
  )
}

await onEachEngine(t, 'the examples of a table with a key of any type are accepted', {
  schema: (engine) => typeTables(engine).map(([, sql]) => sql)
}, async (t, { server, post, engine }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  for (const [table, sql] of typeTables(engine)) {
    const { examples } = document.paths[`/shop/${table}`].post.requestBody.content['application/json']
    for (const { value } of Object.values<{
      value: object
    }>(examples)) t.match(await post(table, value), { status: 200 }, `${sql}: ${JSON.stringify(value)}`)
  }
})

const limits = [
  { data: {} }, { filters: {}, data: { id: 1 } }, { verb: 'select', where: {} }, { verb: 'select', columns: ['nope'] },
  { verb: 'select', columns: [] }, { verb: 'select', limit: 1001 },
  { verb: 'select', filters: { nope: 1 } }, { verb: 'select', filters: { id: { $regex: 'x' } } },
  { verb: 'select', filters: { id: 'x' } }, { verb: 'delete' }, { verb: 'update', data: {}, filters: { id: 1 } },
  { verb: 'insert', data: { name: 1 } }, { verb: 'insert', data: {} },
  { verb: 'insert', data: { name: 'too long for it' } }, { verb: 'insert', data: { name: null } }
]

await onEachEngine(t, 'the schemas refuse bodies that the service refuses by their form', {
  schema: () => ['create table every (id integer not null primary key, name varchar(5) not null)']
}, async (t, { server, post, engine }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const check = createCheck(document)
  for (const body of limits.filter(
    ({ data }) => engine !== 'sqlite' || !JSON.stringify(data ?? {}).includes('too long')
  )) {
    t.match(await post('every', body), { status: /4\d\d/ }, JSON.stringify(body))
    const faults = ['Select', 'Insert', 'Update', 'Delete'].map((verb) => check(`Every${verb}Request`, body))
    t.same(faults.filter((fault) => fault === undefined), [], JSON.stringify(body))
  }
})

// Bodies that a document allows are accepted: random bodies, generated from the schemas alone, are sent.

// a fixed one: the share of refused bodies differs from seed to seed
const bodySeed = Number(process.env['TEST_SEED'] ?? 1)
/** For each engine. */
const BODIES = Number(process.env['TEST_BODIES'] ?? 200)
const MAX_REFUSED = 0.1

/**
 * The shop, and tables with columns of every type, half of them NOT NULL. DOUBLE(M,D) and FLOAT(M,D) are left out:
 * their schemas have no multipleOf, because validators compute it in binary floating point and would reject stored
 * values.
 */
function everything (engine: EngineName): string[] {
  const groups = Object.entries<readonly TypedColumn[]>(engine === 'sqlite' ? sqliteGroups : mysqlGroups)
  // information_schema shows emoji in members as ?
  const certain = (declaration: string): string => declaration.replace(", 'q?', 'x😀'", '')
  return [...(engine === 'sqlite' ? shop.sqlite : shop.mysql), ...groups.map(([name, group]) => {
    const columns = group.filter(
      ({ only, declaration }) => (only === undefined || only === engine) && !/^(double|float)\(/.test(declaration)
    )
    return `create table ${name.replace(' ', '_')} (id integer not null primary key,
      ${columns.map(({ declaration }, index) =>
        `c${index} ${certain(declaration)} ${index % 2 === 0 ? 'not null' : 'null'}, `).join('')} rest int null)`
  })]
}

/** What no schema can say, because it depends on other values of the body or on what the database computes. */
const UNSAYABLE: ReadonlyArray<readonly [code: string, message: RegExp]> = [
  ['COLUMN_NOT_FOUND', /the result of "groupBy" and "aggregates"/],
  ['INVALID_BODY', /is already a (column|name) of "groupBy"|must have the columns of the order/],
  ['INVALID_ORDER_BY', /contains a column or a path twice|is not possible with the type/],
  ['MISSING_COLUMN', /missing columns that have no default/], // a number that onConflict.set takes from the row
  // the name of another column
  ['COLUMN_NOT_FOUND', /does not exist in table/],
  ['INVALID_BODY', /"\$some" and "\$none" select rows/],
  ['INVALID_BODY', /contain more than \d+ (conditions|values)|nested deeper|levels together/],
  ['FILTERS_REQUIRED', /restrict the affected rows/],
  [
    'NOT_SUPPORTED',
    /rows cannot be found again|cannot be found again|does not support this operation|"\$(some|none)" cannot name/
  ]
]

/**
 * What a member may be depends on the columns of both tables and on all members of the body together. Most random
 * members are refused for it.
 */
const OF_MEMBERS: ReadonlyArray<readonly [code: string, message: RegExp]> = [
  [
    'INVALID_BODY',
    new RegExp([
      'no foreign key relates', 'foreign keys relate', '"on" names columns of', 'is a column of', 'cannot relate rows',
      'has no index that begins with', '"(orderBy|limit)" is not allowed(: the columns of "on"| with "as")',
      '"include" requires "returning"', 'is a view, which is not allowed beside',
      '"aggregates" of a member is not allowed beside "returning"', '"include" can have at most'
    ].join('|'))
  ],
  ['INVALID_ORDER_BY', /member|include/],
  ['NOT_SUPPORTED', /"include"/]
]

/** Depends on the rows that are there, which no schema knows. */
const OF_DATA = new Set(['UNIQUE_VIOLATION', 'FOREIGN_KEY_VIOLATION', 'CHECK_VIOLATION', 'EXPECTATION_FAILED'])

/** A sum with a stored value, or the next number of a table whose greatest number is taken. */
function isOverflow ({ code, details }: any, body: object): boolean {
  return code === 'VALUE_OUT_OF_RANGE' &&
    (/"\$(inc|now)"/.test(JSON.stringify(body)) || details.every(({ path }: any) => /^\/data(\/\d+)?$/.test(path)))
}

/** Leaves out comparisons with another column, whose name no schema says (test/http/columns-of-a-row.test.ts). */
function withoutColumns (value: any): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries<any>(value)) {
    if (inner?.$column !== undefined) delete value[name]
    else withoutColumns(inner)
  }
}

/** Leaves out what the schemas do not say: which fields go together, and the names in `orderBy` and `$column`. */
function tidy (body: any): void {
  const part = body.verb ?? 'member'
  // no random member is one that "groupBy" names (test/http/groups-related.test.ts)
  body.groupBy = body.groupBy?.filter((entry: any) => typeof entry === 'string' ||
    Object.values(entry).every((part: any) => Object.keys(part).every((key) => key.startsWith('$'))))
  if (body.groupBy === undefined || body.groupBy.length === 0) delete body.groupBy
  // nor one that an aggregate names (test/http/aggregates-related.test.ts)
  for (const [name, { filters, ...calls }] of Object.entries<any>(body.aggregates ?? {})) {
    const [call] = Object.entries(calls).filter(([, operand]) => typeof operand === 'string')
    if (call === undefined) delete body.aggregates[name]
    else body.aggregates[name] = { [call[0]]: call[1], ...filters !== undefined && { filters } }
  }
  if (Object.keys(body.aggregates ?? {}).length === 0) delete body.aggregates
  if (body.onConflict === undefined) delete body.outcomes
  const isGrouped = body.groupBy !== undefined || body.aggregates !== undefined
  if (isGrouped && body.verb === 'select') delete body.include
  for (const field of ['orderBy', ...isGrouped ? [] : ['having']]) delete body[field]
  for (const field of Object.keys(body)) {
    for (const excluded of fieldNamed(field)?.excludes?.[part as BodyPart] ?? []) delete body[excluded]
  }
  if (body.include !== undefined || isGrouped) delete body.lock
  // the list of an update needs "key", its columns in each entry, and different rows (test/http/keyed-updates.test.ts)
  if (body.verb === 'update') {
    delete body.key
    if (Array.isArray(body.data)) body.data = body.data[0]
    if (Object.keys(body.filters).length === 0) body.filters = { ...body.filters, $not: { $or: [] } }
  }
  for (const each of [...body.operations ?? [], ...Object.values(body.include ?? {})]) tidy(each)
}

await onEachEngine(t, 'random bodies that ' +
  'a document allows', { schema: everything }, async (t, { server, post, operate }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  // values of the others have no types
  document.components.schemas.Operation.anyOf = document.components.schemas.Operation.anyOf.filter(
    ({ $ref }: { $ref: string }) => !/\/(Select|Insert|Update|Delete)Operation$/.test($ref)
  )
  const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false }, multipleOfPrecision: 6 })
  ajv.addSchema(document, 'document')
  // rules of several properties refer to other schemas
  const generate = createSchemaValues(
    document, bodySeed, (rules, value) => JSON.stringify(rules).includes('$ref') || ajv.validate(rules, value)
  )
  const requests = Object.entries<any>(document.paths).flatMap(([path, { post: { requestBody } }]) => {
    const { $ref } = requestBody.content['application/json'].schema
    const name = $ref.split('/').at(-1)
    const { oneOf = [{ $ref }] } = document.components.schemas[name]
    // operations are as likely as two verbs of a table
    return [...oneOf, ...oneOf.length === 1 ? oneOf : []].map((schema: { $ref: string }) => ({
      table: path.split('/')[2] && decodeURIComponent(path.split('/')[2] as string), schema
    }))
  })
  const counts = new Map<string, {
    sent: number, data: number, unsayable: number, members: number, refused: string[]
  }>()
  let included = 0
  let drawn = 0
  for (let sent = 0; sent < BODIES; drawn++) {
    const { table, schema } = requests[drawn % requests.length] as typeof requests[number]
    const body = generate(schema) as any
    tidy(body)
    withoutColumns(body)
    if (!ajv.validate(`document${schema.$ref}`, body)) continue
    sent++
    const { status, json } = table === undefined ? await operate(body) : await post(table, body)
    const name = table === undefined ? 'operations' : body.verb
    const count = counts.get(name) ?? { sent: 0, data: 0, unsayable: 0, members: 0, refused: [] }
    counts.set(name, count)
    count.sent++
    if (status === 200) {
      if (body.include !== undefined) included++
      continue
    }
    if (OF_DATA.has(json.error.code) || isOverflow(json.error, body)) count.data++
    else if (UNSAYABLE.some(([code, message]) => code === json.error.code &&
      message.test(json.error.message))) count.unsayable++
    else if (OF_MEMBERS.some(([code, message]) => code === json.error.code &&
      message.test(json.error.message))) count.members++
    else {
      count.refused.push(
      `${table} ${status} ${json.error.code} ${json.error.message} ` +
        `${json.error.details.map(({ path }: any) => path)} ${JSON.stringify(body).slice(0, 300)}`
      )
    }
  }
  t.comment(`${drawn} drawn`)
  for (const [name, { sent, data, unsayable, members, refused }] of counts) {
    t.comment(
    `${name}: ${sent} sent, ${data} refused because of rows, ${unsayable} for what no schema can say, ` +
      `${members} because of members, ${refused.length} otherwise`
    )
  }
  t.comment(`${included} selects with members`)
  const all = [...counts.values()]
  t.same(all.flatMap(({ refused }) => refused), [], 'none is refused for a reason that a schema can say')
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
  t.ok(sum(all.map(({ unsayable }) => unsayable)) < MAX_REFUSED * sum(all.map(({ sent }) => sent)))
})
