/** `sqlite::memory:`, for tests of an app. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createRowQuery, type GrantOptions, type RowQueryOptions } from '../../src/index.ts'
import { WITHOUT_TAP } from '../support/package.ts'
import { runRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

const setup = [
  'create table items (id integer primary key, name text not null, body text); create table parts (id integer primary key)',
  "insert into items (name, body) values ('one', replace(hex(zeroblob(250000)), '00', 'aa'))"
]
const grant: GrantOptions = { permissions: ['select', 'insert', 'update', 'delete'] }

/** Creates temporary files in a folder of the test. */
async function start (t: Test, database: Partial<RowQueryOptions['databases'][string]> = { setup }) {
  const { TMPDIR } = process.env
  const folder = process.env['TMPDIR'] = t.testdir()
  t.teardown(() => {
    delete process.env['TMPDIR']
    Object.assign(process.env, TMPDIR !== undefined && { TMPDIR })
  })
  const rows = createRowQuery({ databases: { memory: { url: 'sqlite::memory:', ...database } } })
  const app: FastifyInstance = Fastify()
  app.register(rows.plugin)
  t.teardown(() => app.close())
  await app.ready()
  const execute = (body: object, table = 'items'): Promise<any> => rows.execute({ database: 'memory', table, body: body as never, grant })
  return { app, folder, execute }
}

t.test('a database in memory has the tables of "setup", and its file is removed', async (t) => {
  const { app, folder, execute } = await start(t)
  t.same(await execute({ verb: 'select', columns: ['id', 'name'] }), { rows: [{ id: 1, name: 'one' }], count: 1 })
  t.same(await execute({ verb: 'insert', data: {} }, 'parts'), { inserted: 1, id: 1 })
  t.equal(readdirSync(folder).length, 1)
  await app.close()
  t.same(readdirSync(folder), [])
})

t.test('without "setup" it is empty, and each one is a separate database', async (t) => {
  const first = await start(t)
  const second = await start(t, {})
  t.match(await first.execute({ verb: 'select', columns: ['id'] }), { count: 1 })
  await t.rejects(second.execute({ verb: 'select' }), { code: 'TABLE_NOT_FOUND' })
})

t.test('rows survive a statement that was killed', async (t) => {
  const { execute } = await start(t, { setup, statementTimeout: 300 })
  await execute({ verb: 'insert', data: { name: 'two' } })
  // compares half a million characters at half a million positions
  const slow = { verb: 'select', filters: { $or: Array.from({ length: 50 }, (_, index) => ({ body: { $like: `%${'a'.repeat(900)}${index}` } })) } }
  await t.rejects(execute(slow), { code: 'QUERY_TIMEOUT' })
  t.match(await execute({ verb: 'select', columns: ['name'], orderBy: 'id' }), { rows: [{ name: 'one' }, { name: 'two' }] })
})

t.test('an error in "setup" stops the start, and the file is removed', async (t) => {
  await t.rejects(start(t, { setup: ['creat table items (id integer)'] }), { code: 'ROW_QUERY_INVALID_CONFIG', message: 'databases.memory.setup: near "creat": syntax error' })
  t.same(readdirSync(t.testdirName), [])
})

t.test('a program that exits without closing the database removes the file and prints nothing', async (t) => {
  const index = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)
  const fastify = JSON.stringify(import.meta.resolve('fastify'))
  const text = `import { createRowQuery } from ${index}; import Fastify from ${fastify}
    const app = Fastify(); app.register(createRowQuery({ databases: { m: { url: 'sqlite::memory:' } } }).plugin); await app.ready()
    console.log((await import('node:fs')).readdirSync(process.env.TMPDIR).length); process.exit()`
  const folder = t.testdir()
  const [command, ...words] = [...WITHOUT_TAP, process.execPath, '--input-type=module', '--eval', text]
  const { stdout, stderr } = await promisify(execFile)(command as string, words, { env: { ...process.env, TMPDIR: folder } })
  t.equal(stdout.trim(), '1')
  t.equal(stderr, '')
  t.same(readdirSync(folder), [])
})

t.test('DATABASE_URL may be sqlite::memory:, and "check" finds no risks', async (t) => {
  const { code, stdout, stderr } = await runRowQuery(t, ['check', '--strict'], { env: { DATABASE_URL: 'sqlite::memory:', API_TOKEN: TOKEN } })
  t.equal(code, 0, stderr)
  t.match(stdout, 'memory')
  t.notOk(existsSync(':memory:'))
})
