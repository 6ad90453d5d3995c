import t from 'tap'
import { createRandom } from '../../src/demo/random.ts'

t.test('the generator is mulberry32: its draws are known numbers on every machine', async (t) => {
  const random = createRandom(0)
  const draws = [1, 2, 3].map(() => random.integer(0, 2 ** 32 - 1))
  t.strictSame(draws, [1144304738, 1416247, 958946056])
})

t.test('integers reach both ends of their range and stay inside', async (t) => {
  const random = createRandom(1)
  const drawn = new Set(Array.from({ length: 200 }, () => random.integer(-1, 2)))
  t.strictSame([...drawn].sort((a, b) => a - b), [-1, 0, 1, 2])
})

t.test('a pick is a member of the list', async (t) => {
  const random = createRandom(2)
  const drawn = new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c'])))
  t.strictSame([...drawn].sort(), ['a', 'b', 'c'])
})

t.test('a sample repeats nothing and leaves its list as it was', async (t) => {
  const list = Object.freeze([1, 2, 3, 4, 5])
  const sample = createRandom(3).sample(list, 5)
  t.strictSame([...sample].sort(), [1, 2, 3, 4, 5])
  t.strictSame(createRandom(3).sample(list, 0), [])
})

t.test('a sample does not flatten members that are lists', async (t) => {
  t.strictSame(createRandom(4).sample([[1, 2]], 1), [[1, 2]])
})

t.test('a chance is never at 0 percent, always at 100 and now and then between', async (t) => {
  const random = createRandom(5)
  const often = (percent: number) => Array.from({ length: 1000 }, () => random.chance(percent)).filter(Boolean).length
  t.equal(often(0), 0)
  t.equal(often(100), 1000)
  const third = often(33)
  t.ok(third > 270 && third < 390, `about a third: ${third}`)
})
