/** The program and those of its commands that print something, in this process; programs.test.ts starts it. */
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Linter } from 'eslint'
import t, { type Test } from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { HttpsOptions } from '../../schemas/server-settings.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { commandGrant } from '../../src/cli/one-database.ts'
import {
  type CommandName, COMMANDS, describeCommand, describeProgram, type FlagValues
} from '../../src/cli/commands.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { createShop } from '../../src/demo/shop.ts'
import { createServer } from '../../src/server/server.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { createCertificate } from '../support/certificates.ts'
import { runInProcess } from '../support/command.ts'
import { get } from '../support/documents.ts'
import { jwtSetting } from '../support/issuer.ts'
import type { Ended } from '../support/row-query.ts'
import { onEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url)
const { version, engines } = createRequire(import.meta.url)('../../package.json')

const printed: Array<[args: string[], text: string]> = [
  [[], describeProgram()],
  [['token', '--name', 'x', '-h'], describeCommand('token')],
  [['help', 'check'], describeCommand('check')],
  [['nothing', '--help'], describeProgram()],
  [['--version'], `${version}\n`]
]

for (const [args, text] of printed) {
  t.test(`row-query ${args.join(' ')} prints the help, or the version`, async (t) => {
    t.same(await runInProcess(t as Test, args), { code: 0, stdout: text, stderr: '' })
  })
}

t.test('the help names each command, flag and variable', async (t) => {
  for (const name of Object.keys(COMMANDS) as CommandName[]) {
    t.match(describeProgram(), `\n  row-query ${name} `)
    for (const flag of Object.keys(COMMANDS[name].flags)) {
      t.match(describeCommand(name), new RegExp(`^  --${flag} .*\\w`, 'm'))
    }
  }
  for (const variable of [
    'DATABASE_URL', 'API_TOKEN', 'API_TOKEN_PERMISSIONS', 'API_TOKENS_FILE', 'ROW_QUERY_CONFIG', 'HOST', 'PORT',
    'LOG_LEVEL', 'PATH_PREFIX', 'HTTPS_CERT', 'HTTPS_KEY'
  ]) {
    t.match(describeCommand('serve'), new RegExp(`\\b${variable}\\b`))
  }
})

/** Loads the file of the program in a process that says it is this version of Node. */
async function loadMain (t: Test, node: string, then: () => Promise<unknown> = async () => {}): Promise<Ended> {
  const versions = Object.getOwnPropertyDescriptor(process, 'versions') as PropertyDescriptor
  Object.defineProperty(process, 'versions', { ...versions, value: { ...process.versions, node } })
  t.teardown(() => { Object.defineProperty(process, 'versions', versions) })
  return await runInProcess(t, ['--version'], {
    load: async () => {
      await import(`${MAIN.href}?node=${node}`)
      await then()
    }
  })
}

t.test('an old version of Node is refused in one line, and the oldest that the package allows is not', async (t) => {
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node) as RegExpExecArray
  for (const node of [`${major}.${Number(minor) - 1}.9`, '9.0.0']) {
    const stderr =
      `row-query: Node ${major}.${minor} or later is required; this is Node ${node} (${process.execPath})\n`
    t.same(await loadMain(t as Test, node), { code: 2, stdout: '', stderr })
  }
  t.same(await loadMain(t as Test, `${major}.${minor}.0`, () => import('../../src/cli/run.ts')), {
    code: 0, stdout: `${version}\n`, stderr: ''
  })
})

t.test('the file of the program has the syntax of a script for Node 14, without imports, so that an ' +
  'old Node can run it', async (t) => {
  const findErrors = (text: string) => new Linter().verify(text, {
    languageOptions: { ecmaVersion: 2020, sourceType: 'script' }
  })
  t.same(findErrors(readFileSync(MAIN, 'utf8')), [])
  for (const wrong of ["import 'node:fs'", "await import('x')", 'a ??= b']) {
    t.match(findErrors(wrong), [{ fatal: true }], wrong)
  }
})

