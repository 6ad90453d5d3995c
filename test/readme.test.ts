// night: starts programs
/**
 * The commands of README.md and docs/requests.md are run, their requests sent and the answers compared, as a reader
 * would do it from top to bottom.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from './servers/engines.ts'
import { codeBlocks, readDocument, tableRows } from './support/markdown.ts'
import { call, WITHOUT_TAP } from './support/package.ts'
import { createPlace } from './support/place.ts'
import { serveRowQuery } from './support/row-query.ts'
import { TOKEN } from './support/service.ts'
import { createShell } from './support/shell.ts'

const requests = readDocument('docs/requests.md')
const blocks = ['README.md', 'docs/requests.md'].flatMap((document) => codeBlocks(readDocument(document)))
const commands = blocks.filter(({ kind }) => kind === 'sh').map(({ text }) => text.trim())
/** The address of the demo; other requests are for the reader's own database. */
const DEMO = 'http://127.0.0.1:3000/api/demo'
/** The request to the reader's own database. */
const firstRequest = commands.find((command) => command.includes('/api/shop/customers'))?.replace(
  'export TOKEN=...\n', ''
) as string
const { scripts } = JSON.parse(readDocument('package.json'))

/** The code of a line in backquotes. */
const uncode = (text: string): string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code)

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
    'export TOKEN=rq_...',
    'npm ci && npm test',
    'export API_TOKEN=$(openssl rand -hex 32)\nexport ' +
      'DATABASE_URL=mysql://rows:a-long-password@127.0.0.1:3306/shop\nnpm start',
    'export TOKEN=...\n' + firstRequest,
    'npx row-query check\nnpx row-query token --name reports --permissions select --table orders --database shop ' +
      '--expires 2036-01-01',
    'npx row-query openapi demo\nnpx row-query types demo',
    'export TOKEN=rq_...',
    'export ID=151'
  ])
  t.equal(scripts.test, 'node test/run.ts')
})

t.test('npm start serves the demo, and the requests return the shown answers', async (t) => {
  const server = await npmStart(t, await createPlace(t))
  const [, token = ''] = /token {4}(\S+)/.exec(await server.printed(/"groupBy"/)) as RegExpExecArray
  const sh = createShell(t, { TOKEN: token, ID: '151' })
  const sent = blocks.flatMap(({ kind, text }, index) => kind === 'sh' &&
    text.startsWith(`curl -s ${DEMO}`)
    ? [{ text, answer: blocks[index + 1] }]
    : [])
  t.equal(sent.length, 8)
  for (const { text, answer } of sent) {
    t.equal(answer?.kind, 'json')
    t.strictSame(JSON.parse(await sh(text.replace('http://127.0.0.1:3000', server.address))), JSON.parse(
      answer?.text as string
    ), text)
  }
})

t.test('every shown filter is accepted', async (t) => {
  const server = await serveRowQuery(t, { env: { API_TOKEN: TOKEN } })
  const count = async (filters: unknown) => {
    const { status, json } = await server.post('/api/demo/orders', { verb: 'select', filters }, TOKEN)
    t.equal(status, 200, JSON.stringify(filters))
    return json.data.count
  }
  const rows = tableRows(requests, 'filters on `orders`', 'rows')
  t.equal(rows.length, 11)
  for (const [shown = '', meaning = ''] of rows) {
    const [filters, same = filters] = [
      ...uncode(shown), ...uncode(meaning).filter((code) => code.startsWith('{'))
    ] as [string, string?]
    t.equal(await count(JSON.parse(filters)), await count(JSON.parse(same)), shown)
  }
})

const CUSTOMERS = [
  'create table customers (id integer primary key, name varchar(20))',
  "insert into customers values (1, 'Ada'), (2, 'Zoe')"
]

/**
 * Creates the database (SQLite: in the folder) and, with the statements of the README, the account. Returns its URL and
 * its name in paths.
 */
async function createDatabase (t: Test, folder: string): Promise<{ url: string, name: string }> {
  const [engine] = await engines()
  if (engine === undefined) {
    const path = join(folder, 'shop.db')
    const file = new DatabaseSync(path)
    file.exec(CUSTOMERS.join(';'))
    file.close()
    return { url: `sqlite:${path}`, name: 'shop' }
  }
  const { name, url, query, drop } = await createTestDatabase(engine, CUSTOMERS)
  const user = `rows_${name}`
  t.teardown(async () => {
    await query(`drop user '${user}'@'%'`)
    await drop()
  })
  for (const statement of (blocks.find(({ kind }) => kind === 'sql account')?.text ?? '').split(';\n').filter(
    (each) => each.trim() !== ''
  )) {
    await query(statement.replace("'rows'@", `'${user}'@`).replace('shop.*', `${name}.*`))
  }
  return { url: Object.assign(new URL(url), { username: user, password: 'a-long-password' }).href, name }
}

t.test('your own database: an account, a token, the start and the first request', async (t) => {
  const folder = await createPlace(t as Test)
  const { url, name } = await createDatabase(t as Test, folder)
  const sh = createShell(t as Test)
  const [start = ''] = commands.filter((command) => command.includes('DATABASE_URL='))
  const token = await sh(`${start.split('\n')[0]}; printf %s "$API_TOKEN"`)
  t.match(token, /^[0-9a-f]{64}$/)
  const server = await npmStart(t as Test, folder, { DATABASE_URL: url, API_TOKEN: token })
  const here = firstRequest.replace('http://127.0.0.1:3000/api/shop', `${server.address}/api/${name}`)
  t.match(JSON.parse(await sh(`TOKEN=${token}; ${here}`)), {
    success: true, data: { rows: [{ id: 1, name: 'Ada' }], count: 1 }
  })
  t.match(JSON.parse(await sh(`TOKEN=another; ${here}`)), { error: { code: 'UNAUTHENTICATED' } })
})

t.test('the other commands work as described', async (t) => {
  const lines = commands.filter((command) => command.startsWith('npx row-query')).join('\n')
  const output = await call(await createPlace(t), 'sh', '-ec', lines)
  t.match(output, /^demo: answers, 6 tables and views\n[^]*rq_[\w-]{43}[^]*"expires": "2036-01-01"/)
  t.match(
    output,
    new RegExp('\\n\\{\\n {2}"openapi": "3\\.1\\.0"[^]*"/demo/orders": \\{[^]*' +
      '\\nexport interface Orders \\{\\n[^]*\\nexport interface DB \\{\\n')
  )
})
