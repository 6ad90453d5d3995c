// night: starts programs
/**
 * Which packages the program loads, and when: an import loads what checks the options, registering what the options
 * need, a request nothing.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from './support/markdown.ts'
import { TOKEN } from './support/service.ts'

/** Prints the packages that are loaded by the import, by registering the plugin and by the first request. */
const program = (options: string): string => `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ resolve (name, context, next) {
    const found = next(name, context)
    loaded.add(/node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1] ?? '')
    return found
  } })
  const take = () => {
    const packages = [...loaded].filter((name) => name !== '')
    loaded.clear()
    return packages.sort()
  }
  const { rowQuery, hashToken } = await import('${ROOT}/src/index.ts')
  const imported = take()
  const { default: Fastify } = await import('fastify')
  await Fastify().inject('/') // loads what only injected requests need
  take()
  const databases = { shop: { url: 'sqlite::memory:', setup: ['create table orders (id integer primary key)'] } }
  const tokens = [{ name: 'test', sha256: hashToken('${TOKEN}'), permissions: ['select'] }]
  const app = Fastify({ pluginTimeout: 60_000 })
  app.register(rowQuery, { databases, tokens, ...${options} })
  await app.ready()
  const registered = take()
  const headers = { authorization: 'Bearer ${TOKEN}' }
  const answer = await app.inject({ method: 'POST', url: '/shop/orders', headers, payload: { verb: 'select' } })
  console.log(JSON.stringify({ imported, registered, status: answer.statusCode, requested: take() }))
  await app.close()
`

interface Loaded {
  readonly imported: string[], readonly registered: string[], readonly requested: string[], readonly status: number
}

async function load (options = '{}'): Promise<Loaded> {
  const { NODE_OPTIONS, ...env } = process.env
  const { stdout } = await promisify(execFile)(
    process.execPath, ['--no-warnings', '--input-type=module', '-e', program(options)], { cwd: ROOT, env }
  )
  return JSON.parse(stdout)
}

/** What options turn on. */
const OPTIONAL = [
  '@fastify/cors', '@fastify/helmet', '@fastify/rate-limit', '@modelcontextprotocol/server', '@opentelemetry/api',
  'jose', 'mysql2', 'pino-pretty', 'prom-client'
]

t.test('an import loads the schemas of the options, and no more', async (t) => {
  const { imported, registered, requested, status } = await load('{ failedLogins: { max: 0 } }')
  t.same(imported, ['@fastify/error', '@sinclair/typebox', 'fastify-plugin'])
  t.ok(registered.includes('kysely'), 'what each request needs is loaded when the plugin is registered')
  t.same(registered.filter((name) => OPTIONAL.includes(name)), [])
  t.equal(status, 200)
  t.same(requested, [], 'a request loads nothing')
})

t.test('each option loads its package when the plugin is registered, so that a package that is ' +
  'missing stops the start', async (t) => {
  const lists: Array<[options: string, packages: string[]]> = [
    ["{ docs: true, cors: { origins: ['*'] }, metrics: true, failedLogins: {}, rateLimit: { max: 1000 }, mcp: {} }", [
      '@fastify/cors', '@fastify/helmet', '@fastify/rate-limit', '@modelcontextprotocol/server', '@opentelemetry/api',
      'prom-client'
    ]],
    ["{ databases: { ...databases, other: { url: 'mysql://localhost:1/other' } }, failedLogins: { max: 0 }, jwt: [{ " +
      "issuer: 'x', audience: 'x', algorithms: ['HS256'], secret: 'x'.repeat(32), role: '/role' }], roles: { clerk: " +
        "{ permissions: ['select'], databases: '*' } } }", ['jose', 'mysql2']]
  ]
  await Promise.all(lists.map(async ([options, packages]) => {
    const { registered, requested, status } = await load(options)
    t.same(registered.filter((name) => OPTIONAL.includes(name)), packages, options)
    t.equal(status, 200)
    t.same(requested, [], 'a request loads nothing')
  }))
})

const HOOKS = `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ resolve (name, context, next) {
    const found = next(name, context)
    const [, loads] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url) ??
      /\\/(plugins|src\\/\\w+)\\//.exec(found.url) ?? []
    loaded.add(loads)
    return found
  } })
  process.on('exit', () => console.error(JSON.stringify([...loaded].filter(Boolean).sort())))
`

/** Prints the packages, and the first rooms of `src`, that a command loads. */
async function loadedBy (folder: string, ...args: string[]): Promise<string[]> {
  const hooks = join(folder, 'hooks.mjs')
  const { NODE_OPTIONS, ...env } = process.env
  const { stderr } = await promisify(execFile)(
    process.execPath, ['--no-warnings', '--import', hooks, join(ROOT, 'src/cli/main.ts'), ...args], { cwd: folder, env }
  )
  return JSON.parse(stderr)
}

t.test('a command loads what it needs: no server, no engine that is not configured, and a token ' +
  'no database at all', async (t) => {
  const folder = t.testdir({
    'hooks.mjs': HOOKS,
    'row-query.json': JSON.stringify({
      databases: { shop: { url: 'sqlite::memory:', setup: ['create table orders (id integer primary key)'] } }
    })
  })
  const config = ['--config', join(folder, 'row-query.json')]
  t.same(await loadedBy(folder, 'token', '--name', 'x', '--permissions', 'select'), [
    '@fastify/error', '@sinclair/typebox', 'src/access', 'src/cli', 'src/config', 'src/dialects', 'src/json',
    'src/named', 'src/plan', 'src/request', 'src/types'
  ])
  for (const command of [['check'], ['types', 'shop']]) {
    const loaded = await loadedBy(folder, ...command, ...config)
    t.ok(loaded.includes('kysely'))
    for (const name of [
      'fastify', 'mysql2', 'jose', 'close-with-grace', 'plugins', 'src/server', 'src/http', 'src/imports', 'src/mcp'
    ]) t.notOk(loaded.includes(name), `${command[0] as string} without ${name}`)
  }
})

t.test('the primary process of several workers loads no room that handles requests, ' +
  'also where it serves the metrics of all', async (t) => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load (url, context, next) { loaded.push(url); return next(url, context) } })
    await Promise.all(['serve', 'workers/workers'].map((name) => import('${ROOT}/src/cli/' + name + '.ts')))
    const { createMetricsApp } = await import('${ROOT}/src/server/listen.ts')
    const app = await createMetricsApp({ contentType: 'text/plain', metrics: async () => 'up 1' })
    const { statusCode, payload } = await app.inject('/metrics')
    await app.close()
    console.log(JSON.stringify({ loaded, answer: [statusCode, payload] }))
  `
  const { stdout } = await promisify(execFile)(
    process.execPath, ['--no-warnings', '--input-type=module', '-e', program], { cwd: ROOT }
  )
  const { loaded, answer } = JSON.parse(stdout) as { readonly loaded: string[], readonly answer: unknown[] }
  t.same(answer, [200, 'up 1'])
  t.ok(loaded.some((url) => url.endsWith('/src/server/listen.ts')))
  t.same(loaded.filter((url) => /\/(kysely|plugins|src\/(http|verbs|sql|databases))\//.test(url)), [
    new URL('../plugins/metrics.ts', import.meta.url).href
  ])
})
