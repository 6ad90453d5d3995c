/** What documents are made with: names, texts, turns and the cache. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createDocumentCache } from '../../src/openapi/documents.ts'
import type { DocumentText } from '../../src/openapi/database-document.ts'
import { createNames, orNull, pascalCase, plainText } from '../../src/openapi/value-schema.ts'
import { createTurns } from '../../src/openapi/documents.ts'
import { overloaded, resultTooLarge } from '../../src/errors.ts'

const named: Array<[text: string, name: string]> = [
  ['orders', 'Orders'],
  ['order_items', 'OrderItems'],
  ['orderItems', 'OrderItems'],
  ['ORDER-ITEMS', 'OrderItems'],
  ['HTTPLogs', 'HttpLogs'],
  ['log2024', 'Log2024'],
  ['2024_logs', 'Table2024Logs'],
  ['Größe täglich', 'GroETaglich'],
  ['名前', 'Table'],
  ['', 'Table'],
  ['__proto__', 'Proto'],
  ['a.b/c d', 'ABCD']
]

for (const [text, name] of named) {
  t.test(`${JSON.stringify(text)} becomes ${name}`, async (t) => { t.equal(pascalCase(text), name) })
}

t.test('a name is reserved with all endings, case-insensitively, and numbered if in use', async (t) => {
  const names = createNames(['OrdersRow'])
  t.equal(names.take('Orders', ['Row', 'Insert']), 'Orders2')
  t.equal(names.take('orders', ['Insert', 'Update']), 'orders')
  t.equal(names.take('ORDERS', ['Update']), 'ORDERS2')
  t.equal(names.take('Other'), 'Other')
  t.equal(names.take('Other'), 'Other2')
  t.equal(names.take('Other'), 'Other3')
})

t.test('hundreds of equal names cost no more than others', async (t) => {
  const names = createNames([])
  const endings = ['Row', 'Insert', 'Update']
  let asked = 0
  const counting = {
    map: (each: (ending: string) => string) => endings.map((ending) => { asked++; return each(ending) })
  } as unknown as string[]
  const taken = Array.from({ length: 1000 }, () => names.take(pascalCase('名前'), counting))
  t.equal(new Set(taken).size, 1000)
  t.ok(asked < 10_000, `${asked} candidates`)
})

const escaped: Array<[text: string, written: string]> = [
  [
    'the price, in EUR; a < b, c <= d [deprecated] (see below)',
    'the price, in EUR; a < b, c <= d [deprecated] (see below)'
  ],
  ['<img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)>'],
  ['</script><script>', '&lt;/script>&lt;script>'],
  ['<!-- <?php <javascript:alert(1)>', '&lt;!-- &lt;?php &lt;javascript:alert(1)>'],
  [
    '[x](javascript:alert(1)) ![](http://example.com/x.png)',
    '[x]\\(javascript:alert(1)) ![]\\(http://example.com/x.png)'
  ],
  ['[x][y]\n[y]: javascript:alert(1)', '[x]\\[y]\n[y]\\: javascript:alert(1)']
]

for (const [text, written] of escaped) {
  t.test(`${JSON.stringify(text)} is escaped for Markdown`, async (t) => { t.equal(plainText(text), written) })
}

t.test('null is allowed once, however often it is allowed', async (t) => {
  for (const schema of [{ type: 'string' }, { type: 'string', enum: ['a'] }]) {
    t.same(orNull(orNull(schema))['type'], ['string', 'null'])
  }
})

t.test('two run at once, three wait in their order, and the next one is refused', async (t) => {
  const takeTurn = createTurns({ running: 2, waiting: 3 })
  const begun: number[] = []
  const ends: Array<PromiseWithResolvers<number>> = Array.from({ length: 7 }, () => Promise.withResolvers<number>())
  const take = (index: number): Promise<number> => takeTurn(async () => {
    begun.push(index)
    return await (ends[index] as PromiseWithResolvers<number>).promise
  })
  const all = [0, 1, 2, 3, 4].map(take)
  await t.rejects(take(5), { code: 'OVERLOADED' })
  t.same(begun, [0, 1])
  ends[1]?.resolve(1)
  t.equal(await all[1], 1)
  ends[0]?.reject(new Error('no'))
  await t.rejects(all[0] as Promise<number>, { message: 'no' })
  for (const index of [2, 3, 4]) ends[index]?.resolve(index)
  t.same(await Promise.all(all.slice(2)), [2, 3, 4])
  t.same(begun, [0, 1, 2, 3, 4])
  ends[6]?.resolve(6)
  t.equal(await take(6), 6, 'all places are free again')
})

// the cache

const documentOf = (size: number): DocumentText => ({ bytes: Buffer.alloc(size), etag: `"${size}"` })

/** Creates a cache that records the keys of created documents. */
function start (limit: number) {
  const cache = createDocumentCache(limit)
  const made: string[] = []
  const ask = (key: string, size = 10): Promise<DocumentText> => cache(key, async () => {
    made.push(key)
    await setImmediate()
    return documentOf(size)
  })
  return { cache, ask, made }
}

t.test('concurrent requests for a document create it once', async (t) => {
  const { ask, made } = start(100)
  const [first, second] = await Promise.all([ask('a'), ask('a')])
  t.equal(first, second)
  t.equal(await ask('a'), first)
  t.same(made, ['a'])
})

t.test('the least recently used document is removed at the limit', async (t) => {
  const { ask, made } = start(30)
  for (const key of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'b']) await ask(key)
  t.same(made, ['a', 'b', 'c', 'd', 'b'])
})

t.test('a large document replaces several small ones', async (t) => {
  const { ask, made } = start(30)
  for (const key of ['a', 'b', 'c']) await ask(key)
  await ask('large', 25)
  for (const key of ['large', 'c', 'b']) await ask(key)
  t.same(made, ['a', 'b', 'c', 'large', 'c', 'b'])
})

t.test('a document that is larger than the limit is cached alone', async (t) => {
  const { ask, made } = start(30)
  for (const key of ['a', 'huge', 'huge']) await ask(key, key === 'huge' ? 1000 : 10)
  t.same(made, ['a', 'huge'])
  for (const key of ['b', 'c', 'b', 'huge']) await ask(key)
  t.same(made, ['a', 'huge', 'b', 'c', 'huge'])
})

t.test('a document that is being created is not removed', async (t) => {
  const { ask, made } = start(5)
  await Promise.all([ask('a'), ask('b'), ask('c')])
  await ask('c')
  t.same(made, ['a', 'b', 'c'])
  await ask('a')
  t.same(made, ['a', 'b', 'c', 'a'])
})

t.test('a failure is not cached', async (t) => {
  const { cache, ask, made } = start(30)
  const fail = () => cache('a', async () => { throw new Error('not now') })
  await t.rejects(fail(), { message: 'not now' })
  await t.resolves(ask('a'))
  await t.resolves(fail(), 'cached now')
  t.same(made, ['a'])
})

t.test('that a document is too large is found out once, and forgotten like a document', async (t) => {
  const cache = createDocumentCache(20_000)
  const made: string[] = []
  const ask = (key: string, error: Error): Promise<unknown> => cache(key, async () => {
    made.push(key)
    throw error
  }).catch((error: Error) => error.message)
  for (const key of ['large', 'large']) t.match(await ask(key, resultTooLarge('it is')), 'it is')
  for (const key of ['busy', 'busy']) await ask(key, overloaded())
  t.same(made, ['large', 'busy', 'busy'])
  for (const key of ['b', 'c', 'large']) await ask(key, resultTooLarge('it is'))
  t.same(made, ['large', 'busy', 'busy', 'b', 'c', 'large'])
})
