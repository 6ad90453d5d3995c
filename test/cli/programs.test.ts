// night: starts programs
/** The program as a process of its own, with each command; the other files here run it in the process of the test. */
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { MAIN, runRowQuery } from '../support/row-query.ts'

const { version, engines } = createRequire(import.meta.url)('../../package.json')

/** Starts `row-query --version` in a process that says it is this version of Node. */
const pretend = (node: string): string[] => {
  const preload = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })`
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(preload)}`, MAIN]
}

/** The port of a server that accepts connections and does not answer. */
async function listenSilently (t: Test): Promise<number> {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => { silent.close() })
  return (silent.address() as AddressInfo).port
}

const commands: Array<[args: string[], stdout: RegExp]> = [
  [['--help'], /^row-query: reads and changes rows/],
  [['token', '--name', 'x', '--permissions', 'select'], /\n {2}rq_[\w-]{43}\n/],
  [['check'], /^demo: answers, 6 tables and views\n/],
  [['openapi', 'demo'], /^\{\n {2}"openapi": "3\.1\.0",\n/],
  [['types'], /export interface Orders \{\n/],
  [['keys'], /^create table/i],
  [['export', 'demo', 'orders', '--format', 'csv', '--limit', '1'], /^id,customer_id,.*\r\n1,.*\r\n$/]
]

for (const [args, stdout] of commands) {
  t.test(`row-query ${args.join(' ')} ends with 0`, async (t) => {
    t.match(await runRowQuery(t as Test, args), {
      code: 0, stdout, stderr: /^(row-query: no database is configured: created the demo in [^\n]*\n)?$/
    })
  })
}

t.test('an old version of Node is refused in one line, and the oldest that the package allows is not', async (t) => {
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node) as RegExpExecArray
  t.match(await runRowQuery(t as Test, ['--version'], { command: pretend(`${major}.${Number(minor) - 1}.9`) }), {
    code: 2, stdout: '', stderr: /^[^\n]*\n$/
  })
  t.same(await runRowQuery(t as Test, ['--version'], { command: pretend(`${major}.${minor}.0`) }), {
    code: 0, stdout: `${version}\n`, stderr: ''
  })
})

t.test('a mistake is refused in one line, and an unexpected error is printed with its stack', async (t) => {
  t.match(await runRowQuery(t as Test, ['start']), {
    code: 2, stdout: '', stderr: /^row-query: "start" is not a command[^\n]*\n$/
  })
  t.match(await runRowQuery(t as Test, ['serve'], { cwd: t.testdir({ data: 'a file where the folder must be' }) }), {
    code: 1, stderr: /EEXIST[^]*\n {4}at /
  })
})

t.test('a reader that closes the output early ends ' +
  'the program silently', { skip: process.platform === 'win32' }, async (t) => {
  t.same(await runRowQuery(t as Test, [], {
    command: ['sh', '-c', `"${process.execPath}" "${MAIN}" openapi demo 2> none | head -c 1`]
  }), { code: 0, stdout: '{', stderr: '' })
})

t.test('check and health report a server that accepts connections and does not answer', async (t) => {
  const port = await listenSilently(t as Test)
  const [check, health] = await Promise.all([
    runRowQuery(t as Test, ['check'], { env: { DATABASE_URL: `mysql://root@127.0.0.1:${port}/shop` } }),
    runRowQuery(t as Test, ['health'], { env: { PORT: String(port) } })
  ])
  t.same(check, {
    code: 1,
    stdout: 'shop: does not answer (ETIMEDOUT)\ntokens and keys:\n  warning: no token is ' +
    'configured, so all requests are refused\n',
    stderr: ''
  })
  t.same(health, { code: 1, stdout: 'not alive: no response within 4000 ms\n', stderr: '' })
})
