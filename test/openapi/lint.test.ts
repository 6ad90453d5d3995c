// night: runs tools and clients of other projects
/** Validates the documents with other tools. */
import { execFile } from 'node:child_process'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import t, { type Test } from 'tap'
import { writeFileSync } from 'node:fs'
import { toolCommand } from '../clients/tools.ts'
import { get, tokenFor } from '../support/documents.ts'
import { WITHOUT_TAP } from '../support/package.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN, type EngineName, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

/** Names with a meaning in HTML, Markdown, URLs, JSON Pointers, JSON Schema, Fastify paths or JavaScript. */
const NAMES = [
  'order items', 'order-items', "it's", '"quoted"', '__proto__', '2024', '#hash?', 'a/b', 'a%2Fb', 'a~1b',
  'back\\slash', '名前', '$ref', '$and', 'a*b', '.dot', ':param', '{x}', '<b>'
]
/** Characters beyond U+FFFF, which MySQL does not allow in names. */
const BICYCLE = '🚲'
const COMMENT = '</script><img src=x onerror=alert(1)> */ [x](javascript:alert(1)) ' +
  '![](http://example.com/x.png) {{x}} ${x}' // eslint-disable-line no-template-curly-in-string

/** A table with each of these names, which has a column with each of them. */
function oddTables (engine: EngineName): string[] {
  const quote = engine === 'sqlite' ? '"' : '`'
  const quoted = (name: string): string => `${quote}${name.replaceAll(quote, quote + quote)}${quote}`
  const names = engine === 'sqlite' ? [...NAMES, BICYCLE] : NAMES
  const comment = engine === 'sqlite' ? '' : ` comment '${COMMENT}'`
  const members = engine === 'sqlite' ? 'text' : "enum('a b', '2', '', 'null', 'true', '\"', '*/', 'it''s', 'é')"
  // the validator reads a property called $ref as a reference
  const columns = names.filter((name) => name !== '$ref').map((name) => `${quoted(name)} varchar(10) null${comment}`)
    .join(', ')
  return names.map(
    (name) =>
      `create table ${quoted(name)} (id int not null primary key, kind ${members} not null default '2'${comment},
        ${columns})${comment}`
  )
}

/** The shop and a column of every type. */
const schema: Schema = (engine) => {
  const tables = Object.entries<readonly TypedColumn[]>(engine === 'sqlite' ? sqliteGroups : mysqlGroups)
    .map(([name, columns]) => {
      const usable = columns.filter(({ only }) => only === undefined || only === engine)
      return `create table ${name.replace(' ', '_')}
        (${usable.map(({ declaration }, index) => `c${index} ${declaration} null`).join(', ') || 'id int null'})`
    })
  return [...(engine === 'sqlite' ? shop.sqlite : shop.mysql), ...tables]
}

const redocly = await toolCommand('@redocly/cli', 'redocly')

/** Documents of all tests. Redocly lints them together at the end, because it starts slowly. */
const folder = t.testdir()
const documents: string[] = []

interface Problem { readonly location: Array<{ readonly source: { readonly ref: string } }> }

/** Runs `redocly lint` with its recommended rules. Returns the errors and warnings with their files. */
async function lint (files: readonly string[]): Promise<Array<{ file: string, problem: unknown }>> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const args = [...WITHOUT_TAP.slice(1), process.execPath, redocly, 'lint', '--format=json', ...files]
  const { stdout } = await promisify(execFile)(WITHOUT_TAP[0], args, { cwd: folder, env, maxBuffer: 1e8 }).catch(
    (error: { stdout: string }) => error
  )
  // one object for each file
  const reports = stdout.split(/(?<=^\})(?=\{)/m).map((text) => JSON.parse(text) as { problems: Problem[] })
  if (reports.length !== files.length) throw new Error(stdout)
  return reports.flatMap(
    ({ problems }) => problems.map((problem) => ({ file: basename(problem.location[0]?.source.ref ?? ''), problem }))
  )
}

/** Validates a document, and keeps it for Redocly. */
async function isValid (t: Test, name: string, text: string): Promise<void> {
  const validator = new Validator()
  t.match(await validator.validate(JSON.parse(text)), { valid: true })
  t.equal(validator.version, '3.1')
  const file = `${name}.json`.replaceAll(/[^\w.]+/g, '-')
  writeFileSync(join(folder, file), text)
  documents.push(file)
}

async function areValid (t: Test, { server, engine }: Service, token?: string): Promise<void> {
  for (const path of ['/openapi.json', '/shop/openapi.json']) {
    const { text } = await get(server, path, token === undefined ? {} : { token })
    await isValid(t, `${documents.length} ${engine} ${token} ${path}`, text)
  }
}

const tokens = [
  tokenFor('reader', ['select']), tokenFor('writer', ['insert', 'delete'], { shop: ['orders', 'order_lines'] }),
  tokenFor('nothing', ['select'], { shop: ['nowhere'] })
]

await onEachEngine(t, 'both documents are valid OpenAPI without ' +
  'errors or warnings', { schema, tokens }, async (t, service) => {
  await areValid(t, service)
  for (const { name } of service.engine === 'sqlite' ? tokens : []) await areValid(t, service, name)
})

await onEachEngine(t, 'documents are valid with unusual names and comments, and their ' +
  'examples can be sent', { schema: oddTables }, async (t, service) => {
  await areValid(t, service)
  const { json: { paths }, text } = await get(service.server, '/shop/openapi.json')
  t.equal(Object.keys(paths).length, service.engine === 'sqlite' ? NAMES.length + 2 : NAMES.length + 1)
  for (const [path, { post }] of Object.entries<any>(paths)) {
    for (const { value } of Object.values<any>(post.requestBody.content['application/json'].examples)) {
      const answer = await service.server.app.inject({
        method: 'POST', url: `/api${path}`, headers: { authorization: `Bearer ${TOKEN}` }, payload: value
      })
      t.equal(answer.statusCode, 200, `${path} ${JSON.stringify(value)}`)
    }
  }
  t.notMatch(text, /<img|\]\((java|http)/, 'comments stay text')
})

await onEachEngine(t, 'row-query openapi ' +
  'prints valid documents', { schema, only: ['sqlite', 'mariadb'] }, async (t, { url, engine }) => {
  for (const args of [[], ['shop']]) {
    const { stdout } = await runRowQuery(t, ['openapi', ...args], {
      env: {
        ROW_QUERY_CONFIG: `${t.testdir({ 'shop.json': JSON.stringify({ databases: { shop: { url } } }) })}/shop.json`
      }
    })
    await isValid(t, `${documents.length} ${engine} printed ${args}`, stdout)
  }
})

t.test('Redocly finds no problem in any of them, and all problems of an invalid document', async (t) => {
  writeFileSync(join(folder, 'invalid.json'), JSON.stringify({
    openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/a': { get: { responses: {} } } }
  }))
  t.ok(documents.length >= 10, `${documents.length} documents`)
  const problems = await lint([...documents, 'invalid.json'])
  t.same(problems.filter(({ file }) => file !== 'invalid.json'), [])
  t.not(problems.length, 0)
})
