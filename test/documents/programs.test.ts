// night: starts programs
/** The programs and commands in the documents are run; test/clients and test/build compile the other programs. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { findAccountRisks } from '../../src/dialects/mysql/privileges.ts'
import { createRowQuery, hashToken, type RowQuery } from '../../src/index.ts'
import { readWithNode } from '../support/csv.ts'
import { blockOf, codeBlocks, readDocument, ROOT } from '../support/markdown.ts'
import { addressOf } from '../support/mysql.ts'
import { call } from '../support/package.ts'
import { createPlace } from '../support/place.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { createShell } from '../support/shell.ts'

// programs that show a part of an app, on the tables of their document

/** Runs a part of a program with the names that it uses, and returns the constants that it declares. */
async function run (
  t: Test, document: string, kind: string, names: Record<string, unknown>
): Promise<Record<string, any>> {
  const text = blockOf(document, kind)
  const declared = Array.from(text.matchAll(/^const (\w+) =/gm), ([, name]) => name)
  const path = `${t.testdir({})}/${kind.replace(' ', '-')}.mjs`
  writeFileSync(
    path,
    `export default async ({ ${Object.keys(names).join(', ')} }) => {\n${text}\nreturn { ${declared.join(', ')} }\n}\n`
  )
  const { default: program } = await import(path) as {
    default: (names: Record<string, unknown>) => Promise<Record<string, unknown>>
  }
  return await program(names)
}

const grant = { permissions: ['select' as const, 'insert' as const, 'update' as const, 'delete' as const] }
const headers = { authorization: 'Bearer the token' }

/** The service in an app, with the tables of docs/transactions.md. */
async function start (t: Test, options: Partial<Parameters<typeof createRowQuery>[0]> = {}): Promise<{
  rows: RowQuery, app: FastifyInstance
}> {
  const rows = createRowQuery({
    databases: { shop: { url: 'sqlite::memory:', setup: [blockOf('docs/transactions.md', 'sql')] } }, tokens, ...options
  })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(rows.plugin, { prefix: '/api' })
  await app.ready()
  return { rows, app }
}

const tokens = [{ name: 'everything', ...grant, sha256: hashToken('the token') }]

const count = async (rows: RowQuery, table: string): Promise<unknown> =>
  (await rows.execute({ database: 'shop', table, body: { verb: 'select' }, grant }) as { count: unknown }).count

t.test('docs/transactions.md: a transaction in process', async (t) => {
  const { rows } = await start(t as Test)
  const { id } = await run(t as Test, 'docs/transactions.md', 'js transaction', { rows, grant })
  t.equal(id, 41)
  t.same([await count(rows, 'orders'), await count(rows, 'items')], [2, 2])
})

t.test('docs/plugin.md: rows in process, one by one', async (t) => {
  const { rows } = await start(t as Test)
  const { ids } = await run(t as Test, 'docs/plugin.md', 'js stream', { rows, grant }) as { ids: number[] }
  t.equal(ids.length, await count(rows, 'orders'))
  t.ok(ids.length > 0)
})

t.test('docs/plugin.md: a grant that is bound once', async (t) => {
  // not in the folder of the program, which is made anew
  const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'shop.db')
  createShop(file)
  const { rows } = await start(t as Test, { databases: { shop: { url: `sqlite:${file}` } } })
  await run(t as Test, 'docs/plugin.md', 'js as', { rows })
  const filters = { $some: { customers: { filters: { name: 'Ada' } } } }
  t.match(await rows.execute({ database: 'shop', table: 'orders', body: { verb: 'select', filters }, grant }), {
    count: 1
  })
})

t.test('npx row-query is the program, in a clone after the script that npm ci runs and beside an ' +
  'installed package', async (t) => {
  t.match(await call(await createPlace(t), 'npx', '--no', 'row-query', 'demo'), 'There is no demo in this folder yet')
})

t.test('docs/transactions.md: an audit table', async (t) => {
  const { onWrite } = await run(t as Test, 'docs/transactions.md', 'js onWrite', {}) as {
    onWrite: NonNullable<Parameters<typeof createRowQuery>[0]['onWrite']>
  }
  const { rows, app } = await start(t as Test, { onWrite })
  for (const payload of [
    '{"verb":"insert","data":{"customer_id":9007199254740993}}', '{"verb":"delete","filters":{"id":41}}'
  ]) {
    t.match(await app.inject({
      method: 'POST', url: '/api/shop/orders', headers: { ...headers, 'content-type': 'application/json' }, payload
    }), { statusCode: 200 }, payload)
  }
  const { rows: audit } = await rows.execute({
    database: 'shop', table: 'audit', body: { verb: 'select', columns: ['who', 'what', 'data'], orderBy: 'id' }, grant
  }) as { rows: unknown }
  t.same(audit, [{ who: 'everything', what: 'insert orders', data: '{"customer_id":"9007199254740993"}' }, {
    who: 'everything', what: 'delete orders', data: null
  }])
})

