// night: builds and installs the package
/**
 * The Dockerfile, by running its own commands, and compose.yaml with its seed on MariaDB. The image itself is not built
 * here: there is no Docker.
 */
import { cpSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { createConnection } from 'mysql2/promise'
import { engines } from '../servers/engines.ts'
import { freePort } from '../servers/free-port.ts'
import {
  buildStage, readContext, readDockerfile, readExec, runInShell, type Built, type Stage
} from '../support/dockerfile.ts'
import { codeBlocks, readDocument, ROOT } from '../support/markdown.ts'
import { call, createFolder, installedIn } from '../support/package.ts'
import { runRowQuery, serveRowQuery, type Running } from '../support/row-query.ts'
import { createShell } from '../support/shell.ts'

const { dependencies, peerDependencies, devDependencies } = JSON.parse(readDocument('package.json'))
const stages = readDockerfile()
const [dependenciesStage, buildingStage, finalStage] = stages as [Stage, Stage, Stage]
const valueOf = (name: string): string => finalStage.instructions.find((each) => each.name === name)?.value ?? ''

async function build (t: Test): Promise<Built> {
  const work = createFolder(t)
  const context = join(work, 'context')
  for (const name of readContext()) cpSync(join(ROOT, name), join(context, name), { recursive: true })
  const others = new Map<string, string>()
  const options = { context, others }
  const built = await Promise.all([
    buildStage(dependenciesStage, join(work, 'dependencies'), options),
    // a second `npm ci` would make the node_modules that this repository has
    buildStage(buildingStage, join(work, 'build'), {
      ...options,
      run: async (command, cwd) => command.startsWith(
        'npm ci '
      )
        ? symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'))
        : await runInShell(command, cwd)
    })
  ])
  for (const [index, { folder }] of built.entries()) others.set((stages[index] as Stage).name, folder)
  return await buildStage(finalStage, join(work, 'final'), options)
}

const image = await build(t as Test)
const command = [...readExec(valueOf('ENTRYPOINT'), image), ...readExec(valueOf('CMD'), image)]

/** As in a container with a read-only file system: Node may write only to the folders in `writable`. */
const readOnly = (...writable: string[]): string => [
  '--permission', '--allow-fs-read=*', ...writable.map((path) => `--allow-fs-write=${path}`),
  ...writable.length > 0 ? ['--allow-child-process'] : []
].join(' ')

interface Container { readonly server: Running, readonly health: () => Promise<unknown> }

/** The listening address of the image is that of a container: a test listens on this machine alone. */
async function start (t: Test, env: Record<string, string>): Promise<Container> {
  const settings = { ...image.env, HOST: '127.0.0.1', PORT: String(await freePort()), ...env }
  const server = await serveRowQuery(t, { command, cwd: image.workdir, env: settings })
  const { NODE_OPTIONS, ...others } = settings as Record<string, string>
  return {
    server,
    health: () => runRowQuery(t, [], {
      command: readExec(valueOf('HEALTHCHECK'), image), cwd: image.workdir, env: others
    })
  }
}

t.test('the image is small, and its process has no rights that it does not need', async (t) => {
  t.equal(stages.length, 3)
  for (const { image } of stages) t.equal(image, 'node:24-slim')
  const order = finalStage.instructions.map(({ name }) => name)
  t.ok(order.indexOf('USER') < order.indexOf('ENTRYPOINT') && valueOf('USER') === 'node', 'not root')
  t.notOk(order.slice(order.indexOf('USER')).includes('RUN'))
  t.same(image.env, { NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '3000', ROW_QUERY_LOG_FORMAT: 'json' })
  t.same(valueOf('EXPOSE'), image.env['PORT'])

  const copied = stages.flatMap(({ instructions }) => instructions).flatMap(
    ({ name, value }) => name === 'COPY' && !value.startsWith('--from') ? value.split(' ').slice(0, -1) : []
  )
  t.same([...new Set(copied)].sort(), readContext().sort(), 'the context is what is copied')
  t.same(readdirSync(join(image.folder, 'app')).sort(), ['dist', 'node_modules', 'package.json'])
  const installed = installedIn(join(image.folder, 'app'))
  t.same(Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !installed.includes(name)), [])
  t.same([
    'typescript', 'tap', 'eslint', 'playwright-core', 'node'
  ].filter((name) => installed.includes(name) || devDependencies[name] === undefined), [], 'no development tools')
})

t.test('the demo starts, is healthy and ends on SIGTERM', async (t) => {
  const data = join(image.workdir, 'data')
  t.equal((statSync(data).mode & 0o7777).toString(8), '1777', 'any user may write there')
  const { server, health } = await start(t as Test, { NODE_OPTIONS: readOnly(data, '/tmp') })
  const [, token = ''] = /"token":"([^"]+)"/.exec(await server.printed(/this is the demo/)) as RegExpExecArray
  t.match(await server.post('/api/demo/orders', { verb: 'select', filters: { id: 1 } }, token), { status: 200 })
  t.same(await health(), { code: 0, stdout: 'alive\n', stderr: '' })
  const { code, stdout } = await server.stop()
  t.equal(code, 0)
  t.ok(stdout.trimEnd().split('\n').every((line) => JSON.parse(line).level > 0), 'every line is JSON')
  t.match(await health(), { code: 1, stdout: 'not alive: ECONNREFUSED\n' })
})

const compose = parse(readDocument('compose.yaml'))
const { services: { database, 'row-query': service }, secrets, volumes } = compose

