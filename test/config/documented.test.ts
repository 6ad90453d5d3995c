/** The tables of docs/configuration.md, and the schema that editors use, match the schemas of the settings. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import t from 'tap'
import { createConfigSchema } from '../../build/config-schema.ts'
import { ConfigSchema, OptionsSchema } from '../../schemas/options.ts'
import { ServerSchema } from '../../schemas/server-settings.ts'
import { ALIASES, FLAGS, loadConfig } from '../../src/config/load.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { splitConfig } from '../../src/config/split-config.ts'
import { OTHER_VARIABLES, type Variable, VARIABLES } from '../../src/config/substitute.ts'
import { codeBlocks, readDocument, ROOT, tableRows } from '../support/markdown.ts'

const document = readDocument('docs/configuration.md')
const code = (text: unknown): string => `\`${text}\``

/** The rows of a setting and of the settings that it contains. */
function rowsOf (name: string, schema: TSchema, required: boolean): string[][] {
  const { type, items, description } = schema
  // of a union, the object
  const { properties, patternProperties, required: needed = [] } = schema.anyOf?.find((each: TSchema) => each['properties'] !== undefined || each['patternProperties'] !== undefined) ?? schema
  const [record] = Object.values<TSchema>(patternProperties ?? {})
  const children = [
    // the operators of rules are described together, with `rows`
    ...Object.entries<TSchema>(properties ?? {}).filter(([key]) => !key.startsWith('$')).map(([key, child]): [string, TSchema, boolean] => [key, child, needed.includes(key)]),
    ...(record !== undefined ? [['<name>', record, false] as const] : []),
    ...(type === 'array' && items.type === 'object' ? [['<n>', items, false] as const] : [])
  ]
  // a group that is always there has no row, only its settings
  const isGroup = typeof schema.default === 'object' && !Array.isArray(schema.default)
  const own = description === undefined || isGroup ? [] : [[code(name), defaultOf(schema, required), allowed(schema), description]]
  return [...own, ...children.flatMap(([key, child, isNeeded]) => rowsOf(name === '' ? key : `${name}.${key}`, child, isNeeded))]
}

function defaultOf (schema: TSchema, required: boolean): string {
  if (required) return 'required'
  return schema.default === undefined || schema.default.length === 0 ? 'none' : code(schema.default)
}

