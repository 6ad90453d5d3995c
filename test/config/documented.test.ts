/**
 * The tables of docs/configuration.md and of its reference, and the schema that editors use, match the schemas of the
 * settings.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import t from 'tap'
import { createConfigSchema } from '../../build/config-schema.ts'
import { TABLES, writeTables } from '../../build/configuration-doc.ts'
import { ConfigSchema, OptionsSchema } from '../../schemas/options.ts'
import { loadConfig, splitConfig } from '../../src/config/load.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { ALIASES, FLAGS, OTHER_VARIABLES, type Variable, VARIABLES } from '../../src/config/variables.ts'
import { codeBlocks, readDocument, ROOT, tableRows } from '../support/markdown.ts'

const guide = readDocument('docs/configuration.md')
const document = readDocument('docs/configuration-reference.md')
const code = (text: string): string => `\`${text}\``
const pathOf = ({ path, ofDatabases }: Variable): string =>
  [...ofDatabases ? ['databases.<name>'] : [], ...path].join('.')

t.test('the tables are those that npm run docs writes', async (t) => {
  for (const [name, tables] of TABLES) {
    const text = readDocument(`docs/${name}`)
    t.equal(writeTables(text, tables), text, `${name}, after a change of a setting: npm run docs`)
  }
  t.throws(() => writeTables(document.replace('settings of the server, by npm run docs', ''), TABLES.get(
    'configuration-reference.md'
  ) as Map<string, string>), { message: /no place for the table: settings of the server/ })
})

t.test('the tables have each setting, with its default, what is allowed and its meaning', async (t) => {
  const rows = tableRows(document, 'setting', 'default', 'allowed', 'meaning')
  const named = new Map(rows.map(([name = '', ...cells]) => [name, cells]))
  t.equal(named.size, rows.length, 'each has one row')
  const isNamed = (path: string): boolean => path.startsWith('openapiInfo.')
    ? document.includes(code(path))
    : named.has(code(path))
  t.same(Array.from(VARIABLES.values(), pathOf).filter((path) => !isNamed(path)), [])
  t.same(named.get('`databases.<name>.pool.size`'), ['`10`', '1–1000', 'maximum number of connections'])
  t.same(named.get('`databases.<name>.url`')?.slice(0, 2), ['required', 'string'])
  t.same(named.get('`tokens.<n>.databases`')?.slice(0, 2), ['', '`"*"` or object'])
  t.same(named.get('`openapi`')?.slice(0, 2), ['`token`', '`token`, `public`, `off`'])
  t.same(named.get('`metrics`')?.slice(0, 2), ['`false`', 'boolean or object'])
  t.same(named.get('`bodyLimit`')?.slice(0, 2), ['`1048576`', '1 or more'])
  const own = document.slice(document.indexOf('## Settings of the server'))
  t.equal(
    tableRows(own, 'setting', 'default', 'allowed', 'meaning')[0]?.[0], '`host`',
    'the second table has the settings of the server'
  )
})

/** The settings without a description, by their paths. */
function undescribed ({ properties = {}, patternProperties = {}, items, anyOf = [] }: TSchema, path = ''): string[] {
  const own = Object.entries<TSchema>(properties).flatMap(([name, each]) => [
    ...each.description === undefined ? [`${path}.${name}`] : [], ...undescribed(each, `${path}.${name}`)
  ])
  return [...own, ...[
    ...Object.values<TSchema>(patternProperties), ...items === undefined ? [] : [items], ...anyOf
  ].flatMap((each) => undescribed(each, path))]
}

t.test('each setting has a description, which editors show', async (t) => {
  // the operators of rules are described together, with `rows`
  for (const schema of [OptionsSchema, ConfigSchema]) {
    t.same(
      undescribed(schema).filter((path) => !path.includes('.$')), []
    )
  }
})

