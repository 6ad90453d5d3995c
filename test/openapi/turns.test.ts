import t from 'tap'
import { createTurns } from '../../src/openapi/turns.ts'

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
