// night: starts programs, measures times
/**
 * `row-query mcp`: the tools on standard input and output, with the official client and with lines. How long databases
 * that do not answer are waited for.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import type { Config } from '../../schemas/options.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { COMPILED } from '../servers/folders.ts'
import { running } from '../support/connections.ts'
import { jwtSetting } from '../support/issuer.ts'
import { callOf, connect, type Connected, connectTo, ERAS } from '../support/mcp.ts'
import { MAIN, runRowQuery } from '../support/row-query.ts'
import { onEachEngine, type Schema, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const big = [
  'create table big (id bigint not null primary key, note varchar(10) null)',
  'insert into big values (9007199254740993, null)'
]
const schema: Schema = {
  sqlite: [...sqlite, ...big],
  mysql: [...mysql, ...big, 'create view slow as select id, sleep(30) as slept from customers']
}

const tokens = [
  tokenOf('writer', {}),
  tokenOf('old', { expires: '2020-01-01' }),
  tokenFor('narrow', { orders: { permissions: ['select'], columns: { select: ['id'] } } })
]
const roles = {
  clerk: {
    permissions: ['select' as const], databases: { shop: { customers: { rows: { id: { $claim: '/customer' } } } } }
  }
}
const jwt = [jwtSetting({ secret: 'x'.repeat(32), algorithms: ['HS256'] })]

function configure (t: Test, url: string, more: Partial<Config> = {}): string {
  const file = `${t.testdir()}/row-query.json`
  writeFileSync(file, JSON.stringify({
    databases: { shop: { url } }, tokens, roles, jwt, mcp: { verbs: ['select', 'update'] }, ...more
  }))
  return file
}

/** Without tap's hooks, and with Node's compile cache, a process starts in less than half the CPU time. */
const environment = { PATH: process.env['PATH'] as string, NODE_OPTIONS: '', NODE_COMPILE_CACHE: COMPILED }

interface Started extends Connected { readonly errors: string[] }

async function start (t: Test, args: string[], era: typeof ERAS[number] = 'auto'): Promise<Started> {
  const transport = new StdioClientTransport({
    command: process.execPath, args: [MAIN, 'mcp', ...args], env: environment, stderr: 'pipe'
  })
  const errors: string[] = []
  transport.stderr?.on('data', (chunk) => errors.push(...String(chunk).split('\n').filter((line) => line !== '')))
  return { ...await connect(t, transport, era), errors }
}

/** Writes lines, ends the input, and returns what is printed. */
async function pipe (t: Test, args: string[], lines: string[]): Promise<{
  code: number | null, stdout: string[], stderr: string
}> {
  const { stdout, ...ended } = await runRowQuery(t, ['mcp', ...args], {
    input: lines.map((line) => `${line}\n`).join('')
  })
  return { ...ended, stdout: stdout.trimEnd().split('\n') }
}

const initialize =
  '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25",' +
    '"clientInfo":{"name":"test","version":"1"},"capabilities":{}}}'

await onEachEngine(t, 'row-query mcp serves the tools to ' +
  'the official client', { schema }, async (t, { url, engine }) => {
  const config = configure(t as never, url)
  for (const [era, token] of [
    ['auto', 'writer'], ...engine === 'sqlite' ? [['legacy', 'narrow'] as const] : []
  ] as const) {
    const { client, call, errors } = await start(t as never, ['--config', config, '--token-name', token], era)
    const { tools } = await client.listTools()
    if (token === 'narrow') {
      t.same(tools.map(({ name }) => name), ['list_tables', 'describe_table', 'select'])
      t.match((await call('list_tables')).result.tables, [{ table: 'orders', verbs: ['select'] }])
      t.same((await call('select', { database: 'shop', table: 'orders' })).result, {
        rows: [{ id: 1 }, { id: 2 }], count: 2, next: null
      })
      t.match(await call('select', { database: 'shop', table: 'customers' }), {
        isError: true, result: { code: 'TABLE_NOT_FOUND' }
      })
      continue
    }
    t.same(tools.map(({ name }) => name), ['list_tables', 'describe_table', 'select', 'update'])
    t.same((await call('update', {
      database: 'shop', table: 'orders', data: { note: 'x' }, filters: { id: 1 }, expect: 1
    })).result, { updated: 1 })
    await until(
      'a line for the call is on standard error', () => errors.some((line) => line.includes('"tool":"update"'))
    )
    t.match(JSON.parse(errors.find((line) => line.includes('"tool":"update"')) as string), {
      verb: 'update', database: 'shop', table: 'orders', token: 'writer', status: 200, requestId: /./
    })
  }
  const { code, stdout } = await pipe(t as never, ['--config', config], [
    initialize, 'x', callOf('select', '{"database":"shop","table":"big","filters":{"id":{"$gte":9007199254740993}}}'),
    callOf('update', '{"database":"shop","table":"big","data":{"note":"x"},"filters":{"id":1}}', 2)
  ])
  t.equal(code, 0)
  t.equal(stdout.length, 4, 'standard output has messages only')
  const select = stdout.find((line) => line.includes('"id":1}'))
  t.match(select, '"structuredContent":{"rows":[{"id":9007199254740993,"note":null}],"count":1,"next":null}')
  t.match(
    stdout.find((line) => line.includes('"id":2}')), 'PERMISSION_DENIED', 'without a token, only select is allowed'
  )
  t.notMatch(stdout.join(), engine === 'sqlite' ? /sqlite:/ : /mysql:/)
})

