/**
 * The files that the documents and examples show are loaded, and what they name is looked up: settings, metrics,
 * probes, paths.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { COMMANDS } from '../../src/cli/commands.ts'
import { WorkerMetrics } from '../../src/cli/workers/worker-metrics.ts'
import { loadConfig, splitConfig } from '../../src/config/load.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { catalogue } from '../../src/errors.ts'
import { createServer } from '../../src/server/server.ts'
import { RequestRecord, lineOf } from '../../src/telemetry/record.ts'
import { blockOf, readDocument, ROOT, tableRows } from '../support/markdown.ts'

// the parser of a dependency
const { parse } = createRequire(createRequire(import.meta.url).resolve('@fastify/swagger'))(
  'yaml'
) as { parse (text: string): any }

t.test('docs/configuration.md: secrets of variables and files', async (t) => {
  const folder = t.testdir({ url: 'mysql://shop:secret@127.0.0.1:3306/shop\n' })
  writeFileSync(`${folder}/row-query.json`, blockOf('docs/configuration.md', 'json secrets').replace(
    '/run/secrets/shop-url', `${folder}/url`
  ))
  const { config } = loadConfig({ CRM_PASSWORD: 'hidden' }, { config: `${folder}/row-query.json` })
  t.match(config, {
    databases: {
      shop: { url: 'mysql://shop:secret@127.0.0.1:3306/shop' }, crm: { url: 'mysql://crm:hidden@db.example.com/crm_v2' }
    }
  })
  t.throws(() => loadConfig({}, { config: `${folder}/row-query.json` }), /CRM_PASSWORD/)
})

t.test('docs/grants.md: the entry of a token', async (t) => {
  const token = JSON.parse(blockOf('docs/grants.md', 'json token'))
  const folder = t.testdir({
    'row-query.json': JSON.stringify({ databases: { shop: { url: 'mysql://127.0.0.1/shop' } }, tokens: [token] })
  })
  const { options } = splitConfig(loadConfig({}, { config: `${folder}/row-query.json` }).config)
  t.match(resolveSettings(options).tokens, [{ grant: { name: 'acme' } }])
})

t.test('docs/mcp.md: the configuration, and those of clients', async (t) => {
  const folder = t.testdir({ 'row-query.json': blockOf('docs/mcp.md', 'json mcp') })
  const { options } = splitConfig(loadConfig({}, { config: `${folder}/row-query.json` }).config)
  t.match(resolveSettings(options), {
    mcp: { verbs: ['select', 'update'], resultLimit: 262_144 },
    limits: { changed: 100 },
    tokens: [{ grant: { name: 'assistant' } }]
  })
  const [, command, ...args] = JSON.parse(blockOf('docs/mcp.md', 'json stdio')).mcpServers.shop.args
  t.equal(command, 'mcp')
  t.match(parseArgs({ args, options: COMMANDS.mcp.flags }).values, { config: /^\//, 'token-name': 'assistant' })
  for (const [kind, key] of [['json http', 'mcpServers'], ['json vscode', 'servers']] as const) {
    t.match(JSON.parse(blockOf('docs/mcp.md', kind))[key].shop, {
      type: 'http', url: /\/api\/mcp$/, headers: { Authorization: /^Bearer / }
    })
  }
})

t.test('the statements for the account of docs/configuration.md and README.md grant the same privileges', async (t) => {
  const [one, other] = ['docs/configuration.md', 'README.md'].map(
    (document) => blockOf(document, 'sql account').match(/GRANT (.*) ON/)?.[1]
  )
  t.equal(one, 'SELECT, INSERT, UPDATE, DELETE')
  t.equal(other, one)
})

t.test('docs/deployment.md and docs/monitoring.md: the probes of Kubernetes and the address of the metrics are ' +
  'those of the server', async (t) => {
  const { terminationGracePeriodSeconds: grace, containers: [{ readinessProbe, livenessProbe }] } = parse(
    blockOf('docs/deployment.md', 'yaml kubernetes')
  )
  const [shutdown = ''] = /"shutdown": (\{[^}]*\})/.exec(readDocument('docs/deployment.md'))?.slice(1) ?? []
  const { delay, timeout } = JSON.parse(shutdown) as { delay: number, timeout: number }
  t.ok(grace * 1000 > delay + timeout)
  const { app } = await createServer({
    options: { databases: { shop: { url: 'sqlite::memory:' } } }, prefix: '/api', logLevel: 'silent'
  })
  t.teardown(() => app.close())
  for (const { httpGet } of [readinessProbe, livenessProbe]) {
    t.equal(httpGet.port, splitConfig({ databases: {} }).server.port, 'the default port')
    t.equal((await app.inject(httpGet.path)).statusCode, 200, httpGet.path)
  }
  const { scrape_configs: [{ static_configs: [{ targets }] }] } = parse(blockOf('docs/monitoring.md', 'yaml scrape'))
  const [, port] = /"metrics": \{ "port": (\d+) \}/.exec(readDocument('docs/monitoring.md')) ?? []
  t.same(targets.map((target: string) => target.split(':')[1]), [port])
})

t.test('docs/monitoring.md: the alerts have names, expressions and metrics that exist', async (t) => {
  const { groups } = parse(blockOf('docs/monitoring.md', 'yaml alerts'))
  const rules: Array<Record<string, string>> = groups.flatMap(({ rules }: { rules: unknown[] }) => rules)
  t.ok(rules.length > 5)
  for (const { alert, expr, for: duration, ...rest } of rules) {
    t.match(alert, /^RowQuery[A-Z]\w+$/)
    t.match(expr, /row_query_\w+/)
    t.match(duration ?? '1m', /^\d+m$/)
    t.same(rest, {})
    t.equal(expr?.match(/\(/g)?.length, expr?.match(/\)/g)?.length, 'each bracket is closed')
  }
})

// docs/monitoring.md names every metric and every field of the log as they are, and no other.

const monitoring = readDocument('docs/monitoring.md')
const code = (text: unknown): string => `\`${text}\``

interface Described { name: string, type: string, labelNames: readonly string[] }

/** The metrics, as they are registered: ours and those of Node. */
async function allMetrics (t: Test): Promise<Described[]> {
  const { app, rows } = await createServer({
    options: { databases: { shop: { url: 'mysql://nobody@127.0.0.1:1/shop' } }, metrics: true },
    prefix: '/api',
    logLevel: 'silent'
  })
  t.teardown(() => app.close())
  await app.ready()
  const ofWorkers = (await new WorkerMetrics().metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm)
  const ofServer = rows.registry.getMetricsAsArray() as unknown as Described[]
  const ofPrimary = Array.from(ofWorkers, ([, name = '', type = '']): Described => ({ name, type, labelNames: [] }))
  return [...ofServer, ...ofPrimary.filter(({ name }) => !ofServer.some((other) => other.name === name))]
}

