// night: starts programs
/** The programs in examples/, as they run in a clone. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { readDocument, ROOT } from './support/markdown.ts'
import { runRowQuery, serveRowQuery, type Ended, type Running } from './support/row-query.ts'

const EXAMPLES = join(ROOT, 'examples')

const run = (t: Test, name: string, env: Record<string, string> = {}): Promise<Running> => serveRowQuery(t, {
  command: [process.execPath, join(EXAMPLES, name)], env
})

const select = { verb: 'select' }
const ok = (data: object) => ({ status: 200, json: { success: true, data } })

/** By file. A program that listens is returned. */
const tests = new Map<string, (t: Test) => Promise<Running | undefined>>([
  ['plugin.ts', async (t) => {
    const app = await run(t, 'plugin.ts', { CLERK_TOKEN: 'clerk', AUDITOR_TOKEN: 'auditor' })
    t.match(
      await app.post('/shop/shop/orders', { verb: 'insert', data: { status: 'new', total: '1.00' } }, 'clerk'),
      ok({ inserted: 1, id: 3 })
    )
    t.match(
      await app.post('/archive/archive/orders', select, 'auditor'), ok({ rows: [{ id: 1, total: '7.50' }], count: 1 })
    )
    t.match(await app.post('/archive/archive/orders', select, 'clerk'), { status: 401 })
    t.match(await app.post('/archive/archive/notes', select, 'auditor'), { status: 404 })
    t.match(await app.post('/archive/archive/orders', { verb: 'delete', filters: { id: 1 } }, 'auditor'), {
      status: 403
    })
    t.same(await (await fetch(app.address)).json(), { hello: 'world' })
    return app
  }],
  ['authentication.ts', async (t) => {
    const app = await run(t, 'authentication.ts')
    const login = async (name: string, password: string) => (await app.post('/login', { name, password })).json.token
    const [ada, zoe] = [await login('ada', 'lovelace'), await login('zoe', 'quick')]
    t.match(
      await app.post('/api/shop/orders', select, ada), ok({ rows: [{ tenant: 'acme', note: 'an anvil' }], count: 1 })
    )
    t.match(await app.post('/api/shop/orders', select, zoe), ok({ rows: [{ tenant: 'zeta' }], count: 1 }))
    t.match(
      await app.post('/api/shop/orders', { verb: 'insert', data: { note: 'a magnet' } }, ada), ok({ inserted: 1 })
    )
    t.match(await app.post('/api/shop/orders', { verb: 'insert', data: {} }, zoe), { status: 403 })
    t.match(await app.post('/login', { name: 'ada', password: 'wrong' }), { status: 401 })
    t.match(await app.post('/api/shop/orders', select, `${ada}x`), {
      status: 401, json: { error: { code: 'UNAUTHENTICATED' } }
    })
    t.match(await app.post('/api/shop/orders', select), { status: 401 })
    return app
  }],
  ['audit.ts', async (t) => {
    const app = await run(t, 'audit.ts', { TOKEN: 'clerk' })
    for (const note of ['one', 'two']) {
      t.match(
        await app.post('/api/shop/orders', { verb: 'insert', data: { note } }, 'clerk'), ok({ inserted: 1 })
      )
    }
    t.match(await app.post('/api/shop/orders', { verb: 'delete', filters: { id: { $gte: 1 } } }, 'clerk'), {
      status: 422, json: { error: { code: 'WRITE_REFUSED' } }
    })
    t.match(
      await app.post('/api/shop/orders', { verb: 'update', data: { note: 'three' }, filters: { id: '2' } }, 'clerk'),
      ok({ updated: 1 })
    )
    const { json: { data: { rows } } } = await app.post('/api/shop/audit', {
      verb: 'select', columns: ['who', 'what', 'request'], orderBy: 'id'
    }, 'clerk')
    t.same(rows, [
      { who: 'clerk', what: 'insert orders', request: '{"data":{"note":"one"}}' },
      { who: 'clerk', what: 'insert orders', request: '{"data":{"note":"two"}}' },
      { who: 'clerk', what: 'update orders', request: '{"data":{"note":"three"},"filters":{"id":"2"}}' }
    ], 'without the delete that was refused')
    t.match(await app.post('/api/shop/audit', { verb: 'delete', filters: { id: 1 } }, 'clerk'), { status: 403 })
    return app
  }],
  ['transaction.ts', async (t) => {
    const app = await run(t, 'transaction.ts')
    const checkout = (...items: object[]) => app.post('/checkout', { customer: 'ada', items })
    t.match(await checkout({ sku: 'BELL', quantity: 2 }, { sku: 'PUMP', quantity: 1 }), {
      status: 200, json: { order: 1 }
    })
    t.match(await checkout({ sku: 'BELL', quantity: 1 }, { sku: 'PUMP', quantity: 1 }), { status: 409 })
    t.match(
      await checkout({ sku: 'BELL', quantity: 1 }), { status: 200 }, 'the bell of the refused order is in stock again'
    )
    t.match(await checkout({ sku: 'BELL', quantity: 0 }), { status: 400 })
    t.match(await app.post('/api/shop/orders', select, 'any'), { status: 401 })
    return app
  }],
  ['host-app.test.ts', async (t) => {
    const { NODE_OPTIONS, NODE_TEST_CONTEXT, ...env } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--test', '--test-reporter=tap', join(EXAMPLES, 'host-app.test.ts')
    ], { env })
    t.match(stdout, '# pass 2')
    t.match(stdout, '# fail 0')
    return undefined
  }]
])

/** What the others import. */
const PARTS = ['host-app.ts', 'sources.ts']

t.test('each example runs', async (t) => {
  await Promise.all(Array.from(tests, async ([name, test]) => {
    const app = await test(t as Test)
    t.equal((await app?.stop())?.stderr ?? '', '', `${name} prints no errors`)
  }))
})

t.test('a port that is taken is said in one line, with what to do', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => { other.close() })
  const { port } = other.address() as AddressInfo
  const start = async (name: string): Promise<Ended> => {
    const ended = await runRowQuery(t as Test, [], {
      command: [process.execPath, join(EXAMPLES, name)], env: { PORT: String(port) }
    })
    // Fastify ends a start that takes ten seconds, as on a busy machine
    return ended.stderr.includes('did not start in time') ? await start(name) : ended
  }
  for (const name of [...tests.keys()].filter((each) => each !== 'host-app.test.ts')) {
    const { code, stderr } = await start(name)
    t.same({
      name,
      code,
      stderr: stderr.replace(
        /^.*address already in use.*; choose another port with the variable PORT\n$/, 'said'
      )
    }, { name, code: 1, stderr: 'said' })
  }
})

t.test('each example is run and listed', async (t) => {
  const files = readdirSync(EXAMPLES).filter((file) => file.endsWith('.ts'))
  t.same(files.sort(), [...tests.keys(), ...PARTS].sort())
  const list = readDocument('examples/README.md')
  for (const name of [...tests.keys(), 'host-app.ts', 'row-query.json']) t.match(list, `](${name})`)
})
