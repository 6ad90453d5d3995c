/** The README's commands are run, its requests sent and its answers compared, as a reader would do it from top to bottom. */
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { catalogue } from '../src/errors.ts'
import { codeBlocks, readDocument, ROOT, tableRows } from './support/markdown.ts'
import { call, WITHOUT_TAP } from './support/package.ts'
import { serveRowQuery } from './support/row-query.ts'
import { TOKEN } from './support/service.ts'
import { createShell } from './support/shell.ts'

const readme = readDocument('README.md')
const blocks = codeBlocks(readme)
const commands = blocks.filter(({ kind }) => kind === 'sh').map(({ text }) => text.trim())
const { scripts } = JSON.parse(readDocument('package.json'))

/** The code of a line in backquotes. */
const uncode = (text: string): string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code)

/** What a checkout has once `npm ci` has run, in a folder of its own. */
function checkOut (t: Test): string {
  const folder = t.testdir()
  for (const path of ['src', 'plugins', 'schemas', 'package.json']) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** `npm start`, whose shell does not pass a signal on to the program. */
async function npmStart (t: Test, cwd: string, env: Record<string, string> = {}) {
  const server = await serveRowQuery(t, { cwd, env, command: [...WITHOUT_TAP, 'npm', 'start'] })
  const [, pid] = /"pid":(\d+)/.exec(await server.printed(/"pid":\d+/)) as RegExpExecArray
  t.teardown(() => process.kill(Number(pid), 'SIGKILL'))
  return server
}

t.test('there is a test for every command', async (t) => {
  t.same(commands.filter((command) => !command.startsWith('curl ')), [
    'npm ci && npm start',
    'npm ci && npm test',
    'export API_TOKEN=$(openssl rand -hex 32)\nDATABASE_URL=mysql://user:password@127.0.0.1:3306/shop npm start',
    'export TOKEN=rq_...',
    [
      'npm run -s row-query -- token --name reports --permissions select --expires 2027-01-01', 'npm run -s row-query -- check',
      'npm run -s row-query -- openapi demo', 'npm run -s row-query -- types demo'
    ].join('\n')
  ])
  t.equal(scripts.test, 'node test/run.ts')
})

t.test('npm start serves the demo, and the requests return the shown answers', async (t) => {
  const server = await npmStart(t, checkOut(t))
  const [, token = ''] = /token {4}(\S+)/.exec(await server.printed(/"update"/)) as RegExpExecArray
  const sh = createShell(t, { TOKEN: token })
  const requests = blocks.flatMap(({ kind, text }, index) => kind === 'sh' && text.startsWith('curl') ? [{ text, answer: blocks[index + 1] }] : [])
  t.equal(requests.length, 9)
  for (const { text, answer } of requests) {
    t.equal(answer?.kind, 'json')
    t.strictSame(JSON.parse(await sh(text.replace('http://127.0.0.1:3000', server.address))), JSON.parse(answer?.text as string), text)
  }
})

t.test('every shown filter is accepted', async (t) => {
  const server = await serveRowQuery(t, { env: { API_TOKEN: TOKEN } })
  const count = async (filters: unknown) => {
    const { status, json } = await server.post('/api/demo/orders', { verb: 'select', filters }, TOKEN)
    t.equal(status, 200, JSON.stringify(filters))
    return json.data.count
  }
  const rows = tableRows(readme, 'filters on `orders`', 'rows')
  t.equal(rows.length, 9)
  for (const [shown = '', meaning = ''] of rows) {
    const [filters, same = filters] = [...uncode(shown), ...uncode(meaning).filter((code) => code.startsWith('{'))] as [string, string?]
    t.equal(await count(JSON.parse(filters)), await count(JSON.parse(same)), shown)
  }
})

t.test('npm start with DATABASE_URL and API_TOKEN serves that database', async (t) => {
  const server = await npmStart(t, checkOut(t), { DATABASE_URL: 'mysql://user:password@127.0.0.1:1/shop', API_TOKEN: TOKEN })
  t.match(await server.post('/api/shop/orders', { verb: 'select' }, TOKEN), { status: 503 })
  t.match(await server.post('/api/shop/orders', { verb: 'select' }, 'another'), { status: 401 })
})

t.test('the other commands work as described', async (t) => {
  const [lines = ''] = commands.filter((command) => command.startsWith('npm run'))
  const output = await call(checkOut(t), 'sh', '-ec', lines)
  t.match(output, /rq_[\w-]{43}[^]*"expires": "2027-01-01"[^]*\ndemo: answers, 5 tables and views\n/)
  t.match(output, /\n\{\n {2}"openapi": "3\.1\.0"[^]*"\/demo\/orders": \{[^]*\nexport interface Orders \{\n[^]*\nexport interface DB \{\n/)
})

t.test('the table of errors has exactly the codes, with their statuses', async (t) => {
  const rows = tableRows(readme, 'status', 'codes').flatMap(([statuses = '', codes = '']) => uncode(codes).map((code) => ({ code, statuses: statuses.split(', ').map(Number) })))
  t.same(rows.map(({ code }) => code).sort(), [...catalogue.keys()].sort())
  for (const { code, statuses } of rows) t.ok(statuses.includes(catalogue.get(code) as number), code)
})

t.test('the table of variables equals that of docs/configuration.md', async (t) => {
  const named = (rows: string[][]) => rows.flatMap(([names = '']) => uncode(names)).sort()
  const rows = tableRows(readme, 'variable', 'meaning', 'default')
  t.same(named(rows), named(tableRows(readDocument('docs/configuration.md'), 'variable', 'flag', 'meaning', 'default')))
  t.same(rows.filter(([names = '']) => /HOST|PREFIX|LEVEL/.test(names)).map(([, , fallback]) => fallback), ['`127.0.0.1`, `3000`', '`/api`', '`info`'])
})