const metrics = async (t: Test): Promise<Described[]> =>
  (await allMetrics(t)).filter(({ name }) => name.startsWith('row_query_'))

t.test('the dashboard of Grafana asks for metrics and labels that exist, and for each of ours ' +
  'that is no detail', async (t) => {
  const { panels, templating } = JSON.parse(readDocument('examples/grafana/row-query.json')) as {
    panels: Array<{ targets?: Array<{ expr: string }> }>,
    templating: { list: Array<{ query: string | { query: string } }> }
  }
  const known = new Map(
    (await allMetrics(t)).map(({ name, labelNames }) => [name, new Set(['job', 'instance', 'le', ...labelNames])])
  )
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  t.ok(expressions.length > 25)
  const asked = new Set<string>()
  for (const expression of expressions) {
    t.equal(expression.match(/[({]/g)?.length, expression.match(/[)}]/g)?.length, expression)
    const names = Array.from(expression.matchAll(/\b((?:row_query|nodejs|process)_\w+?)(?:_bucket)?\{([^}]*)\}/g))
    t.ok(names.length > 0, expression)
    t.equal(names.length, expression.match(/\b(row_query|nodejs|process)_/g)
      ?.length, `each metric of ${expression} has its labels`)
    for (const [, name = '', selector = ''] of names) {
      asked.add(name)
      const labels = [
        ...Array.from(selector.matchAll(/(\w+)=~?"|(\w+)!~?="/g), ([, equal, other]) => equal ?? other),
        ...Array.from(expression.matchAll(/by \(([^)]*)\)/g), ([, list = '']) => list.split(', ')).flat()
      ]
      for (const label of labels) t.ok(known.get(name)?.has(label as string), `${name} has ${label}`)
    }
  }
  for (const { query } of templating.list) {
    const [, name = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(
      typeof query === 'string' ? query : query.query
    ) ?? []
    if (name !== '') t.ok(known.get(name)?.has(label), `${name} has ${label}`)
  }
  const details = new RegExp('_(bytes_total|tables|idle|ending|operations_total|retries_total|lines_lost_total|' +
    'build_info|(import|stream)_duration_seconds)$')
  t.same((await metrics(t)).map(({ name }) => name).filter((name) => !asked.has(name) && !details.test(name)), [])
})

t.test('the document lists exactly the metrics, with their types and labels', async (t) => {
  const described = tableRows(monitoring, 'metric', 'type', 'labels', 'meaning').map((cells) => cells.slice(0, 3))
  const real = (await metrics(t)).map(
    ({ name, type, labelNames }) => [code(name), type, labelNames.map(code).join(', ')]
  )
  t.same(described.toSorted(), real.toSorted())
})

t.test('every metric in an example or explanation exists', async (t) => {
  const known = new Set((await metrics(t)).map(({ name }) => name))
  const named = (monitoring.match(/\brow_query_[a-z_]+/g) ?? []).map((name) => name.replace(/_bucket$/, ''))
  t.same(named.filter((name) => !known.has(name)), [])
})

