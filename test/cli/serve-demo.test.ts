// night: starts programs
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serveRowQuery, type Running } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { createShell } from '../support/shell.ts'

const printedToken = /token {4}(rq_[\w-]{43})\n/

async function tokenOf (server: Running): Promise<string> {
  const [, token = ''] = printedToken.exec(await server.printed(printedToken)) as RegExpExecArray
  return token
}

/** The lines of the banner that begin with curl. */
const curls = (stdout: string): string[] => stdout.split('\n').filter((line) => line.startsWith('  curl '))

async function answersOf (t: Test, stdout: string, env = {}): Promise<any[]> {
  const sh = createShell(t, env)
  const answers = []
  for (const line of curls(stdout)) answers.push(JSON.parse(await sh(line)))
  return answers
}

t.test('the first start without configuration creates the demo and prints three working requests', async (t) => {
  const cwd = t.testdir()
  const server = await serveRowQuery(t, { cwd })
  const stdout = await server.printed(/"update"/)
  t.ok(existsSync(join(cwd, 'data', 'demo.db')))
  t.match(stdout, `address  ${server.address}/api/demo/{customers,categories,products,orders,order_items}\n`)
  t.match(stdout, printedToken)
  const answers = await answersOf(t, stdout)
  t.match(answers, [
    { success: true, data: { rows: [{ sku: String, name: String, price: String, category: { name: 'Bicycle' } }, { category: { name: 'Bicycle' } }, { category: { name: 'Tea and coffee' } }], count: 3 } },
    { success: true, data: { inserted: 1, id: 151 } },
    { success: true, data: { updated: 2 } }
  ])
  const { code, stderr } = await server.stop()
  t.same({ code, stderr }, { code: 0, stderr: '' })
})

t.test('a second start keeps the rows and creates another token', async (t) => {
  const cwd = t.testdir()
  const first = await serveRowQuery(t, { cwd })
  const token = await tokenOf(first)
  t.match(await first.post('/api/demo/customers', { verb: 'update', data: { name: 'Changed' }, filters: { id: 1 } }, token), { status: 200 })
  await first.stop()

  const second = await serveRowQuery(t, { cwd })
  const newToken = await tokenOf(second)
  const select = { verb: 'select', columns: ['name'], filters: { id: 1 } }
  t.match(await second.post('/api/demo/customers', select, newToken), { json: { data: { rows: [{ name: 'Changed' }] } } })
  t.match(await second.post('/api/demo/customers', select, token), { status: 401 })
})

t.test('a configured token works and is not printed', async (t) => {
  const env = { API_TOKEN: TOKEN }
  const server = await serveRowQuery(t, { env })
  const stdout = await server.printed(/"update"/)
  t.notMatch(stdout, printedToken)
  t.match(await answersOf(t, stdout, env), [{ success: true }, { success: true }, { success: true }])
  t.notMatch((await server.stop()).stdout, TOKEN)
})

t.test('the requests are printed with the configured address and prefix', async (t) => {
  const server = await serveRowQuery(t, { env: { PATH_PREFIX: '/rows/v1', LOG_LEVEL: 'silent' } })
  const stdout = await server.printed(/"update"/)
  t.equal(curls(stdout).filter((line) => line.includes(`${server.address}/rows/v1/demo/`)).length, 3)
  t.match(await answersOf(t, stdout), [{ success: true }, { success: true }, { success: true }])
  t.notMatch(stdout, /"level"/, 'no log line')
})
