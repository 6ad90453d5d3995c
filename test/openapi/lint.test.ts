/** Validates the documents with other tools. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import t, { type Test } from 'tap'
import { writeFileSync } from 'node:fs'
import { get, tokenFor } from '../support/documents.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN, type EngineName, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

/** Names with a meaning in HTML, Markdown, URLs, JSON Pointers, JSON Schema, Fastify paths or JavaScript. */
const NAMES = ['order items', 'order-items', "it's", '"quoted"', '__proto__', '2024', '#hash?', 'a/b', 'a%2Fb', 'a~1b', 'back\\slash', '名前', '$ref', '$and', 'a*b', '.dot', ':param', '{x}', '<b>']
/** Characters beyond U+FFFF, which MySQL does not allow in names. */
const BICYCLE = '🚲'
const COMMENT = '</script><img src=x onerror=alert(1)> */ [x](javascript:alert(1)) ![](http://example.com/x.png) {{x}} ${x}' // eslint-disable-line no-template-curly-in-string

/** A table with each of these names, which has a column with each of them. */
function oddTables (engine: EngineName): string[] {
  const quote = engine === 'sqlite' ? '"' : '`'
  const quoted = (name: string): string => `${quote}${name.replaceAll(quote, quote + quote)}${quote}`
  const names = engine === 'sqlite' ? [...NAMES, BICYCLE] : NAMES
  const comment = engine === 'sqlite' ? '' : ` comment '${COMMENT}'`
  const members = engine === 'sqlite' ? 'text' : "enum('a b', '2', '', 'null', 'true', '\"', '*/', 'it''s', 'é')"
  // the validator reads a property called $ref as a reference
  const columns = names.filter((name) => name !== '$ref').map((name) => `${quoted(name)} varchar(10) null${comment}`).join(', ')
  return names.map((name) => `create table ${quoted(name)} (id int not null primary key, kind ${members} not null default '2'${comment}, ${columns})${comment}`)
}

/** The shop and a column of every type. */
const schema: Schema = (engine) => {
  const tables = Object.entries<readonly TypedColumn[]>(engine === 'sqlite' ? sqliteGroups : mysqlGroups).map(([name, columns]) => {
    const usable = columns.filter(({ only }) => only === undefined || only === engine)
    return `create table ${name.replace(' ', '_')} (${usable.map(({ declaration }, index) => `c${index} ${declaration} null`).join(', ') || 'id int null'})`
  })
  return [...(engine === 'sqlite' ? shop.sqlite : shop.mysql), ...tables]
}

const redocly = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js')

/** Runs `redocly lint` with its recommended rules and expects neither errors nor warnings. */
async function lint (file: string): Promise<unknown[]> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { stdout } = await promisify(execFile)(process.execPath, [redocly, 'lint', '--format=json', file], { env, maxBuffer: 1e8 }).catch((error: { stdout: string }) => error)
  return (JSON.parse(stdout) as { problems: unknown[] }).problems
}

/** Validates both documents with both tools. */
async function isValid (t: Test, { server }: Service, token?: string): Promise<void> {
  const folder = t.testdir()
  for (const path of ['/openapi.json', '/shop/openapi.json']) {
    const { text, json } = await get(server, path, token === undefined ? {} : { token })
    const file = join(folder, 'openapi.json')
    writeFileSync(file, text)
    t.same(await lint(file), [], path)
    const validator = new Validator()
    t.match(await validator.validate(json), { valid: true })
    t.equal(validator.version, '3.1')
  }
}

const tokens = [tokenFor('reader', ['select']), tokenFor('writer', ['insert', 'delete'], { shop: ['orders', 'order_lines'] }), tokenFor('nothing', ['select'], { shop: ['nowhere'] })]

await onEachEngine(t, 'both documents are valid OpenAPI without errors or warnings', { schema, tokens }, async (t, service) => {
  await isValid(t, service)
  for (const { name } of service.engine === 'sqlite' ? tokens : []) await isValid(t, service, name)
})

await onEachEngine(t, 'documents are valid with unusual names and comments, and their examples can be sent', { schema: oddTables }, async (t, service) => {
  await isValid(t, service)
  const { json: { paths }, text } = await get(service.server, '/shop/openapi.json')
  t.equal(Object.keys(paths).length, service.engine === 'sqlite' ? NAMES.length + 1 : NAMES.length)
  for (const [path, { post }] of Object.entries<any>(paths)) {
    for (const { value } of Object.values<any>(post.requestBody.content['application/json'].examples)) {
      const answer = await service.server.app.inject({ method: 'POST', url: `/api${path}`, headers: { authorization: `Bearer ${TOKEN}` }, payload: value })
      t.equal(answer.statusCode, 200, `${path} ${JSON.stringify(value)}`)
    }
  }
  t.notMatch(text, /<img|\]\((java|http)/, 'comments stay text')
})

await onEachEngine(t, 'row-query openapi prints valid documents', { schema, only: ['sqlite', 'mariadb'] }, async (t, { url }) => {
  for (const args of [[], ['shop']]) {
    const { stdout } = await runRowQuery(t, ['openapi', ...args], { env: { ROW_QUERY_CONFIG: `${t.testdir({ 'shop.json': JSON.stringify({ databases: { shop: { url } } }) })}/shop.json` } })
    const file = join(t.testdir(), 'printed.json')
    writeFileSync(file, stdout)
    t.same(await lint(file), [])
    t.match(await new Validator().validate(JSON.parse(stdout)), { valid: true })
  }
})

t.test('the tools find an error', async (t) => {
  const file = join(t.testdir(), 'openapi.json')
  writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/a': { get: { responses: {} } } } }))
  t.not((await lint(file)).length, 0)
})
