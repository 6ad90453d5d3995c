import t from 'tap'
import { onEachEngine, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

/** A UUID (RFC 9562) and a number. */
const OURS = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[1-9]\d*$/

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('every response has its own request id', async (t, { post, server }) => {
  const answers = [
    await post('customers', { verb: 'select' }),
    await post('customers', { verb: 'nothing' }),
    await post('customers', 'no JSON'),
    await post('nope', { verb: 'select' }),
    await post('customers', { verb: 'select' }, { token: null }),
    await post('customers', '', { method: 'GET' }),
    await server.app.inject({ method: 'POST', url: '/elsewhere' }),
    await server.app.inject({ method: 'POST', url: '/api/too/many/parts', headers: { authorization: `Bearer ${TOKEN}` } }),
    await server.app.inject({ method: 'POST', url: '/api/shop/%' })
  ]
  const ids = answers.map(({ headers }) => headers['x-request-id'] as string)
  for (const id of ids) t.match(id, OURS)
  t.equal(new Set(ids).size, ids.length)
})

await testShop('a valid request id is kept, for successes and errors', async (t, { post }) => {
  for (const id of ['a', 'trace-1 of "2"; ~', 'x'.repeat(128)]) {
    for (const [body, options] of [[{ verb: 'select' }, {}], [{ verb: 'nothing' }, {}], [{}, { token: null }]] as const) {
      const { headers } = await post('customers', body, { ...options, headers: { 'x-request-id': id } })
      t.equal(headers['x-request-id'], id)
    }
  }
})

await testShop('an invalid request id is replaced: empty, too long or not printable ASCII', async (t, { post }) => {
  for (const id of ['', 'x'.repeat(129), 'tab\there', 'ümlaut', '\x7f']) {
    const { headers } = await post('customers', { verb: 'select' }, { headers: { 'x-request-id': id } })
    t.match(headers['x-request-id'], OURS, JSON.stringify(id))
  }
})

await onEachEngine(t, 'the log contains the request id and no other header', { schema: shop, options: { requestLog: true } }, async (t, { post, log }) => {
  log.splice(0)
  await post('customers', { verb: 'select' }, { headers: { 'x-request-id': 'find-me' } })
  const lines = log.map((line) => JSON.parse(line))
  t.equal(lines.length, 1)
  t.match(lines[0], { requestId: 'find-me', status: 200 })
  t.notMatch(log.join(''), new RegExp(`${TOKEN}|application/json|Bearer`))
})