t.test('docs/monitoring.md: health and metrics in an app', async (t) => {
  const databases = { shop: { url: 'sqlite::memory:', setup: [blockOf('docs/transactions.md', 'sql')] } }
  for (const [kind, path, expected] of [
    ['js health', '/health/ready', ''], ['js metrics', '/metrics', /^row_query_build_info/m]
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    await run(t as Test, 'docs/monitoring.md', kind, { app, createRowQuery, databases, tokens })
    await app.ready()
    const response = await app.inject(path)
    t.equal(response.statusCode, 200, kind)
    t.match(response.body, expected)
  }
})

t.test('docs/plugin.md: typed requests in process', async (t) => {
  const folder = t.testdir({})
  createShop(`${folder}/shop.db`)
  const text = blockOf('docs/plugin.md', 'ts execute')
  writeFileSync(`${folder}/execute.ts`, text.replace("'fastify-row-query'", JSON.stringify(`${ROOT}src/index.ts`))
    .replace('mysql://user:password@127.0.0.1:3306/shop', `sqlite:${folder}/shop.db`) + '\nexport { orders, app }\n')
  const { orders, app } = await import(`${folder}/execute.ts`) as {
    orders: Array<Record<string, unknown>>, app: { close (): Promise<void> }
  }
  t.teardown(() => app.close())
  t.ok(orders.length > 0)
  for (const order of orders) t.same(Object.keys(order), ['id', 'total'])
})

t.test('README.md: the typed client, which test/clients compiles', async (t) => {
  const server = await serveRowQuery(t as Test, { env: { API_TOKEN: TOKEN } })
  const path = `${t.testdir({})}/client.ts`
  const text = blockOf('README.md', 'ts client').replace(
    "'fastify-row-query/client'", JSON.stringify(`${ROOT}src/client/index.ts`)
  ).replace('http://127.0.0.1:3000', server.address)
  writeFileSync(path, text)
  const { stdout } = await promisify(execFile)(process.execPath, [path], { env: { TOKEN, NODE_NO_WARNINGS: '1' } })
  const lines = stdout.trim().split('\n')
  t.match(lines[0], /^\d+ \d+\.\d\d$/)
  t.ok(lines.includes('Brass Bicycle Bell'))
})

t.test('docs/openapi.md: the tables in the document of a host app', async (t) => {
  const folder = t.testdir({})
  createShop(`${folder}/shop.db`)
  const [text = ''] = codeBlocks(readDocument('docs/openapi.md')).filter(
    ({ kind, text }) => kind === 'ts' && text.includes('swaggerTables')
  ).map(({ text }) => text)
  writeFileSync(`${folder}/host.ts`, text.replace("'fastify-row-query'", JSON.stringify(`${ROOT}src/index.ts`)).replace(
    'sqlite:shop.db', `sqlite:${folder}/shop.db`
  ).replace(/^console\.log.*$/m, 'export { app }'))
  const { app } = await import(`${folder}/host.ts`) as {
    app: { close (): Promise<void>, swagger (): { paths: object } }
  }
  t.teardown(() => app.close())
  const shown = Array.from(text.match(/\/\/ (.*)$/m)?.[1]?.matchAll(/'([^']+)'/g) ?? [], ([, path]) => path)
  t.same(Object.keys(app.swagger().paths), shown)
})

t.test('the first app of docs/plugin.md, which is run with the package, is the one in README.md', async (t) => {
  t.equal(blockOf('README.md', 'js'), blockOf('docs/plugin.md', 'js'))
})

t.test('docs/host-grants.md: authenticate has the type of the source', async (t) => {
  const words = (text: string): string => text.replaceAll(/\s+/g, '')
  t.ok(words(readDocument('src/access/grant.ts')).includes(
    words(blockOf('docs/host-grants.md', 'ts signature')).replace(/^.*?:/, '')
  ))
})

// commands in docs/ and CONTRIBUTING.md, and what they print

/** The blocks of a kind, of which there is at least one. */
function blocksOf (document: string, kind: string): string[] {
  const blocks = codeBlocks(readDocument(document)).filter((block) => block.kind === kind).map(
    ({ text }) => text.trim()
  )
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
  const folder = t.testdir({
    'row-query.json': JSON.stringify({ databases: { crm: { url: 'mysql://127.0.0.1/crm', pool: { sise: 5 } } } })
  })
  const { code, stderr } = await runRowQuery(t as Test, ['serve', '--config', `${folder}/row-query.json`], {
    env: { DATABASE_URL: 'mysql://127.0.0.1', PORT: 'x' }
  })
  t.equal(code, 2)
  t.same(stderr.trim().split('\n').toSorted(), shown.split('\n').toSorted())
})

