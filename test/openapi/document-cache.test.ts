import t from 'tap'
import { setImmediate } from 'node:timers/promises'
import { overloaded, resultTooLarge } from '../../src/errors.ts'
import { createDocumentCache } from '../../src/openapi/document-cache.ts'
import type { DocumentText } from '../../src/openapi/document-text.ts'

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
