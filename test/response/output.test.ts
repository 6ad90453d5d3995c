import t from 'tap'
import { Output } from '../../src/response/output.ts'

t.test('a part of another output is copied as long as it fits', async (t) => {
  for (const size of [10, 100]) {
    const output = new Output()
    output.maxBytes = 2 * size
    const bytes = Buffer.alloc(size + 1, 'x')
    output.copy(bytes, 0, size)
    output.copy(bytes, 1, size + 1)
    t.equal(output.length, 2 * size, 'exactly')
    output.copy(bytes, 0, 1)
    t.equal(output.length, Infinity, 'one byte more')
    output.copy(bytes, 0, 0)
    t.equal(output.length, Infinity)
  }
})