const ALL = 'serve, token, check, health, openapi, types, mcp, export, import, demo, keys'
const misspelt: Array<{ args: string[], line: RegExp | string }> = [
  { args: ['start'], line: `row-query: "start" is not a command; the commands are ${ALL}\n` },
  { args: ['constructor'], line: /^row-query: "constructor" is not a command/ },
  { args: ['serve', '--prot', '80'], line: /^row-query: --prot: is not a flag of serve; did you mean --port\?\n$/ },
  { args: ['serve', '--port'], line: /^row-query: Option '--port <value>' argument missing\n$/ },
  { args: ['serve', 'now'], line: /^row-query: Unexpected argument 'now'[^\n]*\n$/ },
  {
    args: ['check', '--host', 'x'],
    line: /^row-query: --host: is not a flag of check; the flags are --config, --strict\n$/
  },
  {
    args: ['token', '--permission', 'select', '--nam=x'],
    line: 'row-query: --permission: is not a flag of token; did you mean --permissions?\n' +
      'row-query: --nam: is not a flag of token; did you mean --name?\n'
  }
]

for (const { args, line } of misspelt) {
  t.test(`row-query ${args.join(' ')} is refused in one line`, async (t) => {
    const { code, stdout, stderr } = await runInProcess(t as Test, args)
    t.same({ code, stdout }, { code: 2, stdout: '' })
    if (typeof line === 'string') t.equal(stderr, line)
    else t.match(stderr, line)
  })
}

t.test('an unexpected error is not taken for one of the configuration', async (t) => {
  await t.rejects(runInProcess(t as Test, ['serve'], { cwd: t.testdir({ data: 'a file where the folder must be' }) }), {
    code: 'EEXIST'
  })
})

// token

/** The token and the entry out of what is printed. */
function readToken (stdout: string): { secret: string, entry: any } {
  const [, secret = ''] = /^ {2}(rq_[\w-]{43})$/m.exec(stdout) as RegExpExecArray
  return { secret, entry: JSON.parse(stdout.slice(stdout.indexOf('{'))) }
}

t.test('the entry that is printed, pasted into a configuration file, makes the token work', async (t) => {
  const cwd = t.testdir()
  const database = new DatabaseSync(join(cwd, 'shop.db'))
  database.exec('create table orders (id integer primary key); create table staff (id integer primary key)')
  database.close()
  const { code, stdout, stderr } = await runInProcess(t as Test, [
    'token', '--name', 'reports', '--permissions', 'select,insert', '--database', 'shop', '--table', 'orders',
    '--expires', '2999-01-01'
  ])
  t.same({ code, stderr }, { code: 0, stderr: '' })
  const { secret, entry } = readToken(stdout)
  t.same(entry, {
    name: 'reports',
    sha256: hashToken(secret),
    permissions: ['select', 'insert'],
    databases: { shop: ['orders'] },
    expires: '2999-01-01'
  })
  t.notMatch(JSON.stringify(entry), secret)

  const { post } = await startService(t as Test, `sqlite:${cwd}/shop.db`, { tokens: [entry] })
  t.match(await post('orders', { verb: 'insert', data: {} }, { token: secret }), { status: 200 })
  t.match(await post('orders', { verb: 'delete', filters: { id: 1 } }, { token: secret }), { status: 403 })
  t.match(await post('staff', { verb: 'select' }, { token: secret }), { status: 404 })
  t.match(await post('orders', { verb: 'select' }, { token: secret.slice(0, -1) }), { status: 401 })
})

const entries: Array<{ args: string[], entry: object }> = [
  { args: ['--permissions', 'select'], entry: { permissions: ['select'] } },
  {
    args: ['--permissions', 'select, delete', '--permissions', 'insert'],
    entry: { permissions: ['select', 'delete', 'insert'] }
  },
  {
    args: ['--permissions', 'update', '--database', 'a', '--database', 'b'],
    entry: { permissions: ['update'], databases: { a: '*', b: '*' } }
  },
  {
    args: ['--permissions', 'update', '--database', 'a', '--table', 'x', '--table', 'y'],
    entry: { permissions: ['update'], databases: { a: ['x', 'y'] } }
  }
]

for (const { args, entry } of entries) {
  t.test(`row-query token ${args.join(' ')}`, async (t) => {
    const { stdout } = await runInProcess(t as Test, ['token', '--name', 'me', ...args])
    const { sha256, ...rest } = readToken(stdout).entry
    t.match(sha256, /^[0-9a-f]{64}$/)
    t.same(rest, { name: 'me', ...entry })
  })
}

