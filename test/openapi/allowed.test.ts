// night: many random cases
/** Bodies that a document allows are accepted: random bodies, generated from the schemas alone, are sent. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { get } from '../support/documents.ts'
import { createSchemaValues } from '../support/schema-values.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

// a fixed one: the share of refused bodies differs from seed to seed
const seed = Number(process.env['TEST_SEED'] ?? 1)
/** For each engine. */
const BODIES = Number(process.env['TEST_BODIES'] ?? 200)
const MAX_REFUSED = 0.05

/**
 * The shop, and tables with columns of every type, half of them NOT NULL. DOUBLE(M,D) and FLOAT(M,D) are left out: their schemas have no multipleOf, because
 * validators compute it in binary floating point and would reject stored values.
 */
function schema (engine: EngineName): string[] {
  const groups = Object.entries<readonly TypedColumn[]>(engine === 'sqlite' ? sqliteGroups : mysqlGroups)
  // information_schema shows emoji in members as ?
  const certain = (declaration: string): string => declaration.replace(", 'q?', 'x😀'", '')
  return [...(engine === 'sqlite' ? shop.sqlite : shop.mysql), ...groups.map(([name, group]) => {
    const columns = group.filter(({ only, declaration }) => (only === undefined || only === engine) && !/^(double|float)\(/.test(declaration))
    return `create table ${name.replace(' ', '_')} (id integer not null primary key, ${columns.map(({ declaration }, index) => `c${index} ${certain(declaration)} ${index % 2 === 0 ? 'not null' : 'null'}, `).join('')} rest int null)`
  })]
}

/** What no schema can say, because it depends on other values of the body or on what the database computes. */
const UNSAYABLE: ReadonlyArray<readonly [code: string, message: RegExp]> = [
  ['COLUMN_NOT_FOUND', /the result of "groupBy" and "aggregates"/],
  ['INVALID_BODY', /is already a (column|name) of "groupBy"|must have the columns of the order/],
  ['INVALID_ORDER_BY', /contains a column twice|is not possible with the type/],
  ['INVALID_BODY', /"\$some" and "\$none" select rows/],
  ['INVALID_BODY', /contain more than \d+ (conditions|values)|nested deeper|levels together/],
  ['FILTERS_REQUIRED', /restrict the affected rows/],
  ['NOT_SUPPORTED', /rows cannot be found again|cannot be found again|does not support this operation|"\$(some|none)" cannot name/]
]

/** What a member may be depends on the columns of both tables and on all members of the body together. Most random members are refused for it. */
const OF_MEMBERS: ReadonlyArray<readonly [code: string, message: RegExp]> = [
  ['INVALID_BODY', /cannot relate rows|has no index that begins with|"(orderBy|limit)" is not allowed: the columns of "on"|"include" can have at most/],
  ['INVALID_ORDER_BY', /member|include/],
  ['NOT_SUPPORTED', /"include"/]
]

/** Depends on the rows that are there, which no schema knows. */
const OF_DATA = new Set(['UNIQUE_VIOLATION', 'FOREIGN_KEY_VIOLATION', 'CHECK_VIOLATION', 'EXPECTATION_FAILED'])

/** A sum with a stored value, or the next number of a table whose greatest number is taken. */
function isOverflow ({ code, details }: any, body: object): boolean {
  return code === 'VALUE_OUT_OF_RANGE' && (/"\$(inc|now)"/.test(JSON.stringify(body)) || details.every(({ path }: any) => /^\/data(\/\d+)?$/.test(path)))
}

await onEachEngine(t, 'random bodies that a document allows', { schema }, async (t, { server, post, operate }) => {
  const { json: document } = await get(server, '/shop/openapi.json')
  const ajv = new Ajv2020({ strict: false, validateFormats: false, multipleOfPrecision: 6 })
  ajv.addSchema(document, 'document')
  // rules of several properties refer to other schemas
  const generate = createSchemaValues(document, seed, (rules, value) => JSON.stringify(rules).includes('$ref') || ajv.validate(rules, value))
  const requests = Object.entries<any>(document.paths).flatMap(([path, { post: { requestBody } }]) => {
    const { $ref } = requestBody.content['application/json'].schema
    const name = $ref.split('/').at(-1)
    const { oneOf = [{ $ref }] } = document.components.schemas[name]
    // operations are as likely as two verbs of a table
    return [...oneOf, ...oneOf.length === 1 ? oneOf : []].map((schema: { $ref: string }) => ({ table: path.split('/')[2] && decodeURIComponent(path.split('/')[2] as string), schema }))
  })
  const counts = new Map<string, { sent: number, data: number, unsayable: number, members: number, refused: string[] }>()
  let included = 0
  let drawn = 0
  for (let sent = 0; sent < BODIES; drawn++) {
    const { table, schema } = requests[drawn % requests.length] as typeof requests[number]
    const body = generate(schema) as any
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
    else if (UNSAYABLE.some(([code, message]) => code === json.error.code && message.test(json.error.message))) count.unsayable++
    else if (OF_MEMBERS.some(([code, message]) => code === json.error.code && message.test(json.error.message))) count.members++
    else count.refused.push(`${table} ${status} ${json.error.code} ${json.error.message} ${json.error.details.map(({ path }: any) => path)} ${JSON.stringify(body).slice(0, 300)}`)
  }
  t.comment(`${drawn} drawn`)
  for (const [name, { sent, data, unsayable, members, refused }] of counts) t.comment(`${name}: ${sent} sent, ${data} refused because of rows, ${unsayable} for what no schema can say, ${members} because of members, ${refused.length} otherwise`)
  t.comment(`${included} selects with members`)
  const all = [...counts.values()]
  t.same(all.flatMap(({ refused }) => refused), [], 'none is refused for a reason that a schema can say')
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
  t.ok(sum(all.map(({ unsayable }) => unsayable)) < MAX_REFUSED * sum(all.map(({ sent }) => sent)))
})