function allowed (schema: TSchema): string {
  const { type, minimum, maximum, anyOf } = schema
  if (anyOf?.every((each: TSchema) => each.const !== undefined)) return anyOf.map((each: TSchema) => code(each.const)).join(', ')
  if (anyOf !== undefined) return anyOf.map((each: TSchema) => each.const === undefined ? allowed(each) : code(JSON.stringify(each.const))).join(' or ')
  if (type === 'integer') return maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`
  return ({ boolean: '`true`, `false`', string: 'string', number: 'number', null: '`null`', array: 'list', object: 'object' } as Record<string, string>)[type] as string
}

t.test('the tables of settings match the schemas', async (t) => {
  const rows = tableRows(document, 'setting', 'default', 'allowed', 'meaning')
  t.same(rows, rowsOf('', ConfigSchema, true))
  const own = document.slice(document.indexOf('Settings of the server:'))
  t.same(tableRows(own, 'setting', 'default', 'allowed', 'meaning'), rowsOf('', ServerSchema, true), 'the second table has the settings of the server')
})

/** The settings without a description, by their paths. */
function undescribed ({ properties = {}, patternProperties = {}, items, anyOf = [] }: TSchema, path = ''): string[] {
  const own = Object.entries<TSchema>(properties).flatMap(([name, each]) => [...each.description === undefined ? [`${path}.${name}`] : [], ...undescribed(each, `${path}.${name}`)])
  return [...own, ...[...Object.values<TSchema>(patternProperties), ...items === undefined ? [] : [items], ...anyOf].flatMap((each) => undescribed(each, path))]
}

t.test('each setting has a description, which editors show', async (t) => {
  // the operators of rules are described together, with `rows`
  for (const schema of [OptionsSchema, ConfigSchema]) t.same(undescribed(schema).filter((path) => !path.includes('.$')), [])
})

t.test('the table of variables and flags matches the code', async (t) => {
  const rows = tableRows(document, 'variable', 'flag', 'meaning', 'default')
  const named = new Map([...FLAGS.keys(), ...ALIASES.keys()].map((name) => [ALIASES.get(name) ?? name, name]))
  t.same(rows.map(([variable]) => variable).sort(), [...OTHER_VARIABLES, ...named.keys()].map(code).sort())
  const flags = rows.filter(([, flag]) => flag !== '').map(([variable, flag]) => [flag, variable])
  t.same(flags, [['--config', 'ROW_QUERY_CONFIG'], ...Array.from(FLAGS, ([name, flag]) => [flag, ALIASES.get(name) ?? name])].map((pair) => pair.map(code)))
  for (const [variable, name] of named) {
    const { path } = VARIABLES.get(name) as Variable
    const [, , meaning, fallback] = rows.find(([each]) => each === code(variable)) as string[]
    const schema = path.reduce((outer: TSchema, key) => outer['properties'][key], ConfigSchema)
    t.match(meaning, `${code(path.join('.'))} below`)
    t.equal(fallback, defaultOf(schema, false), variable)
  }
})

t.test('the table of the variables of settings matches the schemas', async (t) => {
  const rows = tableRows(document, 'variable', 'setting')
  t.same(rows, Array.from(VARIABLES, ([name, { path, ofDatabases }]) => [code(name), code([...ofDatabases ? ['databases.<name>'] : [], ...path].join('.'))]))
})

t.test('the example of a configuration file can be loaded', async (t) => {
  const [block] = codeBlocks(document).filter(({ kind }) => kind === 'json config')
  const path = `${t.testdir({ 'row-query.json': block?.text as string })}/row-query.json`
  const { config, demo } = loadConfig({}, { config: path })
  const { server: { port }, options } = splitConfig(config)
  t.match({ port, demo }, { port: 8080, demo: undefined })
  t.match(resolveSettings(options), { databases: [{ name: 'shop' }, { name: 'crm', pool: { size: 20 } }], tokens: [{ grant: { name: 'reports' } }], rateLimit: { max: 600 } })
})

// the schema of the configuration file, as an editor uses it

const editorSchema = createConfigSchema() as typeof ConfigSchema
const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(JSON.stringify(editorSchema)))
const errorsOf = (config: unknown): string[] => validate(config) ? [] : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)

t.test('the configurations of the documents and examples are valid', async (t) => {
  const blocks = codeBlocks(readDocument('docs/configuration.md')).filter(({ kind }) => kind === 'json config' || kind === 'json secrets').map(({ text }) => text)
  t.equal(blocks.length, 2)
  for (const text of [...blocks, ...['row-query.json', 'container/row-query.json'].map((name) => readFileSync(join(ROOT, 'examples', name), 'utf8'))]) t.same(errorsOf(JSON.parse(text)), [], text)
})

t.test('it has every setting, and $schema', async (t) => {
  t.same(Object.keys(editorSchema.properties), ['$schema', ...Object.keys(ConfigSchema.properties)])
  t.equal(JSON.stringify(editorSchema).includes('"description":"maximum number of connections"'), true, 'with the descriptions')
})

t.test('what the service would refuse is marked, and references are not', async (t) => {
  const shop = { url: 'sqlite:shop.db' }
  t.same(errorsOf({ databases: { shop }, prot: 1 }), [' additionalProperties'])
  t.same(errorsOf({ databases: { shop: { ...shop, pool: { size: 0 } } } }), ['/databases/shop/pool/size minimum'])
  t.same(errorsOf({ databases: {} }), ['/databases minProperties'])
  const token = { name: 'x', permissions: ['select'] }
  t.same(errorsOf({ databases: { shop }, tokens: [{ ...token, sha256: 'short' }] }), ['/tokens/0/sha256 pattern'])
  t.same(errorsOf({ databases: { shop }, tokens: [{ ...token, sha256: '$' + '{HASH}' }], prefix: '$' + '{file:prefix}' }), [])
})