t.test('tokens of the token file are written, listed and revoked', async (t) => {
  const other = `{"name":"other","sha256":"${'a'.repeat(64)}","permissions":["select"],"databases":{"shop":"*"},` +
    '"claims":{"tenant":9007199254740993}}'
  const folder = t.testdir({ 'tokens.json': `[${other}]` })
  const env = {
    DATABASE_URL: 'sqlite:shop.db', API_TOKENS_FILE: join(folder, 'tokens.json'), API_TOKEN: 'x'.repeat(32)
  }
  new DatabaseSync(join(folder, 'shop.db')).close()
  const run = async (...args: string[]) => await runInProcess(t as Test, ['token', ...args], { cwd: folder, env })
  const read = () => JSON.parse(readFileSync(env.API_TOKENS_FILE, 'utf8'))
  const { stdout } = await run(
    '--name', 'reports', '--permissions', 'select', '--database', 'shop', '--table', 'orders', '--columns', 'id,status',
    '--rows', '{"tenant": 7}', '--expires', '2999-01-01', '--write'
  )
  const [, secret = ''] = /^ {2}(rq_[\w-]{43})$/m.exec(stdout) as RegExpExecArray
  const entry = {
    name: 'reports',
    sha256: hashToken(secret),
    permissions: ['select'],
    databases: { shop: { orders: { columns: { select: ['id', 'status'] }, rows: { tenant: 7 } } } },
    expires: '2999-01-01'
  }
  t.same(read().slice(1), [entry])
  t.match(await run('--name', 'reports', '--permissions', 'select', '--write'), {
    code: 2, stdout: '', stderr: 'tokensFile.2.name: is the same as that of tokensFile.1'
  })
  t.same(
    (await run('list')).stdout,
    '"API_TOKEN": select, insert, update, delete on all databases (configuration)\n"other": select on shop ' +
      `(${env.API_TOKENS_FILE})\n"reports": select on shop, expires 2999-01-01 (${env.API_TOKENS_FILE})\n`
  )
  t.match(await run('revoke', 'report'), { code: 2, stderr: 'did you mean "reports"?' })
  t.match(await run('revoke', 'API_TOKEN'), { code: 2, stderr: 'is not a token of' })
  t.same(read().slice(1), [entry])
  t.match(await run('revoke', 'reports'), { code: 0, stdout: /"reports" is revoked/ })
  t.equal(
    readFileSync(env.API_TOKENS_FILE, 'utf8').replaceAll(/\s/g, ''), `[${other}]`, 'the rest is exactly as before'
  )
  t.match(await run('revoke'), { code: 2 })
  rmSync(env.API_TOKENS_FILE)
  t.match(await run('list'), { code: 2, stderr: 'tokensFile: the file cannot be read' })
  t.match(await run('--name', 'first', '--permissions', 'select', '--write'), { code: 0 })
  t.match(read(), [{ name: 'first' }], 'the first token creates the file')
  env.API_TOKENS_FILE = join(folder, 'missing', 'tokens.json')
  t.match(await run('--name', 'first', '--permissions', 'select', '--write'), {
    code: 2, stdout: '', stderr: 'tokensFile: the file cannot be created'
  })
  t.match(await run('list', '--name', 'x'), { code: 2, stderr: '--name: is not a flag of token list' })
})

const fine = ['--name', 'me', '--permissions', 'select']

const refusedTokens: Array<{ args: string[], lines: string[] }> = [
  {
    args: [],
    lines: [
      '--name: is required (unique name, in logs and for idempotency keys)',
      '--permissions: is required (one or more of select, insert, update, delete)'
    ]
  },
  {
    args: ['--name', '', '--permissions', 'read,select'],
    lines: [
      '--name: must be a string of 1 to 100 characters (unique name, in logs and for idempotency keys)',
      '--permissions.0: must be "select" or "insert" or "update" or "delete"'
    ]
  },
  {
    args: ['--name', 'me', '--permissions', 'select', '--permissions', 'select'],
    lines: ['--permissions: must be a ' +
    'list that is not empty, without duplicates (one or more of select, insert, update, delete)']
  },
  { args: [...fine, '--expires', '2026-01-01'], lines: ['--expires: is in the past'] },
  { args: [...fine, '--columns', 'id', '--write'], lines: ['--columns: requires --table'] },
  { args: [...fine, '--table', 'orders'], lines: ['--table: requires exactly one --database'] },
  {
    args: [...fine, '--table', 'orders', '--database', 'a', '--database', 'b', '--expires', 'soon'],
    lines: [
      '--table: requires exactly one --database',
      '--expires: must be a date or a time with an offset, such as 2027-01-01 or 2027-01-01T12:00:00Z'
    ]
  }
]

