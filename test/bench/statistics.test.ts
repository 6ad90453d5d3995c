import t from 'tap'
import { median, percentile, spread } from '../../bench/measure/statistics.ts'

t.test('the median is the middle value, or halfway between the two in the middle', async (t) => {
  t.equal(median([3]), 3)
  t.equal(median([9, 1, 4]), 4)
  t.equal(median([10, 1, 4, 2]), 3)
})

t.test('a spread is the median with the least and the most, and leaves the list as it was', async (t) => {
  const values = [3, 1, 2]
  t.same(spread(values), { median: 2, min: 1, max: 3 })
  t.same(values, [3, 1, 2])
})

t.test('a percentile is a value that was seen, at or below which so many lie', async (t) => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
  t.equal(percentile(hundred, 0.5), 50)
  t.equal(percentile(hundred, 0.99), 99)
  t.equal(percentile(hundred, 1), 100)
  t.equal(percentile([7], 0.99), 7)
  t.equal(percentile([1, 2, 3], 0), 1)
})
