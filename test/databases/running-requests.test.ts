import t from 'tap'
import { RunningRequests } from '../../src/databases/running-requests.ts'

t.test('closing waits until no request runs, also one that began meanwhile', async (t) => {
  const running = new RunningRequests()
  await running.ended(60_000)
  running.begin()
  const ended = running.ended(60_000)
  running.begin()
  running.end()
  t.equal(await Promise.race([ended, 'it waits']), 'it waits')
  running.end()
  await ended
})

t.test('closing does not wait longer than its time limit', async () => {
  const running = new RunningRequests()
  running.begin()
  await running.ended(20)
})