t.test("every field of a request's line stands in the document, and no other does", async (t) => {
  t.same(
    tableRows(monitoring, 'field', 'meaning').map(([name]) => name).toSorted(),
    Object.keys(lineOf(new RequestRecord(true, true))).map(code).toSorted()
  )
})

t.test('every code of an error of the service or database is explained', async (t) => {
  const symptoms = readDocument('docs/troubleshooting.md')
  const trouble = [...catalogue].filter(([, status]) => status >= 500).map(([name]) => name)
  t.same(trouble.filter((name) => !symptoms.includes(code(name))), [])
})

// The unit of systemd and the file for Kubernetes in examples/: their commands, paths, times and probes are those of
// the program.

const { bin } = JSON.parse(readDocument('package.json')) as { bin: Record<string, string> }
const { timeout } = splitConfig({ databases: {} }).server.shutdown

t.test('the unit starts the program of the package, and gives it the time that it needs', async (t) => {
  const lines = readDocument('examples/systemd/row-query.service').split('\n').filter((line) => /^#? ?\w+=/.test(line))
    .map((line) => line.replace(/^# /, ''))
  const unit = new Map(lines.map((line) => line.split(/=(.*)/s) as [string, string]))
  for (const name of ['ExecStart', 'ExecStartPre']) {
    const [node, program, command, ...flags] = (unit.get(name) as string).split(' ')
    t.equal(node, '/usr/bin/node')
    t.equal(program, `node_modules/fastify-row-query/${bin['row-query']}`)
    t.ok(command !== undefined && Object.hasOwn(COMMANDS, command), name)
    for (const flag of flags.filter((each) => each.startsWith('--'))) {
      t.ok(
        Object.hasOwn(COMMANDS[command as 'serve'].flags, flag.slice(2)), flag
      )
    }
  }
  t.ok(Number(unit.get('TimeoutStopSec')) * 1000 > timeout)
  t.equal(unit.get('RestartPreventExitStatus'), '2')
  t.ok(existsSync(
    join(ROOT, (unit.get('Documentation') as string).replace('file:/opt/row-query/node_modules/fastify-row-query/', ''))
  ))
  const verify = spawnSync(
    'systemd-analyze', ['verify', '--man=no', join(ROOT, 'examples/systemd/row-query.service')], { encoding: 'utf8' }
  )
  // of another machine than the one it is for, only the names of its lines can be checked
  if (verify.error === undefined) t.notMatch(verify.stderr, /Unknown|Failed to parse|Invalid/i)
})

t.test('the objects of Kubernetes belong together, and the probes are answered', async (t) => {
  const objects = parseAllDocuments(readFileSync(join(ROOT, 'examples/kubernetes/row-query.yaml'), 'utf8')).map(
    (document) => document.toJS()
  )
  const find = (kind: string) => objects.find((each) => each.kind === kind)
  const { metadata: { labels }, spec } = find('Deployment').spec.template
  for (const selector of [find('Deployment').spec.selector.matchLabels, find('Service')
    .spec.selector, find('PodDisruptionBudget').spec.selector.matchLabels]) t.same(selector, labels)
  const [container] = spec.containers
  const mounted = new Map<string, string>(
    container.volumeMounts.map(({ name, mountPath }: Record<string, string>) => [name, mountPath])
  )
  t.same(spec.volumes.map(({ configMap, secret }: any) => configMap?.name ?? secret.secretName), [
    find('ConfigMap').metadata.name, find('Secret').metadata.name
  ])

  const folder = t.testdir(find('Secret').stringData)
  const { name: [variable, path], text } = {
    name: [container.env[0].name, container.env[0].value], text: find('ConfigMap').data['row-query.json'] as string
  }
  t.equal(variable, 'ROW_QUERY_CONFIG')
  t.equal(path, `${mounted.get('config')}/row-query.json`)
  writeFileSync(join(folder, 'row-query.json'), text.replaceAll(`${mounted.get('secret')}/`, `${folder}/`))
  const { server, options } = splitConfig(loadConfig({}, { config: join(folder, 'row-query.json') }).config)
  t.equal(resolveSettings(options).databases[0]?.name, 'shop')
  t.ok(spec.terminationGracePeriodSeconds * 1000 > server.shutdown.delay + server.shutdown.timeout)
  const ports = new Map<string, number>(container.ports.map(({ name, containerPort }: any) => [name, containerPort]))
  t.same([ports.get('http'), ports.get('metrics')], [server.port, server.metrics?.port])

  const { app } = await createServer({
    options: { databases: { shop: { url: 'mysql://root@127.0.0.1:1/shop' } } },
    prefix: server.prefix,
    logLevel: 'silent'
  })
  t.teardown(() => app.close())
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    t.match((await app.inject(container[probe].httpGet.path)).json(), { status: /^(ok|unavailable)$/ }, probe)
    t.ok(ports.has(container[probe].httpGet.port), probe)
  }
})
