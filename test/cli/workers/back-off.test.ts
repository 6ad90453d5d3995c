import t from 'tap'
import { nextPause } from '../../../src/cli/workers/workers.ts'

t.test('the pause doubles up to half a minute, and starts again after a worker that has run for a minute', async (t) => {
  const pauses: number[] = []
  for (let count = 0; count < 11; count++) pauses.push(nextPause(pauses.at(-1), 59_999))
  t.same(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
  t.equal(nextPause(30_000, 60_000), 100)
})