t.test('docs/configuration.md: the warnings of an account', async (t) => {
  const [shown = ''] = blocksOf('docs/configuration.md', 'text account')
  const lines = (kind: string): string[] =>
    Array.from(shown.matchAll(new RegExp(`^ {2}${kind}: (.*)$`, 'gm')), ([, line = '']) => line)
  // a server with the account of the document
  const ask = async (sql: string): Promise<string[][]> =>
    /show grants/.test(sql) ? lines('account').map((line) => [line]) : [['shop@%']]
  t.same(await findAccountRisks(ask as never, addressOf('mysql://shop:secret@db.example.com/shop'), ['shop']), {
    excess: lines('warning').slice(0, 2), risks: lines('warning').slice(2), enough: lines('enough')
  })
})

t.test('docs/configuration.md: what tokens and roles may do', async (t) => {
  const [shown = ''] = blocksOf('docs/configuration.md', 'text grants')
  const folder = t.testdir({})
  const database = new DatabaseSync(`${folder}/shop.db`)
  database.exec('create table orders (id integer primary key, status text, total int, tenant_id int not null); ' +
    'create table a (id int); create table b (id int); create table c (id int)')
  database.close()
  const orders = {
    columns: { select: ['id', 'status', 'total'], insert: ['status', 'total'], update: ['status'] },
    rows: { tenant_id: { $claim: '/tenant' } }
  }
  const sha256 = (digit: string): string => digit.repeat(64)
  const config = {
    databases: { shop: { url: `sqlite:${folder}/shop.db` } },
    tokens: [
      { name: 'reports', sha256: sha256('1'), permissions: ['select'] },
      {
        name: 'old',
        sha256: sha256('2'),
        permissions: [
          'select'
        ],
        databases: { shop: ['invoices'] },
        expires: '2026-01-01'
      },
      {
        name: 'acme',
        sha256: sha256('3'),
        permissions: ['select'],
        databases: {
          shop: { orders: { rows: orders.rows } }
        }
      }
    ],
    jwt: [{
      issuer: 'https://login.example.com',
      audience: 'rows',
      secret: 'x'.repeat(32),
      algorithms: [
        'HS256'
      ],
      role: '/role'
    }],
    roles: {
      clerk: { permissions: ['select', 'insert', 'update'], databases: { shop: { orders } } },
      form: { permissions: ['insert'], databases: { shop: { orders: { columns: { insert: ['status'] } } } } }
    }
  }
  writeFileSync(`${folder}/row-query.json`, JSON.stringify(config))
  const { code, stdout } = await runRowQuery(t as Test, ['check', '--config', `${folder}/row-query.json`])
  t.equal(code, 1)
  for (const line of shown.split('\n').filter((line) => !line.includes('…'))) {
    t.ok(
      stdout.split('\n').includes(line), line
    )
  }
})

t.test('docs/deployment.md: the commands before and after an upgrade', async (t) => {
  const folder = t.testdir({})
  const database = new DatabaseSync(`${folder}/shop.db`)
  database.exec('create table orders (id integer primary key)')
  database.close()
  const config = {
    databases: { shop: { url: 'sqlite:shop.db' } },
    tokens: [
      { name: 'reports', sha256: '1'.repeat(64), permissions: ['select'] }
    ]
  }
  writeFileSync(`${folder}/row-query.json`, JSON.stringify(config))
  const printed = {
    'row-query check': /^shop: answers, 1 tables/,
    'row-query openapi': /"openapi": "3\.1/,
    'row-query types': /interface/
  }
  for (const [index, command] of [
    ...blocksOf('docs/deployment.md', 'sh check'),
    ...blocksOf('docs/deployment.md', 'sh documents').flatMap((block) => block.split('\n'))
  ].entries()) {
    const [program, expected] = Object.entries(printed)[index] as [string, RegExp]
    t.ok(command.trim().startsWith(`npx ${program} `))
    const { code, stdout } = await runRowQuery(t as Test, command.trim().replace(/ > \S+$/, '').split(' ').slice(2), {
      cwd: folder
    })
    t.equal(code, 0, command)
    t.match(stdout, expected)
  }
})

