import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'

/** The token and the entry out of what is printed. */
function read (stdout: string): { secret: string, entry: any } {
  const [, secret = ''] = /^ {2}(rq_[\w-]{43})$/m.exec(stdout) as RegExpExecArray
  return { secret, entry: JSON.parse(stdout.slice(stdout.indexOf('{'))) }
}

t.test('the entry that is printed, pasted into a configuration file, makes the token work', async (t) => {
  const cwd = t.testdir()
  const database = new DatabaseSync(join(cwd, 'shop.db'))
  database.exec('create table orders (id integer primary key); create table staff (id integer primary key)')
  database.close()
  const { code, stdout, stderr } = await runRowQuery(t, ['token', '--name', 'reports', '--permissions', 'select,insert', '--database', 'shop', '--table', 'orders', '--expires', '2999-01-01'])
  t.same({ code, stderr }, { code: 0, stderr: '' })
  const { secret, entry } = read(stdout)
  t.same(entry, { name: 'reports', sha256: hashToken(secret), permissions: ['select', 'insert'], databases: { shop: ['orders'] }, expires: '2999-01-01' })
  t.notMatch(JSON.stringify(entry), secret)

  writeFileSync(join(cwd, 'row-query.json'), JSON.stringify({ databases: { shop: { url: 'sqlite:shop.db' } }, tokens: [entry] }))
  const server = await serveRowQuery(t, { cwd, args: ['--config', 'row-query.json'] })
  t.match(await server.post('/api/shop/orders', { verb: 'insert', data: {} }, secret), { status: 200 })
  t.match(await server.post('/api/shop/orders', { verb: 'delete', filters: { id: 1 } }, secret), { status: 403 })
  t.match(await server.post('/api/shop/staff', { verb: 'select' }, secret), { status: 404 })
  t.match(await server.post('/api/shop/orders', { verb: 'select' }, secret.slice(0, -1)), { status: 401 })
})

const entries: Array<{ args: string[], entry: object }> = [
  { args: ['--permissions', 'select'], entry: { permissions: ['select'] } },
  { args: ['--permissions', 'select, delete', '--permissions', 'insert'], entry: { permissions: ['select', 'delete', 'insert'] } },
  { args: ['--permissions', 'update', '--database', 'a', '--database', 'b'], entry: { permissions: ['update'], databases: { a: '*', b: '*' } } },
  { args: ['--permissions', 'update', '--database', 'a', '--table', 'x', '--table', 'y'], entry: { permissions: ['update'], databases: { a: ['x', 'y'] } } }
]

for (const { args, entry } of entries) {
  t.test(`row-query token ${args.join(' ')}`, async (t) => {
    const { stdout } = await runRowQuery(t, ['token', '--name', 'me', ...args])
    const { sha256, ...rest } = read(stdout).entry
    t.match(sha256, /^[0-9a-f]{64}$/)
    t.same(rest, { name: 'me', ...entry })
  })
}

const fine = ['--name', 'me', '--permissions', 'select']

const refused: Array<{ args: string[], lines: string[] }> = [
  { args: [], lines: ['--name: is required (unique name of the token, in logs and for idempotency keys)', '--permissions: is required (one or more of select, insert, update, delete)'] },
  { args: ['--name', '', '--permissions', 'read,select'], lines: ['--name: must be a string of 1 to 100 characters (unique name of the token, in logs and for idempotency keys)', '--permissions.0: must be "select" or "insert" or "update" or "delete"'] },
  { args: ['--name', 'me', '--permissions', 'select', '--permissions', 'select'], lines: ['--permissions: must be a list that is not empty, without duplicates (one or more of select, insert, update, delete)'] },
  { args: [...fine, '--expires', '2026-01-01'], lines: ['--expires: is in the past'] },
  { args: [...fine, '--table', 'orders'], lines: ['--table: requires exactly one --database'] },
  { args: [...fine, '--table', 'orders', '--database', 'a', '--database', 'b', '--expires', 'soon'], lines: ['--table: requires exactly one --database', '--expires: must be a date or a time with an offset, such as 2027-01-01 or 2027-01-01T12:00:00Z'] }
]

for (const { args, lines } of refused) {
  t.test(`row-query token ${args.join(' ')} is refused`, async (t) => {
    const { code, stdout, stderr } = await runRowQuery(t, ['token', ...args], {})
    t.same({ code, stdout, stderr }, { code: 2, stdout: '', stderr: lines.map((line) => `row-query: ${line}\n`).join('') })
  })
}