for (const { args, lines } of refusedTokens) {
  t.test(`row-query token ${args.join(' ')} is refused`, async (t) => {
    const { code, stdout, stderr } = await runInProcess(t as Test, ['token', ...args], {})
    t.same({ code, stdout, stderr }, {
      code: 2, stdout: '', stderr: lines.map((line) => `row-query: ${line}\n`).join('')
    })
  })
}

// the grants of commands that read and write rows themselves

const NOW = Date.parse('2026-06-01')
const ofTenant = { orders: { rows: { tenant: { $claim: '/tenant' } } } }

const granted: RowQueryOptions = {
  databases: { shop: { url: 'sqlite::memory:' }, crm: { url: 'sqlite::memory:' } },
  tokens: [
    tokenOf('reports', { permissions: ['select', 'insert'], expires: '2026-06-02' }),
    tokenOf('old', { expires: '2026-05-31' }),
    tokenFor('acme', ofTenant, { tenant: 'acme' }),
    tokenFor('claimless', ofTenant)
  ],
  jwt: [jwtSetting({ secret: 'x'.repeat(32), algorithms: ['HS256'] })],
  roles: {
    clerk: { permissions: ['select', 'update'], databases: { shop: ofTenant } },
    reader: { permissions: ['select'], databases: '*' }
  }
}

type Flags = Omit<FlagValues<'mcp'>, 'token-name'> & { name?: string }
const grantOf = ({ name, ...flags }: Flags) =>
  commandGrant({ ...flags, ...(name !== undefined && { 'token-name': name }) }, resolveSettings(granted), { now: NOW })

t.test('a token, a role with claims, or select on everything', async (t) => {
  t.match(grantOf({ name: 'reports' }), {
    grant: { name: 'reports', permissions: new Set(['select', 'insert']) },
    token: { expiresAt: Date.parse('2026-06-02') }
  })
  t.match(grantOf({ name: 'acme' }).grant, { claims: { tenant: 'acme' } })
  t.match(grantOf({ role: 'reader' }), {
    grant: { name: 'reader', permissions: new Set(['select']) }, token: undefined
  })
  t.match(grantOf({
    role: 'clerk', claims: '{"tenant": 9007199254740993}'
  }).grant, { claims: { tenant: 9007199254740993n } }, 'numbers are exact')
  t.match(grantOf({}), { grant: { permissions: new Set(['select']), databases: 'all' }, token: undefined })
})

const refusedGrants: Array<[Flags, line: RegExp]> = [
  [{ name: 'nope' }, /^--token-name: no token is called "nope"$/],
  [{ name: 'old' }, /^--token-name: the token "old" has expired$/],
  [{ name: 'claimless' }, /^--token-name: The claim "\/tenant" is missing/],
  [{ role: 'nope' }, /^--role: no role is called "nope"$/],
  [{ role: 'clerk' }, /^--claims: The claim "\/tenant" is missing/],
  [{ role: 'clerk', claims: '{"tenant": null}' }, /^--claims: The claim "\/tenant" is missing or cannot be used$/],
  [{ role: 'clerk', claims: '{"tenant"' }, /^--claims: is not valid JSON/],
  [{ role: 'clerk', claims: '[7]' }, /^--claims: must be a JSON object$/],
  [{ role: 'clerk', claims: '{"tenant": 1, "tenant": 2}' }, /^--claims: has a key twice/],
  [{ claims: '{}' }, /^--claims: requires --role$/],
  [{ name: 'reports', claims: '{}' }, /^--claims: requires --role$/],
  [{ name: 'reports', role: 'clerk' }, /^--role: cannot be combined with --token-name$/]
]

for (const [flags, line] of refusedGrants) {
  t.test(`${JSON.stringify(flags)} is a configuration error`, async (t) => {
    t.throws(() => grantOf(flags), { code: 'ROW_QUERY_INVALID_CONFIG', errors: [line] })
  })
}

// openapi and types

