import t from 'tap'
import { createServer, type CreateServerOptions } from '../../src/server/server.ts'

const databases = { shop: { url: 'mysql://root@127.0.0.1:1/shop' } }

async function ask (options: Partial<CreateServerOptions['options']>, prefix = '/api') {
  const { app } = await createServer({ options: { databases, ...options }, prefix, logLevel: 'silent' })
  t.teardown(() => app.close())
  const answer = await app.inject('/')
  const links = Object.values<string>(answer.json().links)
  const statuses = await Promise.all(links.map(async (link) => [link, (await app.inject(link)).statusCode]))
  return { ...answer.json(), answer, statuses: Object.fromEntries(statuses), post: (await app.inject({ method: 'POST', url: '/' })).statusCode }
}

t.test('GET / names the service and has links that exist', async (t) => {
  const { answer, statuses, name, links, post } = await ask({ docs: true, openapi: 'public' }, '/rows')
  t.match(answer.headers, { 'content-type': 'application/json; charset=utf-8', 'x-request-id': String })
  t.same({ name, links }, { name: 'row-query', links: { docs: '/rows/docs', openapi: '/rows/openapi.json', live: '/health/live', ready: '/health/ready' } })
  t.same(statuses, { '/rows/docs': 200, '/rows/openapi.json': 200, '/health/live': 200, '/health/ready': 503 })
  t.equal(post, 404)
  t.notMatch(answer.body, /shop|\d+\.\d+/, 'no database and no version')
})

t.test('there is no link to what is off, and the prefix may be empty', async (t) => {
  t.same((await ask({ openapi: 'off' })).links, { live: '/health/live', ready: '/health/ready' })
  t.same((await ask({ docs: true }, '')).links, { docs: '/docs', openapi: '/openapi.json', live: '/health/live', ready: '/health/ready' })
})
