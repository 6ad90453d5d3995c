import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createDeadlines } from '../../src/dialects/time-limits.ts'
import { until } from '../support/until.ts'

t.test('what is not over in time falls due, each after its own time', async (t) => {
  const due: string[] = []
  const deadlines = createDeadlines<string>(100, { onDue: ({ thing }) => { due.push(thing) } })
  deadlines.push('first')
  await sleep(60)
  deadlines.push('second')
  await until('the first is due', async () => due.length > 0)
  t.same(due, ['first'])
  await until('the second is due', async () => due.length > 1)
  t.same(due, ['first', 'second'])
})

t.test('what is over does not fall due, and what comes after a rest does', async (t) => {
  const due: string[] = []
  const deadlines = createDeadlines<string>(20, { onDue: ({ thing }) => { due.push(thing) } })
  deadlines.remove(deadlines.push('over'))
  await sleep(60)
  t.same(due, [])
  deadlines.push('late')
  await until('the late one is due', async () => due.length > 0)
  t.same(due, ['late'])
})

t.test('what is in is looked at now and then, and falls due all the same', async (t) => {
  const seen: string[] = []
  const deadlines = createDeadlines<string>(250, { onDue: ({ thing }) => { seen.push(`${thing} is due`) }, onLook: (thing) => { seen.push(thing) } })
  deadlines.push('it')
  await until('it is due', async () => seen.includes('it is due'))
  t.equal(seen.at(-1), 'it is due')
  t.ok(seen.length > 1 && seen.length < 5, seen.join())
})