await onEachEngine(t, 'row-query openapi prints the document of a token ' +
  'with all permissions', { schema: shop }, async (t, { server, url }) => {
  const config = `${t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } } }) })}/row-query.json`
  for (const [args, path] of [[[], '/openapi.json'], [['shop'], '/shop/openapi.json']] as const) {
    const { code, stdout, stderr } = await runInProcess(t as Test, ['openapi', ...args, '--config', config])
    t.same({ code, stderr }, { code: 0, stderr: '' })
    t.same(JSON.parse(stdout), (await get(server, path)).json)
    t.match(stdout, /^\{\n {2}"openapi": "3\.1\.0",\n/, 'to be read by people too')
  }
})

t.test('numbers are printed with the digits that the service returns', async (t) => {
  const folder = t.testdir()
  const database = new DatabaseSync(`${folder}/big.db`)
  database.exec('create table big (id bigint not null default 9223372036854775807)')
  database.close()
  const { stdout } = await runInProcess(t as Test, ['openapi', 'big'], {
    env: { DATABASE_URL: `sqlite:${folder}/big.db` }
  })
  t.match(stdout, '"x-default": 9223372036854775807')
})

t.test('without configuration the demo is used, and with one database, types needs no name', async (t) => {
  t.match(JSON.parse((await runInProcess(t as Test, ['openapi', 'demo'])).stdout), {
    paths: { '/demo/orders': {} }, servers: [{ url: '/api' }]
  })
  t.match(JSON.parse((await runInProcess(t as Test, ['openapi'], { env: { PATH_PREFIX: '' } })).stdout), {
    'x-databases': ['demo'], servers: [{ url: '/' }]
  })
  t.match((await runInProcess(t as Test, ['types'])).stdout, 'export interface Orders {\n')
})

t.test('an error is printed in one line', async (t) => {
  const folder = t.testdir({
    'two.json': JSON.stringify({
      databases: { shop: { url: 'sqlite:shop.db' }, gone: { url: 'mysql://root@127.0.0.1:1/gone' } }
    })
  })
  createShop(`${folder}/shop.db`)
  const refused: Array<[args: string[], line: RegExp]> = [
    [['openapi', 'nope'], /^row-query: "nope" is not configured; the databases are shop, gone\n$/],
    [['openapi', 'shop', 'gone'], /^row-query: only one database is allowed, not shop, gone\n$/],
    [['openapi', 'gone'], /^row-query: databases\.gone: does not answer \(ECONNREFUSED\)\n$/],
    [['types'], /^row-query: a database is required; the databases are shop, gone\n$/],
    [['types', 'shop', '--host', 'x'], /^row-query: --host: is not a flag of types/]
  ]
  for (const [args, line] of refused) {
    const { code, stdout, stderr } = await runInProcess(t as Test, args, {
      cwd: folder, env: { ROW_QUERY_CONFIG: 'two.json' }
    })
    t.same({ code, stdout }, { code: 2, stdout: '' }, args.join(' '))
    t.match(stderr, line)
  }
})

// health

const databases = { shop: { url: 'sqlite::memory:' } }

async function listen (t: Test, https?: HttpsOptions): Promise<number> {
  const { app } = await createServer({ options: { databases }, prefix: '/api', logLevel: 'silent', https })
  t.teardown(() => app.close())
  await app.listen({ port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** A server of another kind. */
async function listenOther (t: Test, status: number): Promise<number> {
  const server = createHttpServer((_request, response) => { response.writeHead(status).end() }).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

t.test('asks the server of the configuration, whatever it listens on', async (t) => {
  const { cert, key } = await createCertificate('rows.example.com')
  const folder = t.testdir({ cert, key })
  const https = { cert: `${folder}/cert`, key: `${folder}/key` }
  const tls = { HTTPS_CERT: https.cert, HTTPS_KEY: https.key }
  const [plain, encrypted, mutual, other] = await Promise.all([
    listen(t as Test), listen(t as Test, https), listen(t as Test, { ...https, ca: https.cert }),
    listenOther(t as Test, 404)
  ])
  const cases: Array<[what: string, env: Record<string, string>, stdout: string]> = [
    ['the address of HOST', { HOST: '0.0.0.0', PORT: String(plain) }, 'alive\n'],
    ['TLS with a certificate for another name', { PORT: String(encrypted), ...tls }, 'alive\n'],
    ['TLS that requires a certificate', { PORT: String(mutual), ...tls, ROW_QUERY_HTTPS_CA: https.cert }, 'alive\n'],
    ['TLS without the setting', { PORT: String(encrypted) }, 'not alive: ECONNRESET\n'],
    ['another server', { PORT: String(other) }, 'not alive: status 404\n'],
    ['nobody', { PORT: '1' }, 'not alive: ECONNREFUSED\n']
  ]
  for (const [what, env, stdout] of cases) {
    t.same(await runInProcess(t as Test, ['health'], { env }), {
      code: stdout === 'alive\n' ? 0 : 1, stdout, stderr: ''
    }, what)
  }
})

t.test('refuses a configuration that is not valid', async (t) => {
  t.match(await runInProcess(t as Test, ['health', '--port', 'x']), { code: 2, stderr: 'row-query: --port: ' })
})
