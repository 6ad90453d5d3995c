import t from 'tap'
import { setImmediate } from 'node:timers/promises'
import { createDocumentCache } from '../../src/openapi/document-cache.ts'
import type { DocumentText } from '../../src/openapi/document-text.ts'

const documentOf = (size: number): DocumentText => ({ bytes: Buffer.alloc(size), etag: `"${size}"` })

/** A cache, and the keys whose documents were made. */
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

t.test('a document is made once, also for those who ask while it is being made', async (t) => {
  const { ask, made } = start(100)
  const [first, second] = await Promise.all([ask('a'), ask('a')])
  t.equal(first, second)
  t.equal(await ask('a'), first)
  t.same(made, ['a'])
})

t.test('beyond the limit the one that was asked for longest ago goes', async (t) => {
  const { ask, made } = start(30)
  for (const key of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'b']) await ask(key)
  t.same(made, ['a', 'b', 'c', 'd', 'b'])
})

t.test('the sizes count: a large one takes the place of several', async (t) => {
  const { ask, made } = start(30)
  for (const key of ['a', 'b', 'c']) await ask(key)
  await ask('large', 25)
  for (const key of ['large', 'c', 'b']) await ask(key)
  t.same(made, ['a', 'b', 'c', 'large', 'c', 'b'])
})

t.test('one that is larger than the limit is kept alone', async (t) => {
  const { ask, made } = start(30)
  for (const key of ['a', 'huge', 'huge']) await ask(key, key === 'huge' ? 1000 : 10)
  t.same(made, ['a', 'huge'])
  for (const key of ['b', 'c', 'b', 'huge']) await ask(key)
  t.same(made, ['a', 'huge', 'b', 'c', 'huge'])
})

t.test('one that is being made is not given up for another', async (t) => {
  const { ask, made } = start(5)
  await Promise.all([ask('a'), ask('b'), ask('c')])
  await ask('c')
  t.same(made, ['a', 'b', 'c'])
  await ask('a')
  t.same(made, ['a', 'b', 'c', 'a'])
})

t.test('what could not be made is made anew', async (t) => {
  const { cache, ask, made } = start(30)
  const fail = () => cache('a', async () => { throw new Error('not now') })
  await t.rejects(fail(), { message: 'not now' })
  await t.resolves(ask('a'))
  await t.resolves(fail(), 'kept now')
  t.same(made, ['a'])
})
