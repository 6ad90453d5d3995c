import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createDeadlines } from '../../../src/dialects/mysql/deadlines.ts'
import { until } from '../../support/until.ts'

t.test('what is not over in time falls due, each after its own time', async (t) => {
  const due: string[] = []
  const deadlines = createDeadlines<string>(100, (thing) => { due.push(thing) })
  deadlines.add('first')
  await sleep(60)
  deadlines.add('second')
  await until('the first is due', async () => due.length > 0)
  t.same(due, ['first'])
  await until('the second is due', async () => due.length > 1)
  t.same(due, ['first', 'second'])
})

t.test('what is over does not fall due, and what comes after a rest does', async (t) => {
  const due: string[] = []
  const deadlines = createDeadlines<string>(20, (thing) => { due.push(thing) })
  deadlines.remove(deadlines.add('over'))
  await sleep(60)
  t.same(due, [])
  deadlines.add('late')
  await until('the late one is due', async () => due.length > 0)
  t.same(due, ['late'])
})
