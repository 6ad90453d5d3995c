// night: starts programs
/** The commands in docs/ and CONTRIBUTING.md are run, and what they print is compared with what the documents show. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { findAccountRisks } from '../../src/dialects/mysql/audit/account-risks.ts'
import { addressOf } from '../support/mysql.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { createShell } from '../support/shell.ts'

/** The blocks of a kind, of which there is at least one. */
function blocksOf (document: string, kind: string): string[] {
  const blocks = codeBlocks(readDocument(document)).filter((block) => block.kind === kind).map(({ text }) => text.trim())
  if (blocks.length === 0) throw new Error(`${document} has no block ${kind}`)
  return blocks
}

const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Record<string, string> }

t.test('docs/configuration.md: the command that creates a token', async (t) => {
  for (const command of blocksOf('docs/configuration.md', 'sh')) {
    t.match(command, /^npx row-query /)
    const { code, stdout } = await runRowQuery(t as Test, command.split(' ').slice(2))
    t.equal(code, 0)
    t.match(stdout, /rq_[\w-]{43}[^]*"name": "reports"/)
  }
})

t.test('docs/configuration.md: the errors of a configuration', async (t) => {
  const [shown = ''] = blocksOf('docs/configuration.md', 'text errors')
  const folder = t.testdir({ 'row-query.json': JSON.stringify({ databases: { crm: { url: 'mysql://127.0.0.1/crm', pool: { sise: 5 } } } }) })
  const { code, stderr } = await runRowQuery(t as Test, ['serve', '--config', `${folder}/row-query.json`], { env: { DATABASE_URL: 'mysql://127.0.0.1', PORT: 'x' } })
  t.equal(code, 2)
  t.same(stderr.trim().split('\n').toSorted(), shown.split('\n').toSorted())
})

t.test('docs/configuration.md: the warnings of an account', async (t) => {
  const [shown = ''] = blocksOf('docs/configuration.md', 'text account')
  const lines = (kind: string): string[] => Array.from(shown.matchAll(new RegExp(`^ {2}${kind}: (.*)$`, 'gm')), ([, line = '']) => line)
  // a server with the account of the document
  const ask = async (sql: string): Promise<string[][]> => /show grants/.test(sql) ? lines('account').map((line) => [line]) : [['shop@%']]
  t.same(await findAccountRisks(ask as never, addressOf('mysql://shop:secret@db.example.com/shop'), ['shop']), { excess: lines('warning').slice(0, 2), risks: lines('warning').slice(2), enough: lines('enough') })
})

t.test('docs/configuration.md: what tokens and roles may do', async (t) => {
  const [shown = ''] = blocksOf('docs/configuration.md', 'text grants')
  const folder = t.testdir({})
  const database = new DatabaseSync(`${folder}/shop.db`)
  database.exec('create table orders (id integer primary key, status text, total int, tenant_id int not null); create table a (id int); create table b (id int); create table c (id int)')
  database.close()
  const orders = { columns: { select: ['id', 'status', 'total'], insert: ['status', 'total'], update: ['status'] }, rows: { tenant_id: { $claim: '/tenant' } } }
  const sha256 = (digit: string): string => digit.repeat(64)
  const config = {
    databases: { shop: { url: `sqlite:${folder}/shop.db` } },
    tokens: [{ name: 'reports', sha256: sha256('1'), permissions: ['select'] }, { name: 'old', sha256: sha256('2'), permissions: ['select'], databases: { shop: ['invoices'] }, expires: '2026-01-01' }, { name: 'acme', sha256: sha256('3'), permissions: ['select'], databases: { shop: { orders: { rows: orders.rows } } } }],
    jwt: [{ issuer: 'https://login.example.com', audience: 'rows', secret: 'x'.repeat(32), algorithms: ['HS256'], role: '/role' }],
    roles: {
      clerk: { permissions: ['select', 'insert', 'update'], databases: { shop: { orders } } },
      form: { permissions: ['insert'], databases: { shop: { orders: { columns: { insert: ['status'] } } } } }
    }
  }
  writeFileSync(`${folder}/row-query.json`, JSON.stringify(config))
  const { code, stdout } = await runRowQuery(t as Test, ['check', '--config', `${folder}/row-query.json`])
  t.equal(code, 1)
  for (const line of shown.split('\n').filter((line) => !line.includes('…'))) t.ok(stdout.split('\n').includes(line), line)
})

t.test('docs/upgrading.md: the commands before and after an upgrade', async (t) => {
  const folder = t.testdir({})
  const database = new DatabaseSync(`${folder}/shop.db`)
  database.exec('create table orders (id integer primary key)')
  database.close()
  const config = { databases: { shop: { url: 'sqlite:shop.db' } }, tokens: [{ name: 'reports', sha256: '1'.repeat(64), permissions: ['select'] }] }
  writeFileSync(`${folder}/row-query.json`, JSON.stringify(config))
  const printed = { 'row-query check': /^shop: answers, 1 tables/, 'row-query openapi': /"openapi": "3\.1/, 'row-query types': /interface/ }
  for (const [index, command] of [...blocksOf('docs/upgrading.md', 'sh check'), ...blocksOf('docs/upgrading.md', 'sh documents').flatMap((block) => block.split('\n'))].entries()) {
    const [program, expected] = Object.entries(printed)[index] as [string, RegExp]
    t.ok(command.trim().startsWith(`npx ${program} `))
    const { code, stdout } = await runRowQuery(t as Test, command.trim().replace(/ > \S+$/, '').split(' ').slice(2), { cwd: folder })
    t.equal(code, 0, command)
    t.match(stdout, expected)
  }
})

t.test('docs/operations.md: the flags for an app', async (t) => {
  const [command = ''] = blocksOf('docs/operations.md', 'sh')
  const [program, ...flags] = command.split(' ').slice(0, -1)
  t.same([program, command.split(' ').at(-1)], ['node', 'app.js'])
  const { status, stderr } = spawnSync(process.execPath, [...flags, '-e', ''], { encoding: 'utf8', env: {} })
  t.same({ status, stderr }, { status: 0, stderr: '' })
})

t.test('docs/reading.md: the loop in a shell prints every row once', async (t) => {
  const [loop = ''] = blocksOf('docs/reading.md', 'sh')
  const server = await serveRowQuery(t as Test, { env: { API_TOKEN: TOKEN } })
  const output = await createShell(t as Test, { TOKEN })(loop.replace('http://127.0.0.1:3000', server.address))
  const rows = output.trim().split('\n').map((line) => JSON.parse(line) as { id: number, ordered_at: string })
  t.equal(new Set(rows.map(({ id }) => id)).size, 150)
  t.equal(rows.length, 150)
  t.same(rows.map(({ ordered_at: time }) => time), rows.map(({ ordered_at: time }) => time).toSorted().toReversed())
})

t.test('commands that install something or take minutes are scripts of the project', async (t) => {
  const commands = [...blocksOf('CONTRIBUTING.md', 'sh'), ...blocksOf('docs/testing.md', 'sh')]
  t.same(commands, ['npm ci', 'npm run test:fuzz', 'npm run soak'])
  for (const command of commands.filter((each) => each.startsWith('npm run '))) t.ok(scripts[command.slice('npm run '.length)], command)
})
