/** The setting `openapiInfo`: what documents say of the service. */
import t from 'tap'
import { Validator } from '@seriousme/openapi-schema-validator'
import { createRowQuery } from '../../src/index.ts'
import { get } from '../support/documents.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const openapiInfo = {
  title: 'Acme rows',
  description: 'Rows of *Acme*.',
  version: '2.1.0',
  termsOfService: 'https://acme.example/terms',
  license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
  contact: { name: 'Ada', url: 'https://acme.example', email: 'ada@acme.example' },
  servers: [{ url: 'https://rows.acme.example/api', description: 'production' }, { url: '/api' }]
}
const { servers, ...info } = openapiInfo

await onEachEngine(t, 'the title, description, licence, contact and servers of documents can be set', { schema: shop, only: ['sqlite'], options: { openapiInfo } }, async (t, { server, url }) => {
  const [own, shopDocument] = await Promise.all(['/openapi.json', '/shop/openapi.json'].map((path) => get(server, path)))
  t.same(own?.json.info, info)
  t.same(shopDocument?.json.info, { ...info, title: 'Acme rows: shop' })
  for (const answer of [own, shopDocument]) {
    t.same(answer?.json.servers, servers)
    t.match(await new Validator().validate(structuredClone(answer?.json)), { valid: true })
  }
  const config = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } }, openapiInfo }) })
  const { stdout } = await runRowQuery(t, ['openapi', 'shop', '--config', `${config}/row-query.json`])
  t.same(JSON.parse(stdout), shopDocument?.json, 'row-query openapi prints them too')
})

await onEachEngine(t, 'what is not set stays as it was', { schema: shop, only: ['sqlite'], options: { openapiInfo: { title: 'Acme' } } }, async (t, { server }) => {
  t.match((await get(server, '/shop/openapi.json')).json, { info: { title: 'Acme: shop', version: '1.0.0', description: /^Reads and changes rows/, license: { name: 'Not stated' } }, servers: [{ url: '/api' }] })
})

t.test('a licence has an identifier or a URL', async (t) => {
  const license = { name: 'Own', identifier: 'LicenseRef-own', url: 'https://acme.example/licence' }
  const create = (own: object) => () => createRowQuery({ databases: { shop: { url: 'sqlite::memory:' } }, openapiInfo: own })
  t.throws(create({ license }), /openapiInfo\.license: cannot have both identifier and url/)
  t.throws(create({ contact: { email: 'ada' } }), /openapiInfo\.contact\.email/)
  t.throws(create({ licence: license }), /openapiInfo\.licence/)
})
