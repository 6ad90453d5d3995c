/** The documents as the tools of others judge them. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { writeFileSync } from 'node:fs'
import { get } from '../support/documents.ts'
import { onEachEngine, type Schema } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

/** A shop and a column of every type. */
const schema: Schema = (engine) => {
  const tables = Object.entries<readonly TypedColumn[]>(engine === 'sqlite' ? sqliteGroups : mysqlGroups).map(([name, columns]) => {
    const usable = columns.filter(({ only }) => only === undefined || only === engine)
    return `create table ${name.replace(' ', '_')} (${usable.map(({ declaration }, index) => `c${index} ${declaration} null`).join(', ') || 'id int null'})`
  })
  return [...(engine === 'sqlite' ? shop.sqlite : shop.mysql), ...tables]
}

const redocly = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js')

/** What `redocly lint` finds with its recommended rules: nothing, neither errors nor warnings. */
async function lint (file: string): Promise<unknown[]> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { stdout } = await promisify(execFile)(process.execPath, [redocly, 'lint', '--format=json', file], { env, maxBuffer: 1e8 }).catch((error: { stdout: string }) => error)
  return (JSON.parse(stdout) as { problems: unknown[] }).problems
}

await onEachEngine(t, 'both documents are valid OpenAPI without errors or warnings', { schema }, async (t, { server }) => {
  const folder = t.testdir()
  for (const path of ['/openapi.json', '/shop/openapi.json']) {
    const { text, json } = await get(server, path)
    const file = join(folder, 'openapi.json')
    writeFileSync(file, text)
    t.same(await lint(file), [], path)
    const validator = new Validator()
    t.match(await validator.validate(json), { valid: true })
    t.equal(validator.version, '3.1')
  }
})

t.test('what is wrong would be found', async (t) => {
  const file = join(t.testdir(), 'openapi.json')
  writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: { '/a': { get: { responses: {} } } } }))
  t.not((await lint(file)).length, 0)
})
