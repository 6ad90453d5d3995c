// night: starts programs, sends thousands of requests and waits for time limits
/** Tokens of a program, of thousands of addresses, and of issuers that do not answer. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JwtOptions } from '../../schemas/options.ts'
import { createShop } from '../../src/demo/shop.ts'
import { ask, right, wrong } from '../support/addresses.ts'
import { stoppedDate } from '../support/clock.ts'
import { AUDIENCE, createPair, ISSUER, jwtSetting, type KeyServer, serveKeys, sign } from '../support/issuer.ts'
import { isRefusal } from '../support/refusals.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, type Service, sharedOnEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const few = { schema: shop, only: ['sqlite' as const], options: { failedLogins: { max: 3 } } }

await onEachEngine(t, 'only the latest 5,000 ' +
  'addresses are kept', { ...few, options: { failedLogins: { max: 1 } } }, async (t, service) => {
  const address = (number: number): string => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`
  for (let number = 0; number <= 5000; number++) {
    await ask(service, { address: address(number), authorization: wrong, path: '/api/x' })
  }
  t.match(await ask(service, { address: address(0), authorization: right }), { status: 200 })
  t.match(await ask(service, { address: address(1), authorization: right }), { status: 429 })
  t.match(await ask(service, { address: address(5000), authorization: right }), { status: 429 })
})

const pair = await createPair('first')
const folder = t.testdir()
const path = join(folder, 'tokens.json')

function replaceFile (content: unknown): void {
  writeFileSync(`${path}.new`, typeof content === 'string' ? content : JSON.stringify(content))
  renameSync(`${path}.new`, path)
}

t.test('the program reads the file of API_TOKENS_FILE, and again on SIGHUP', async (t) => {
  const entryOf = async (name: string) => {
    const { stdout } = await runRowQuery(t, ['token', '--name', name, '--permissions', 'select'])
    return { token: /rq_\S+/.exec(stdout)?.[0] as string, entry: JSON.parse(stdout.slice(stdout.indexOf('{'))) }
  }
  const [old, young] = [await entryOf('old'), await entryOf('young')]
  replaceFile([old.entry])
  const server = await serveRowQuery(t, { env: { API_TOKENS_FILE: path } })
  const ask = async (token: string): Promise<number> =>
    (await server.post('/api/demo/products', { verb: 'select' }, token)).status
  t.same([await ask(old.token), await ask(young.token)], [200, 401])
  replaceFile([young.entry])
  server.child.kill('SIGHUP')
  await server.printed(/catalog reloaded/)
  t.same([await ask(old.token), await ask(young.token)], [401, 200])
  const { stdout, stderr } = await server.stop()
  t.equal(stderr, '', 'without the notice that there is no token')
  t.notMatch(stdout, new RegExp([old, young].flatMap(({ token, entry }) => [token, entry.sha256]).join('|')))
})

t.test('the program reads the tokens and roles of its configuration again on SIGHUP, and only those', async (t) => {
  const secret = 's'.repeat(40)
  const write = (
    role: string, changes: object = {}
  ): void => writeFileSync(join(folder, 'row-query.json'), JSON.stringify({
    databases: { demo: { url: 'sqlite:demo.db' } },
    jwt: [{ issuer: ISSUER, audience: AUDIENCE, secret, algorithms: ['HS256'], role: '/role' }],
    roles: { [role]: { permissions: ['select'], databases: '*' } },
    ...changes
  }))
  createShop(join(folder, 'demo.db'))
  write('reader')
  const server = await serveRowQuery(t, { cwd: folder, env: { ROW_QUERY_CONFIG: 'row-query.json' } })
  const token = await sign({ ...pair, alg: 'HS256' }, {}, { key: Buffer.from(secret), header: { kid: undefined } })
  const ask = async (): Promise<number> => (await server.post('/api/demo/products', { verb: 'select' }, token)).status
  t.equal(await ask(), 200)
  for (const [role, changes, expected, line] of [
    ['clerk', { prefix: '/other' }, 403, /"settings":\["prefix"\]/],
    ['reader', {}, 200, /"roles":1,"requests":0,"msg":"tokens and roles reloaded"/],
    ['clerk', { logLevel: 'loud' }, 200, /"errors":\["logLevel: [^"]*"[^\n]*the previous tokens and roles stay in use/]
  ] as const) {
    write(role, changes)
    const before = await server.printed(/^/)
    server.child.kill('SIGHUP')
    await until('it is read', async () => (await server.printed(/^/)).slice(before.length).includes('catalog reloaded'))
    t.equal(await ask(), expected)
    t.match((await server.printed(/^/)).slice(before.length), line)
  }
  t.equal((await server.stop()).stderr, '')
})

const select = { verb: 'select', columns: ['id'], filters: { id: 1 } }
const roles = { reader: { permissions: ['select' as const], databases: '*' as const } }

type Ask = (token: string) => Promise<Awaited<ReturnType<Service['post']>>>
interface Started { readonly server: KeyServer, readonly ask: Ask, readonly log: string[] }

/** Starts a service with its own key server. The time of the day stands still. */
async function start (
  t: Test, { url }: Pick<Service, 'url'>, prepare: (server: KeyServer) => unknown = () => {},
  { maxFailures = 0, ...rest }: Partial<JwtOptions> & { maxFailures?: number } = {}
): Promise<Started> {
  const server = await serveKeys(t, [pair.jwk])
  await prepare(server)
  stoppedDate(t)
  const { post, log } = await startService(t, url, {
    options: { jwt: [jwtSetting({ jwks: server.url, ...rest })], roles, failedLogins: { max: maxFailures } }
  })
  return { server, log, ask: async (token) => await post('customers', select, { token }) }
}
const only = ['sqlite' as const]

const testOnSqlite = sharedOnEachEngine(t, { schema: shop, only })

await testOnSqlite('a key server that does not answer is given up after 5 seconds', async (t, service) => {
  const { server, ask, log } = await start(
    t as Test, service, (server) => { server.answer = (_request, response) => { response.write('{"keys":[') } }
  )
  const before = performance.now()
  isRefusal(t as Test, await ask(await sign(pair)), {
    status: 503, code: 'KEYS_UNAVAILABLE', why: 'the answer does not end'
  })
  const took = performance.now() - before
  t.ok(took > 4000 && took < 9000, `${took} ms`)
  t.match(log.join(''), /"reason":"timeout"/)
  t.equal(server.requests, 1)
})