t.test('the tables have each variable and flag', async (t) => {
  const rows = tableRows(guide, 'variable', 'flag', 'meaning', 'default')
  const named = new Map([...FLAGS.keys(), ...ALIASES.keys()].map((name) => [ALIASES.get(name) ?? name, name]))
  t.same(rows.map(([variable]) => variable).sort(), [...OTHER_VARIABLES, ...named.keys()].map(code).sort())
  const flags = rows.filter(([, flag]) => flag !== '').map(([variable, flag]) => [variable, flag])
  t.same(flags.sort(), [
    ['ROW_QUERY_CONFIG', '--config'], ...Array.from(FLAGS, ([name, flag]) => [ALIASES.get(name) ?? name, flag])
  ].map((pair) => pair.map(code)).sort())
  t.same(rows.find(([variable]) => variable === '`PORT`'), ['`PORT`', '`--port`', '`port`', '`3000`'])
  t.same(rows.find(([variable]) => variable === '`PATH_PREFIX`'), [
    '`PATH_PREFIX`', '', '`prefix`; may be empty', '`/api`'
  ])
  const byRule = (path: string): string =>
    `ROW_QUERY_${path.replace('databases.<name>.', '').replaceAll('.', '_').replace(/[A-Z]/g, '_$&').toUpperCase()}`
  t.same(
    [...VARIABLES.keys()], Array.from(VARIABLES.values(), (variable) => byRule(pathOf(variable))),
    'the others by the rule of the guide'
  )
})

t.test('the example of a configuration file can be loaded', async (t) => {
  const [block] = codeBlocks(guide).filter(({ kind }) => kind === 'json config')
  const path = `${t.testdir({ 'row-query.json': block?.text as string })}/row-query.json`
  const { config, demo } = loadConfig({}, { config: path })
  const { server: { port }, options } = splitConfig(config)
  t.match({ port, demo }, { port: 8080, demo: undefined })
  t.match(resolveSettings(options), {
    databases: [{ name: 'shop' }, { name: 'crm', pool: { size: 20 } }],
    tokens: [{ grant: { name: 'reports' } }],
    rateLimit: { max: 600 }
  })
})

// the schema of the configuration file, as an editor uses it

const editorSchema = createConfigSchema() as typeof ConfigSchema
const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(JSON.stringify(editorSchema)))
const errorsOf = (config: unknown): string[] =>
  validate(config) ? [] : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)

t.test('the configurations of the documents and examples are valid', async (t) => {
  const blocks = codeBlocks(readDocument('docs/configuration.md')).filter(
    ({ kind }) => kind === 'json config' || kind === 'json secrets'
  ).map(({ text }) => text)
  t.equal(blocks.length, 2)
  for (const text of [...blocks, ...[
    'row-query.json', 'container/row-query.json'
  ].map((name) => readFileSync(join(ROOT, 'examples', name), 'utf8'))]) t.same(errorsOf(JSON.parse(text)), [], text)
})

t.test('it has every setting, and $schema', async (t) => {
  t.same(Object.keys(editorSchema.properties), ['$schema', ...Object.keys(ConfigSchema.properties)])
  t.equal(
    JSON.stringify(editorSchema).includes('"description":"maximum number of connections"'), true,
    'with the descriptions'
  )
})

t.test('what the service would refuse is marked, and references are not', async (t) => {
  const shop = { url: 'sqlite:shop.db' }
  t.same(errorsOf({ databases: { shop }, prot: 1 }), [' additionalProperties'])
  t.same(errorsOf({ databases: { shop: { ...shop, pool: { size: 0 } } } }), ['/databases/shop/pool/size minimum'])
  t.same(errorsOf({ databases: {} }), ['/databases minProperties'])
  const token = { name: 'x', permissions: ['select'] }
  t.same(errorsOf({ databases: { shop }, tokens: [{ ...token, sha256: 'short' }] }), ['/tokens/0/sha256 pattern'])
  t.same(
    errorsOf({ databases: { shop }, tokens: [{ ...token, sha256: '$' + '{HASH}' }], prefix: '$' + '{file:prefix}' }), []
  )
})
