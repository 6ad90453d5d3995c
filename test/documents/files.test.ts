/** The files that the documents show are loaded, and what they name is looked up. */
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import t from 'tap'
import { COMMANDS } from '../../src/cli/commands.ts'
import { loadConfig } from '../../src/config/load.ts'
import { splitConfig } from '../../src/config/split-config.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

// the parser of a dependency
const { parse } = createRequire(createRequire(import.meta.url).resolve('@fastify/swagger'))('yaml') as { parse (text: string): any }

function blockOf (document: string, kind: string): string {
  const [block, ...others] = codeBlocks(readDocument(document)).filter((each) => each.kind === kind)
  if (block === undefined || others.length > 0) throw new Error(`${document} has not one block ${kind}`)
  return block.text
}

t.test('docs/configuration.md: secrets of variables and files', async (t) => {
  const folder = t.testdir({ url: 'mysql://shop:secret@127.0.0.1:3306/shop\n' })
  writeFileSync(`${folder}/row-query.json`, blockOf('docs/configuration.md', 'json secrets').replace('/run/secrets/shop-url', `${folder}/url`))
  const { config } = loadConfig({ CRM_PASSWORD: 'hidden' }, { config: `${folder}/row-query.json` })
  t.match(config, { databases: { shop: { url: 'mysql://shop:secret@127.0.0.1:3306/shop' }, crm: { url: 'mysql://crm:hidden@db.example.com/crm_v2' } } })
  t.throws(() => loadConfig({}, { config: `${folder}/row-query.json` }), /CRM_PASSWORD/)
})

t.test('docs/grants.md: the entry of a token', async (t) => {
  const token = JSON.parse(blockOf('docs/grants.md', 'json token'))
  const folder = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url: 'mysql://127.0.0.1/shop' } }, tokens: [token] }) })
  const { options } = splitConfig(loadConfig({}, { config: `${folder}/row-query.json` }).config)
  t.match(resolveSettings(options).tokens, [{ grant: { name: 'acme' } }])
})

t.test('docs/mcp.md: the configuration, and those of clients', async (t) => {
  const folder = t.testdir({ 'row-query.json': blockOf('docs/mcp.md', 'json mcp') })
  const { options } = splitConfig(loadConfig({}, { config: `${folder}/row-query.json` }).config)
  t.match(resolveSettings(options), { mcp: { verbs: ['select', 'update'], resultLimit: 262_144 }, limits: { changed: 100 }, tokens: [{ grant: { name: 'assistant' } }] })
  const [, command, ...args] = JSON.parse(blockOf('docs/mcp.md', 'json stdio')).mcpServers.shop.args
  t.equal(command, 'mcp')
  t.match(parseArgs({ args, options: COMMANDS.mcp.flags }).values, { config: /^\//, 'token-name': 'assistant' })
  for (const [kind, key] of [['json http', 'mcpServers'], ['json vscode', 'servers']] as const) {
    t.match(JSON.parse(blockOf('docs/mcp.md', kind))[key].shop, { type: 'http', url: /\/api\/mcp$/, headers: { Authorization: /^Bearer / } })
  }
})

t.test('the statements for the account of docs/configuration.md and README.md grant the same privileges', async (t) => {
  const [one, other] = ['docs/configuration.md', 'README.md'].map((document) => blockOf(document, 'sql account').match(/GRANT (.*) ON/)?.[1])
  t.equal(one, 'SELECT, INSERT, UPDATE, DELETE')
  t.equal(other, one)
})

t.test('docs/operations.md: the probes of Kubernetes and the address of the metrics are those of the server', async (t) => {
  const { terminationGracePeriodSeconds: grace, containers: [{ readinessProbe, livenessProbe }] } = parse(blockOf('docs/operations.md', 'yaml kubernetes'))
  const [shutdown = ''] = /"shutdown": (\{[^}]*\})/.exec(readDocument('docs/operations.md'))?.slice(1) ?? []
  const { delay, timeout } = JSON.parse(shutdown) as { delay: number, timeout: number }
  t.ok(grace * 1000 > delay + timeout)
  const server = await serveRowQuery(t, { env: { API_TOKEN: TOKEN } })
  for (const { httpGet } of [readinessProbe, livenessProbe]) {
    t.equal(httpGet.port, 3000, 'the default port')
    t.equal((await fetch(server.address + httpGet.path)).status, 200, httpGet.path)
  }
  const { scrape_configs: [{ static_configs: [{ targets }] }] } = parse(blockOf('docs/operations.md', 'yaml scrape'))
  const [, port] = /"metrics": \{ "port": (\d+) \}/.exec(readDocument('docs/operations.md')) ?? []
  t.same(targets.map((target: string) => target.split(':')[1]), [port])
})

t.test('docs/operations.md: the alerts have names, expressions and metrics that exist', async (t) => {
  const { groups } = parse(blockOf('docs/operations.md', 'yaml alerts'))
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
