import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createTimeoutQueue } from '../../src/dialects/timeout-queue.ts'
import { until } from '../support/until.ts'

t.test('each value times out after its own time', async (t) => {
  const expired: string[] = []
  const timeouts = createTimeoutQueue<string>(500, { onTimeout: ({ value }) => { expired.push(value) } })
  timeouts.push('first')
  await sleep(300)
  timeouts.push('second')
  await until('the first times out', async () => expired.length > 0)
  t.same(expired, ['first'])
  await until('the second times out', async () => expired.length > 1)
  t.same(expired, ['first', 'second'])
})

t.test('a removed value does not time out, and one that is added later does', async (t) => {
  const expired: string[] = []
  const timeouts = createTimeoutQueue<string>(20, { onTimeout: ({ value }) => { expired.push(value) } })
  timeouts.remove(timeouts.push('over'))
  await sleep(60)
  t.same(expired, [])
  timeouts.push('late')
  await until('the late one times out', async () => expired.length > 0)
  t.same(expired, ['late'])
})

t.test('a value is checked at an interval until it times out', async (t) => {
  const seen: string[] = []
  const timeouts = createTimeoutQueue<string>(250, { onTimeout: ({ value }) => { seen.push(`${value} timed out`) }, onCheck: (value) => { seen.push(value) } })
  timeouts.push('it')
  await until('it times out', async () => seen.includes('it timed out'))
  t.equal(seen.at(-1), 'it timed out')
  t.ok(seen.length > 1 && seen.length < 5, seen.join())
})
