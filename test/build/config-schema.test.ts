/** The schema of the configuration file, as an editor uses it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { createConfigSchema } from '../../build/config-schema.ts'
import { ConfigSchema } from '../../schemas/options.ts'
import { codeBlocks, readDocument, ROOT } from '../support/markdown.ts'

const schema = createConfigSchema() as typeof ConfigSchema
const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(JSON.stringify(schema)))
const errorsOf = (config: unknown): string[] => validate(config) ? [] : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)

t.test('the configurations of the documents and examples are valid', async (t) => {
  const blocks = codeBlocks(readDocument('docs/configuration.md')).filter(({ kind }) => kind === 'json config' || kind === 'json secrets').map(({ text }) => text)
  t.equal(blocks.length, 2)
  for (const text of [...blocks, ...['row-query.json', 'container/row-query.json'].map((name) => readFileSync(join(ROOT, 'examples', name), 'utf8'))]) t.same(errorsOf(JSON.parse(text)), [], text)
})

t.test('it has every setting, and $schema', async (t) => {
  t.same(Object.keys(schema.properties), ['$schema', ...Object.keys(ConfigSchema.properties)])
  t.equal(JSON.stringify(schema).includes('"description":"maximum number of connections"'), true, 'with the descriptions')
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
