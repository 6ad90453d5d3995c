import t from 'tap'
import { requestId } from '../../plugins/request-id.ts'
import { onEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

/** 128 random bits. */
const OURS = /^[0-9a-f]{32}$/

/** The number of bits that differ. */
const distance = (a: string, b: string): number => (BigInt(`0x${a}`) ^ BigInt(`0x${b}`)).toString(2).replaceAll('0', '').length

await onEachEngine(t, 'every response has its own request id', { schema: shop }, async (t, { post, server }) => {
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

t.test('ids do not count requests: none tells how many came before it', async (t) => {
  const ids = Array.from({ length: 2000 }, () => requestId({}))
  t.equal(new Set(ids).size, ids.length)
  // 64 of 128 bits differ between two random ids; fewer than 24 do in one of 10^13 pairs
  for (const step of [1, 2, 256]) t.ok(ids.slice(step).every((id, index) => distance(id, ids[index] as string) >= 24), `${step} requests later`)
})

await onEachEngine(t, 'a valid request id is kept, for successes and errors', { schema: shop }, async (t, { post }) => {
  for (const id of ['a', 'trace-1 of "2"; ~', 'x'.repeat(128)]) {
    for (const [body, options] of [[{ verb: 'select' }, {}], [{ verb: 'nothing' }, {}], [{}, { token: null }]] as const) {
      const { headers } = await post('customers', body, { ...options, headers: { 'x-request-id': id } })
      t.equal(headers['x-request-id'], id)
    }
  }
})

await onEachEngine(t, 'an invalid request id is replaced: empty, too long or not printable ASCII', { schema: shop }, async (t, { post }) => {
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