await onEachEngine(t, 'a call that is cancelled ' +
  'ends its statement', { schema, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { client, call } = await start(t as never, ['--config', configure(t as never, service.url)])
  const controller = new AbortController()
  const cancelled = client.callTool({ name: 'select', arguments: { database: 'shop', table: 'slow' } }, {
    signal: controller.signal
  })
  await until('the statement runs', async () =>
    (await running(service)).some((statement) => statement.startsWith('select `id`')), 120)
  controller.abort()
  await t.rejects(cancelled)
  await until('it has ended', async () => (await running(service)).length === 0, 120)
  t.match((await call('select', { database: 'shop', table: 'orders', columns: ['id'] })).result, { count: 2 })
})

t.test('what stops the start, in one line', async (t) => {
  const config = configure(t, 'sqlite::memory:', {
    databases: { shop: { url: 'sqlite::memory:', setup: sqlite } },
    // a tool of which each call would be refused
    requests: {
      customer: { database: 'shop', table: 'customers', as: 'called', body: { verb: 'select', columns: ['name'] } }
    },
    roles: { ...roles, called: { ...roles.clerk, for: 'requests' } },
    tokens: [...tokens, { ...tokenOf('caller', {}), requests: ['customer'] }]
  })
  const refused: Array<[args: string[], line: RegExp]> = [
    [['--token-name', 'old'], /^row-query: --token-name: the token "old" has expired\n$/],
    [['--role', 'clerk'], /^row-query: --claims: The claim "\/customer" is missing/],
    [['--token-name', 'caller'], /^row-query: --token-name: The claim "\/customer" is missing/]
  ]
  for (const [args, line] of refused) {
    const { code, stdout, stderr } = await runRowQuery(t, ['mcp', '--config', config, ...args])
    t.same({ code, stdout }, { code: 2, stdout: '' })
    t.match(stderr, line)
  }
  const { stdout, stderr, code } = await pipe(
    t, ['--config', config, '--role', 'clerk', '--claims', '{"customer": 2}'],
    [initialize, callOf('select', { database: 'shop', table: 'customers', columns: ['name'] })]
  )
  t.equal(code, 0, stderr)
  t.match(stdout[1], '"structuredContent":{"rows":[{"name":"Grace"}]')
})

t.test('a token that is removed from the token file ends to work', async (t) => {
  const folder = t.testdir({ 'tokens.json': JSON.stringify([tokenOf('temporary', {})]) })
  const file = `${folder}/row-query.json`
  writeFileSync(file, JSON.stringify({
    databases: { shop: { url: 'sqlite::memory:', setup: sqlite } }, tokensFile: `${folder}/tokens.json`
  }))
  const { call, client } = await start(t, ['--config', file, '--token-name', 'temporary'])
  const select = () => call('select', { database: 'shop', table: 'orders' })
  t.match((await select()).result, { count: 2 })
  t.match((await pipe(t, ['--config', file, '--token-name', 'temporary'], [
    initialize, callOf('select', { database: 'shop', table: 'orders' })
  ])).stdout[1], '"count":2')
  writeFileSync(`${folder}/tokens.json`, '[]')
  await until('it is revoked', async () => (await select()).isError, 120)
  t.match((await select()).result, { code: 'UNAUTHENTICATED', message: /"temporary" has expired or was removed/ })
  await t.rejects(client.listTools(undefined, { cacheMode: 'refresh' } as never), /expired or was removed/)
})

t.test('a signal ends it', { skip: process.platform === 'win32' && 'no signals' }, async (t) => {
  const child = spawn(process.execPath, [MAIN, 'mcp'], {
    cwd: t.testdir(), env: environment, stdio: ['pipe', 'pipe', 'ignore']
  })
  child.stdin.write(`${initialize}\n`)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
})

t.test('databases that do not answer are waited for at the same time', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => { sockets.add(socket.on('error', () => {})) }).listen(0, '127.0.0.1')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  await once(silent, 'listening')
  const url = `mysql://root@127.0.0.1:${(silent.address() as AddressInfo).port}/gone`
  const pool = { wait: 2000 }
  const service = await startService(t, 'sqlite::memory:', {
    options: {
      databases: {
        a: { url, pool },
        b: { url, pool },
        c: { url, pool },
        d: { url, pool },
        shop: { url: 'sqlite::memory:', setup: shop.sqlite }
      },
      mcp: {}
    }
  })
  const { call } = await connectTo(t, service)
  const before = performance.now()
  t.match((await call('list_tables')).result, { unavailable: ['a', 'b', 'c', 'd'], count: 6 })
  const seconds = (performance.now() - before) / 1000
  t.ok(seconds < 2 * 2, `${seconds.toFixed(1)} s`)
})
