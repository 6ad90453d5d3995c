// night: waits for real time limits
/** Tokens that are added and removed while the service runs. */
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { tokenFor } from '../support/documents.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const [first, second] = ['first', 'second'].map((name) => tokenFor(name, ['select'])) as [TokenOptions, TokenOptions]
const folder = t.testdir()
const path = join(folder, 'tokens.json')

function replace (content: unknown): void {
  writeFileSync(`${path}.new`, typeof content === 'string' ? content : JSON.stringify(content))
  renameSync(`${path}.new`, path)
}

/** The statuses of requests with the tokens of the file and the token of the configuration. */
async function statusesOf ({ post }: Service): Promise<Record<string, number>> {
  const tokens = { first: 'first', second: 'second', fixed: TOKEN }
  return Object.fromEntries(await Promise.all(Object.entries(tokens).map(async ([name, token]) => [name, (await post('customers', { verb: 'select' }, { token })).status] as const)))
}

const comes = async (t: Test, service: Service, what: string, expected: Record<string, number>): Promise<void> => {
  await until(what, async () => JSON.stringify(await statusesOf(service)) === JSON.stringify(expected))
  t.pass(what)
}

const errors = ({ log }: Service): any[] => log.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)

replace([first])

/** Without the block for invalid tokens, because the tests retry tokens that are not in the file yet. */
const options = { tokensFile: path, failedLogins: { max: 0 } }

const testShop = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'], options })

await testShop('a token that is removed from the file stops working, and one that is added works', async (t, service) => {
  replace([first])
  await comes(t, service, 'the file is read', { first: 200, second: 401, fixed: 200 })
  replace([second])
  await comes(t, service, 'the file is another one', { first: 401, second: 200, fixed: 200 })
  writeFileSync(path, JSON.stringify([first, second]))
  await comes(t, service, 'the file is written into', { first: 200, second: 200, fixed: 200 })
  replace([{ ...second, expires: '2020-01-01' }])
  await comes(t, service, 'what is left has expired', { first: 401, second: 401, fixed: 200 })
  replace([])
  await comes(t, service, 'none is left', { first: 401, second: 401, fixed: 200 })
  t.same(errors(service), [])
})

await testShop('if the file is invalid, the previous tokens stay in use and the log gives the reason once', async (t, service) => {
  replace([first])
  await comes(t, service, 'the file is read', { first: 200, second: 401, fixed: 200 })
  const faults: Array<[change: () => void, mistake: string | RegExp]> = [
    [() => truncateSync(path), /^tokensFile: the file is empty$/],
    [() => replace(`[{ "name": "second", "sha256": "${second.sha256}"`), /^tokensFile: .* is not valid JSON/],
    [() => replace([{ ...second, permissions: ['everything'] }]), /^tokensFile\.0\.permissions\.0: must be "select" or/],
    [() => rmSync(path), 'tokensFile: cannot be read']
  ]
  for (const [index, [change, mistake]] of faults.entries()) {
    change()
    await until('it is logged', () => errors(service).length > index)
    t.match(errors(service)[index], { msg: 'the token file cannot be used; the previous tokens stay in use', errors: [mistake] })
    t.same(await statusesOf(service), { first: 200, second: 401, fixed: 200 })
  }
  replace([second])
  await comes(t, service, 'the file is in order again', { first: 401, second: 200, fixed: 200 })
  t.equal(errors(service).length, faults.length, 'each fault is logged once, however often the file is read')
  t.notMatch(service.log.join(''), new RegExp(`${first.sha256}|${second.sha256}`))
})

await testShop('the file is read again when its symbolic link points to another file', async (t, service) => {
  // like a secret in Kubernetes: tokens.json -> ..data/tokens.json, ..data -> a folder for each version
  for (const [name, entry] of [['one', first], ['two', second]] as const) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'tokens.json'), JSON.stringify([entry]))
  }
  symlinkSync('one', join(folder, '..data'))
  rmSync(path)
  symlinkSync('..data/tokens.json', path)
  await comes(t, service, 'the first version', { first: 200, second: 401, fixed: 200 })
  symlinkSync('two', join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  await comes(t, service, 'the second version', { first: 401, second: 200, fixed: 200 })
  rmSync(path)
  replace([first])
})

t.test('the file is not read after the service was closed', async (t) => {
  let service: Service | undefined
  await onEachEngine(t as Test, 'a service', { schema: shop, only: ['sqlite'], options }, async (_t, running) => { service = running })
  const { log, server } = service as Service
  log.length = 0
  replace([second])
  await server.rows.refresh().catch(() => {}) // its database is closed
  t.same(log.filter((line) => line.includes('token file read')), [])
})

t.test('the program reads the file of API_TOKENS_FILE, and again on SIGHUP', async (t) => {
  const entryOf = async (name: string) => {
    const { stdout } = await runRowQuery(t, ['token', '--name', name, '--permissions', 'select'])
    return { token: /rq_\S+/.exec(stdout)?.[0] as string, entry: JSON.parse(stdout.slice(stdout.indexOf('{'))) }
  }
  const [old, young] = [await entryOf('old'), await entryOf('young')]
  replace([old.entry])
  const server = await serveRowQuery(t, { env: { API_TOKENS_FILE: path } })
  const ask = async (token: string): Promise<number> => (await server.post('/api/demo/products', { verb: 'select' }, token)).status
  t.same([await ask(old.token), await ask(young.token)], [200, 401])
  replace([young.entry])
  server.child.kill('SIGHUP')
  await server.printed(/catalog reloaded/)
  t.same([await ask(old.token), await ask(young.token)], [401, 200])
  const { stdout, stderr } = await server.stop()
  t.equal(stderr, '', 'without the notice that there is no token')
  t.notMatch(stdout, new RegExp([old, young].flatMap(({ token, entry }) => [token, entry.sha256]).join('|')))
})