t.test('docs/deployment.md: the flags for an app', async (t) => {
  const [command = ''] = blocksOf('docs/deployment.md', 'sh flags')
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
  const commands = [...blocksOf('CONTRIBUTING.md', 'sh'), ...blocksOf('docs/internals/testing.md', 'sh')]
  t.same(commands, ['npm ci', 'npm run test:fuzz', 'npm run soak'])
  for (const command of commands.filter((each) => each.startsWith('npm run '))) {
    t.ok(
      scripts[command.slice('npm run '.length)], command
    )
  }
})

// docs/exports.md, on the demo

const exportBlocks = (kind: string): string[] =>
  codeBlocks(readDocument('docs/exports.md')).filter((block) => block.kind === kind).map(({ text }) => text.trim())

t.test('the commands and the program of docs/exports.md export the orders of the demo', async (t) => {
  const folder = t.testdir()
  const server = await serveRowQuery(t as Test, { env: { API_TOKEN: TOKEN }, cwd: folder })
  const [curl = '', command = '', rest = ''] = exportBlocks('sh')
  const shell = createShell(t as Test, { TOKEN })
  const run = (line: string): Promise<string> =>
    shell(`cd ${folder} && ${line.replace('http://127.0.0.1:3000', server.address)}`)
  const read = (name: string) => readWithNode(readFileSync(join(folder, name), 'utf8'))

  await run(curl)
  const all = read('orders.csv')
  t.same([all.length, all[0]], [151, ['id', 'status', 'total']])
  await run(rest)
  t.same(read('rest.csv').slice(1), all.slice(101))

  t.match(command, /^npx row-query export /)
  const { code, stdout } = await runRowQuery(
    t as Test, command.replace('orders.csv', 'command.csv').split(' ').slice(2), { cwd: folder }
  )
  t.same([code, stdout], [0, ''])
  t.same(read('command.csv'), all)

  const [program = ''] = exportBlocks('python export')
  if (spawnSync('python3', ['--version']).error !== undefined) return t.pass('there is no Python')
  const printed = execFileSync(
    'python3', ['-c', `${program.replace('http://127.0.0.1:3000', server.address)}\nprint(order['id'])`],
    { env: { ...process.env, TOKEN }, encoding: 'utf8' }
  )
  const lines = printed.trim().split('\n')
  t.equal(lines.pop(), '150', 'the last line of NDJSON')
  t.same(lines, all.slice(1).map(([, status, total]) => `${status} ${total}`))
})

// docs/imports.md, on the demo

t.test('the command and the programs of docs/imports.md import products', async (t) => {
  const blocks = (kind: string): string[] =>
    codeBlocks(readDocument('docs/imports.md')).filter((block) => block.kind === kind).map(({ text }) => text.trim())
  const folder = t.testdir({ 'products.csv': 'sku,name,price\nimported-1,One,1.50\nimported-2,Two,2\n' })
  const server = await serveRowQuery(t as Test, { env: { API_TOKEN: TOKEN }, cwd: folder })
  const here = (text: string): string => text.replace('http://127.0.0.1:3000', server.address).replace(
    "'127.0.0.1', 3000", `'${new URL(server.address).host}'`
  )
  const answer = (inserted: number, updated: number, unchanged: number): object => ({
    success: true, data: { inserted, updated, unchanged }
  })
  const [curl = ''] = blocks('sh')
  const first = await createShell(t as Test, { TOKEN })(`cd ${folder} && ${here(curl)}`)
  t.match(JSON.parse(first), answer(2, 0, 0))
  const [js = ''] = blocks('js import')
  const options = { env: { ...process.env, TOKEN }, encoding: 'utf8', cwd: folder } as const
  t.match(execFileSync(process.execPath, ['--input-type=module', '-e', here(js)], options), /inserted: 0/)
  const [command = ''] = blocks('sh command')
  const { code, stdout } = await runRowQuery(t as Test, command.split(' ').slice(2), { cwd: folder })
  t.match([code, stdout], [0, /^inserted: \d, updated: \d, unchanged: \d\n$/])
  const [program = ''] = blocks('python import')
  if (spawnSync('python3', ['--version']).error !== undefined) return t.pass('there is no Python')
  t.match(execFileSync('python3', ['-c', here(program)], options), /'inserted': 0/)
})
