import t from 'tap'
import { limitStreams, Streams } from '../../src/databases/streams.ts'

const stream = () => ({ fail () {} })

t.test('streams take half of the pool at most, those of one caller half of that, and both at least one', async (t) => {
  const rows: Array<[most: number, poolSize: number, ofCaller: number, ofAll: number]> = [
    [2, 1, 1, 1], [2, 2, 1, 1], [2, 3, 1, 1], [2, 4, 1, 2], [2, 8, 2, 4], [2, 10, 2, 5], [2, 15, 2, 7], [2, 16, 2, 8],
    [2, 100, 2, 8],
    [1, 10, 1, 4], [1, 100, 1, 4], [100, 10, 2, 5], [100, 100, 25, 50]
  ]
  for (const [most, poolSize, ofCaller, ofAll] of rows) {
    t.same(
      limitStreams(most, poolSize), { ofCaller, ofAll }, `${most} of ${poolSize}`
    )
  }
})

t.test('imports have a limit of their own within that of both', async (t) => {
  const streams = new Streams({ ofCaller: 2, ofAll: 3 }, {
    imports: { ofCaller: 1, ofAll: 2 }, both: { ofCaller: 2, ofAll: 3 }
  })
  streams.add(stream(), 'a', 'imports')
  t.throws(() => streams.add(stream(), 'a', 'imports'), { code: 'OVERLOADED', message: /imports/ })
  streams.add(stream(), 'a')
  t.throws(() => streams.add(stream(), 'a'), { code: 'OVERLOADED', message: /streams and imports/ }, 'two of both')
  streams.add(stream(), 'b')
  t.throws(() => streams.add(stream(), 'c', 'imports'), { code: 'OVERLOADED' }, 'three of both by all')
  t.same([streams.count('imports'), streams.running], [1, 2])
})

t.test('a caller that has all of its streams keeps no other one out, until there are too many of all', async (t) => {
  const streams = new Streams({ ofCaller: 2, ofAll: 3 })
  const [first, second, third] = [stream(), stream(), stream()]
  streams.add(first, 'a')
  streams.add(second, 'a')
  t.throws(() => streams.add(stream(), 'a'), { code: 'OVERLOADED', statusCode: 503 })
  streams.add(third, 'b')
  t.throws(() => streams.add(stream(), 'c'), { code: 'OVERLOADED' })
  streams.remove(first)
  streams.add(stream(), 'c')
  streams.remove(third)
  streams.add(stream(), 'a')
  t.equal(streams.running, 3)
})