t.test('compose.yaml has no secret, and runs the service with a read-only file system ' +
  'and without rights', async (t) => {
  t.match(service, {
    build: '.',
    init: true,
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: [
      'no-new-privileges:true'
    ],
    ports: ['127.0.0.1:3000:3000'],
    depends_on: { database: { condition: 'service_healthy' } }
  })
  t.match(service.environment.API_TOKEN, /^\$\{API_TOKEN:\?/, 'from the environment, and an error without it')
  t.equal(database.environment.MARIADB_PASSWORD_FILE, '/run/secrets/db_password')
  t.equal(database.environment.MARIADB_DATABASE, undefined, 'the image would grant all privileges on it')
  t.same(secrets, { db_password: { file: './secrets/db_password' } })
  t.match(readDocument('.gitignore'), '\n/secrets/\n')
  t.notOk(readContext().some((name) => name.startsWith('secrets')))
  // a container with a read-only file system cannot have secrets of another kind
  for (const { secrets } of [service, database]) t.same(secrets, ['db_password'])
  for (const volume of [...service.volumes, ...database.volumes] as string[]) {
    const [source = '', , mode] = volume.split(':')
    if (source.startsWith('.')) t.ok(readFileSync(join(ROOT, source)).length > 0 && mode === 'ro', volume)
    else t.ok(Object.hasOwn(volumes, source), volume)
  }
  t.ok(parseInt(service.stop_grace_period) > 10, 'longer than shutdown.timeout')
})

const [mariadb] = (await engines()).filter(({ name }) => name === 'mariadb')

t.test('the example database of compose.yaml is served', {
  skip: mariadb === undefined &&
  'there is no MariaDB to run the seed on'
}, async (t) => {
  const engine = mariadb as NonNullable<typeof mariadb>
  const suffix = randomBytes(6).toString('hex')
  const [shop, rows] = [`t_${suffix}`, `u_${suffix}`]
  const folder = createFolder(t as Test)
  const blocks = codeBlocks(readDocument('docs/deployment.md'))
  const [setup, first, answer] = ['sh setup', 'sh first', 'json'].map(
    (kind) => blocks.find((block) => block.kind === kind)?.text as string
  ) as [string, string, string]
  await call(folder, 'sh', '-c', setup)
  const modes = ['secrets', 'secrets/db_password', '.env'].map(
    (path) => (statSync(join(folder, path)).mode & 0o777).toString(8)
  )
  t.same(
    modes, ['700', '644', '600'],
    'other users of the host do not see the secrets; those of the containers see the password'
  )
  const password = readFileSync(join(folder, 'secrets/db_password'), 'utf8').trim()
  const token = readFileSync(join(folder, '.env'), 'utf8').trim().replace('API_TOKEN=', '')

  const root = await createConnection({ uri: engine.url })
  t.teardown(async () => {
    await root.query(`drop database if exists ${shop}`)
    await root.query(`drop user if exists ${rows}`)
    await root.end()
  })
  // what MariaDB's image does with the variables, then the seed, with names of this test's own
  await root.query(`create user '${rows}'@'%' identified by '${password}'`)
  const seed = readDocument(mount(database, '/docker-entrypoint-initdb.d/')).replaceAll(/\bshop\b/g, shop).replaceAll(
    "'rows'@", `'${rows}'@`
  ).replaceAll(/^--.*\n/gm, '')
  for (const statement of seed.split(/;\n/).filter((each) => each.trim() !== '')) await root.query(statement)

  const { hostname, port } = new URL(engine.url)
  const config = readDocument(mount(service, '/etc/'))
  t.match(config, /rows:\$\{file:\/run\/secrets\/db_password\}@database:3306\/shop/)
  writeFileSync(join(folder, 'row-query.json'), config.replace('/run/secrets/', `${folder}/secrets/`).replace(
    '//rows:', `//${rows}:`
  ).replace('database:3306/shop', `${hostname}:${port}/${shop}`))

  const { API_TOKEN, ...given } = service.environment
  const env = { ...given, API_TOKEN: token, ROW_QUERY_CONFIG: join(folder, 'row-query.json'), NODE_OPTIONS: readOnly() }
  const { server, health } = await start(t as Test, env)
  t.same(await health(), { code: 0, stdout: 'alive\n', stderr: '' })
  const shell = createShell(t as Test)
  t.same(
    JSON.parse(await shell(`cd ${folder}\n${first.replace('http://127.0.0.1:3000', server.address)}`)),
    JSON.parse(answer), 'the first request of the documents'
  )
  t.match(await server.post('/api/shop/customers', { verb: 'select', filters: { id: 2 } }, token), {
    status: 200, json: { data: { rows: [{ name: 'Zoë Ångström' }] } }
  })
  t.match(await server.post('/api/shop/orders', {
    verb: 'insert', data: { customer_id: 1 }
  }, token, { 'idempotency-key': 'x' }), { status: 200, json: { data: { inserted: 1, id: 3 } } })
  t.equal((await fetch(`${server.address}/api/docs`)).status, 200)
  const checked = await runRowQuery(t as Test, ['check', '--strict'], {
    env: { ROW_QUERY_CONFIG: env.ROW_QUERY_CONFIG, API_TOKEN: token }
  })
  t.match(checked, { code: 0 }, 'the account has the privileges that it needs, and no others')
  const { stdout: keys } = await runRowQuery(t as Test, ['keys'], { env: { ROW_QUERY_CONFIG: env.ROW_QUERY_CONFIG } })
  t.match(
    readDocument(mount(database, '/docker-entrypoint-initdb.d/')), keys.trim().replace(/;?$/, ';'),
    'the table for keys is that of the program'
  )
  t.match(await server.stop(), { code: 0, stderr: '' })
})

/** The file of the repository that is mounted below a path. */
function mount ({ volumes }: { volumes: string[] }, path: string): string {
  return (volumes.map((volume) => volume.split(':')).find(
    ([, target]) => target?.startsWith(path)
  ) as string[])[0] as string
}
