// night: starts programs
/** The programs in the documents that show a part of an app are run on the tables of their document; test/clients and test/build compile the others. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createRowQuery, hashToken, type RowQuery } from '../../src/index.ts'
import { createShop } from '../../src/demo/shop.ts'
import { codeBlocks, readDocument, ROOT } from '../support/markdown.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

function blockOf (document: string, kind: string): string {
  const [block, ...others] = codeBlocks(readDocument(document)).filter((each) => each.kind === kind)
  if (block === undefined || others.length > 0) throw new Error(`${document} has not one block ${kind}`)
  return block.text
}

/** Runs a part of a program with the names that it uses, and returns the constants that it declares. */
async function run (t: Test, document: string, kind: string, names: Record<string, unknown>): Promise<Record<string, any>> {
  const text = blockOf(document, kind)
  const declared = Array.from(text.matchAll(/^const (\w+) =/gm), ([, name]) => name)
  const path = `${t.testdir({})}/${kind.replace(' ', '-')}.mjs`
  writeFileSync(path, `export default async ({ ${Object.keys(names).join(', ')} }) => {\n${text}\nreturn { ${declared.join(', ')} }\n}\n`)
  const { default: program } = await import(path) as { default: (names: Record<string, unknown>) => Promise<Record<string, unknown>> }
  return await program(names)
}

const grant = { permissions: ['select' as const, 'insert' as const, 'update' as const, 'delete' as const] }
const headers = { authorization: 'Bearer the token' }

/** The service in an app, with the tables of docs/transactions.md. */
async function start (t: Test, options: Partial<Parameters<typeof createRowQuery>[0]> = {}): Promise<{ rows: RowQuery, app: FastifyInstance }> {
  const rows = createRowQuery({ databases: { shop: { url: 'sqlite::memory:', setup: [blockOf('docs/transactions.md', 'sql')] } }, tokens, ...options })
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(rows.plugin, { prefix: '/api' })
  await app.ready()
  return { rows, app }
}

const tokens = [{ name: 'everything', ...grant, sha256: hashToken('the token') }]

const count = async (rows: RowQuery, table: string): Promise<unknown> => (await rows.execute({ database: 'shop', table, body: { verb: 'select' }, grant }) as { count: unknown }).count

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

t.test('docs/transactions.md: an audit table', async (t) => {
  const { onWrite } = await run(t as Test, 'docs/transactions.md', 'js onWrite', {}) as { onWrite: NonNullable<Parameters<typeof createRowQuery>[0]['onWrite']> }
  const { rows, app } = await start(t as Test, { onWrite })
  for (const payload of ['{"verb":"insert","data":{"customer_id":9007199254740993}}', '{"verb":"delete","filters":{"id":41}}']) {
    t.match(await app.inject({ method: 'POST', url: '/api/shop/orders', headers: { ...headers, 'content-type': 'application/json' }, payload }), { statusCode: 200 }, payload)
  }
  const { rows: audit } = await rows.execute({ database: 'shop', table: 'audit', body: { verb: 'select', columns: ['who', 'what', 'data'], orderBy: 'id' }, grant }) as { rows: unknown }
  t.same(audit, [{ who: 'everything', what: 'insert orders', data: '{"customer_id":"9007199254740993"}' }, { who: 'everything', what: 'delete orders', data: null }])
})

t.test('docs/operations.md: health and metrics in an app', async (t) => {
  const databases = { shop: { url: 'sqlite::memory:', setup: [blockOf('docs/transactions.md', 'sql')] } }
  for (const [kind, path, expected] of [['js health', '/health/ready', ''], ['js metrics', '/metrics', /^row_query_build_info/m]] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    await run(t as Test, 'docs/operations.md', kind, { app, createRowQuery, databases, tokens })
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
  writeFileSync(`${folder}/execute.ts`, text.replace("'fastify-row-query'", JSON.stringify(`${ROOT}src/index.ts`)).replace('mysql://user:password@127.0.0.1:3306/shop', `sqlite:${folder}/shop.db`) + '\nexport { orders, app }\n')
  const { orders, app } = await import(`${folder}/execute.ts`) as { orders: Array<Record<string, unknown>>, app: { close (): Promise<void> } }
  t.teardown(() => app.close())
  t.ok(orders.length > 0)
  for (const order of orders) t.same(Object.keys(order), ['id', 'total'])
})

t.test('README.md: the typed client, which test/clients compiles', async (t) => {
  const server = await serveRowQuery(t as Test, { env: { API_TOKEN: TOKEN } })
  const path = `${t.testdir({})}/client.ts`
  const text = blockOf('README.md', 'ts client').replace("'fastify-row-query/client'", JSON.stringify(`${ROOT}src/client/index.ts`)).replace('http://127.0.0.1:3000', server.address)
  writeFileSync(path, text)
  const { stdout } = await promisify(execFile)(process.execPath, [path], { env: { TOKEN, NODE_NO_WARNINGS: '1' } })
  const lines = stdout.trim().split('\n')
  t.match(lines[0], /^\d+ \d+\.\d\d$/)
  t.ok(lines.includes('Brass Bicycle Bell'))
})

t.test('docs/clients.md: the tables in the document of a host app', async (t) => {
  const folder = t.testdir({})
  createShop(`${folder}/shop.db`)
  const [text = ''] = codeBlocks(readDocument('docs/clients.md')).filter(({ kind, text }) => kind === 'ts' && text.includes('swaggerTables')).map(({ text }) => text)
  writeFileSync(`${folder}/host.ts`, text.replace("'fastify-row-query'", JSON.stringify(`${ROOT}src/index.ts`)).replace('sqlite:shop.db', `sqlite:${folder}/shop.db`).replace(/^console\.log.*$/m, 'export { app }'))
  const { app } = await import(`${folder}/host.ts`) as { app: { close (): Promise<void>, swagger (): { paths: object } } }
  t.teardown(() => app.close())
  const shown = Array.from(text.match(/\/\/ (.*)$/m)?.[1]?.matchAll(/'([^']+)'/g) ?? [], ([, path]) => path)
  t.same(Object.keys(app.swagger().paths), shown)
})

t.test('the first app of docs/plugin.md, which is run with the package, is the one in README.md', async (t) => {
  t.equal(blockOf('README.md', 'js'), blockOf('docs/plugin.md', 'js'))
})

t.test('docs/grants.md: authenticate has the type of the source', async (t) => {
  const words = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
  t.ok(words(readDocument('src/access/host-grant.ts')).includes(words(blockOf('docs/grants.md', 'ts signature')).replace(/^.*?: /, '')))
})
