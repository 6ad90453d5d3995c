/** The apps with their own authentication in docs/plugin.md and docs/grants.md, as they stand there. */
import { createSecretKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { sign } from '../support/issuer.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { type Service, sharedOnEachEngine } from '../support/service.ts'

const SECRET = 'a-secret-for-tests-0123456789-0123456789'
const schema = (engine: string): string[] => [
  `create table orders (id ${engine === 'sqlite' ? 'integer primary key autoincrement' : 'bigint auto_increment primary key'}, tenant varchar(20) not null, note varchar(20))`,
  "insert into orders (id, tenant, note) values (1, 'acme', 'a'), (2, 'zeta', 'z')"
]

/** Runs the example with the database of the service; it listens to nothing. */
async function start (t: Test, kind: string, { url }: Pick<Service, 'url'>, document = 'docs/plugin.md'): Promise<FastifyInstance> {
  const text = codeBlocks(readDocument(document)).find((block) => block.kind === kind)?.text as string
  const path = `${t.testdir({})}/${kind.replace(' ', '-')}.mjs`
  const source = new URL('../../src/index.ts', import.meta.url).href
  writeFileSync(path, text.replace("'fastify-row-query'", `'${source}'`).replace("'mysql://user:password@127.0.0.1:3306/shop'", JSON.stringify(url))
    .replace('{ logger: true }', '').replace('await app.listen({ port: 3000 })', 'export { app }'))
  process.env['JWT_SECRET'] = process.env['SESSION_SECRET'] = SECRET
  const { app } = await import(path) as { app: FastifyInstance }
  t.teardown(() => app.close())
  await app.ready()
  return app
}

const select = { verb: 'select', columns: ['id'], orderBy: 'id' }

async function ask (app: FastifyInstance, headers: Record<string, string>, body: object = select) {
  const response = await app.inject({ method: 'POST', url: '/api/shop/orders', headers, payload: body })
  return { status: response.statusCode, json: response.json() }
}

const test = sharedOnEachEngine(t, { schema })

await test('the app with @fastify/jwt in docs/plugin.md works', async (t, service) => {
  const app = await start(t as Test, 'js jwt', service)
  const bearer = async (claims: Record<string, unknown>, key = SECRET) => ({ authorization: `Bearer ${await sign({ alg: 'HS256', kid: 'any', privateKey: createSecretKey(key, 'utf8') }, claims)}` })
  const acme = await bearer({ sub: 'ada', tenant: 'acme' })
  t.match(await ask(app, acme), { status: 200, json: { data: { rows: [{ id: 1 }], count: 1 } } })
  t.match(await ask(app, await bearer({ sub: 'zoe', tenant: 'zeta' })), { status: 200, json: { data: { rows: [{ id: 2 }], count: 1 } } })
  t.match(await ask(app, acme, { verb: 'insert', data: { note: 'new' } }), { status: 200, json: { data: { inserted: 1 } } })
  t.match(await service.sql('select tenant from orders where id = 3'), [{ tenant: 'acme' }], 'the tenant is filled in')
  t.match(await ask(app, acme, { verb: 'insert', data: { tenant: 'zeta' } }), { status: 403 })
  t.match(await ask(app, acme, { verb: 'delete', filters: { id: 1 } }), { status: 403 })
  t.match(await ask(app, await bearer({ sub: 'ada' })), { status: 403 }, 'without a tenant')
  for (const headers of [{}, await bearer({ sub: 'ada', tenant: 'acme' }, 'another'.repeat(9)), await bearer({ sub: 'ada', tenant: 'acme', exp: 1 }), { authorization: 'Bearer x' }]) {
    t.match(await ask(app, headers as Record<string, string>), { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
  }
})

await test('the app with a session in docs/plugin.md works', async (t, service) => {
  const app = await start(t as Test, 'js session', service)
  t.match(await ask(app, {}), { status: 401 })
  t.match(await ask(app, { cookie: 'sessionId=abc' }), { status: 401 })
  const login = await app.inject({ method: 'POST', url: '/login', payload: { user: 'ada' } })
  const [{ name, value, sameSite, httpOnly }] = login.cookies as [{ name: string, value: string, sameSite?: string, httpOnly?: boolean }]
  t.same([sameSite, httpOnly], ['Strict', true])
  const cookie = `${name}=${encodeURIComponent(value)}`
  t.match(await ask(app, { cookie }), { status: 200, json: { data: { rows: [{ id: 1 }], count: 1 } } })
  t.match(await ask(app, { cookie }, { verb: 'insert', data: {} }), { status: 403 })
})

await test('the app with its own users in docs/grants.md works', async (t, service) => {
  process.env['KEY_OF_ADA'] = 'the-key-of-ada'
  process.env['KEY_OF_ZOE'] = 'the-key-of-zoe'
  const app = await start(t as Test, 'js users', service, 'docs/grants.md')
  const [ada, zoe] = [{ 'x-api-key': 'the-key-of-ada' }, { 'x-api-key': 'the-key-of-zoe' }]
  for (const headers of [{}, { 'x-api-key': '' }, { 'x-api-key': 'another' }]) t.match(await ask(app, headers), { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
  t.match(await ask(app, ada, { verb: 'select' }), { status: 200, json: { data: { rows: [{ id: 1, note: 'a', tenant: undefined }], count: 1 } } })
  t.match(await ask(app, ada, { verb: 'insert', data: { note: 'b' } }), { status: 403 })
  t.match(await ask(app, zoe, { verb: 'insert', data: { note: 'b' } }), { status: 200, json: { data: { inserted: 1, id: 3 } } })
  t.match(await service.sql('select tenant from orders where id = 3'), [{ tenant: 'zeta' }], 'the tenant is filled in')
  t.match(await ask(app, zoe, { verb: 'update', filters: { id: { $gte: 1 } }, data: { note: 'c' } }), { status: 200, json: { data: { updated: 2 } } })
  t.match(await service.sql('select note from orders where id = 1'), [{ note: 'a' }], 'the row of the other tenant is as it was')
  t.match(await ask(app, zoe, { verb: 'insert', data: { note: 'b', tenant: 'acme' } }), { status: 400, json: { error: { code: 'COLUMN_NOT_FOUND' } } })
})
