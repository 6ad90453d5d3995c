/** The unit of systemd and the file for Kubernetes in examples/: their commands, paths, times and probes are those of the program. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { COMMANDS } from '../../src/cli/commands.ts'
import { loadConfig } from '../../src/config/load.ts'
import { splitConfig } from '../../src/config/split-config.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { createServer } from '../../src/server/server.ts'
import { readDocument, ROOT } from '../support/markdown.ts'

const { bin } = JSON.parse(readDocument('package.json')) as { bin: Record<string, string> }
const { timeout } = splitConfig({ databases: {} }).server.shutdown

t.test('the unit starts the program of the package, and gives it the time that it needs', async (t) => {
  const lines = readDocument('examples/systemd/row-query.service').split('\n').filter((line) => /^#? ?\w+=/.test(line)).map((line) => line.replace(/^# /, ''))
  const unit = new Map(lines.map((line) => line.split(/=(.*)/s) as [string, string]))
  for (const name of ['ExecStart', 'ExecStartPre']) {
    const [node, program, command, ...flags] = (unit.get(name) as string).split(' ')
    t.equal(node, '/usr/bin/node')
    t.equal(program, `node_modules/fastify-row-query/${bin['row-query']}`)
    t.ok(command !== undefined && Object.hasOwn(COMMANDS, command), name)
    for (const flag of flags.filter((each) => each.startsWith('--'))) t.ok(Object.hasOwn(COMMANDS[command as 'serve'].flags, flag.slice(2)), flag)
  }
  t.ok(Number(unit.get('TimeoutStopSec')) * 1000 > timeout)
  t.equal(unit.get('RestartPreventExitStatus'), '2')
  t.ok(existsSync(join(ROOT, (unit.get('Documentation') as string).replace('file:/opt/row-query/node_modules/fastify-row-query/', ''))))
  const verify = spawnSync('systemd-analyze', ['verify', '--man=no', join(ROOT, 'examples/systemd/row-query.service')], { encoding: 'utf8' })
  // of another machine than the one it is for, only the names of its lines can be checked
  if (verify.error === undefined) t.notMatch(verify.stderr, /Unknown|Failed to parse|Invalid/i)
})

t.test('the objects of Kubernetes belong together, and the probes are answered', async (t) => {
  const objects = parseAllDocuments(readFileSync(join(ROOT, 'examples/kubernetes/row-query.yaml'), 'utf8')).map((document) => document.toJS())
  const find = (kind: string) => objects.find((each) => each.kind === kind)
  const { metadata: { labels }, spec } = find('Deployment').spec.template
  for (const selector of [find('Deployment').spec.selector.matchLabels, find('Service').spec.selector, find('PodDisruptionBudget').spec.selector.matchLabels]) t.same(selector, labels)
  const [container] = spec.containers
  const mounted = new Map<string, string>(container.volumeMounts.map(({ name, mountPath }: Record<string, string>) => [name, mountPath]))
  t.same(spec.volumes.map(({ configMap, secret }: any) => configMap?.name ?? secret.secretName), [find('ConfigMap').metadata.name, find('Secret').metadata.name])

  const folder = t.testdir(find('Secret').stringData)
  const { name: [variable, path], text } = { name: [container.env[0].name, container.env[0].value], text: find('ConfigMap').data['row-query.json'] as string }
  t.equal(variable, 'ROW_QUERY_CONFIG')
  t.equal(path, `${mounted.get('config')}/row-query.json`)
  writeFileSync(join(folder, 'row-query.json'), text.replaceAll(`${mounted.get('secret')}/`, `${folder}/`))
  const { server, options } = splitConfig(loadConfig({}, { config: join(folder, 'row-query.json') }).config)
  t.equal(resolveSettings(options).databases[0]?.name, 'shop')
  t.ok(spec.terminationGracePeriodSeconds * 1000 > server.shutdown.delay + server.shutdown.timeout)
  const ports = new Map<string, number>(container.ports.map(({ name, containerPort }: any) => [name, containerPort]))
  t.same([ports.get('http'), ports.get('metrics')], [server.port, server.metrics?.port])

  const { app } = await createServer({ options: { databases: { shop: { url: 'mysql://root@127.0.0.1:1/shop' } } }, prefix: server.prefix, logLevel: 'silent' })
  t.teardown(() => app.close())
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    t.match((await app.inject(container[probe].httpGet.path)).json(), { status: /^(ok|unavailable)$/ }, probe)
    t.ok(ports.has(container[probe].httpGet.port), probe)
  }
})
