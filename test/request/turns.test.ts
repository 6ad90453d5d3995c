/** Bodies that are not small, in turns of the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { inOwnTurn } from '../../src/request/body-budget.ts'

/** Durations are those that `work` says; a pause ends when the test calls `go`. */
function ownTime (t: { teardown (end: () => void): void }) {
  const real = { setTimeout: globalThis.setTimeout, now: performance.now }
  let now = 1000
  const pauses: Array<{ readonly delay: number, readonly go: () => void }> = []
  performance.now = () => now
  globalThis.setTimeout = ((go: () => void, delay: number) => { pauses.push({ delay, go }) }) as never
  t.teardown(() => {
    globalThis.setTimeout = real.setTimeout
    performance.now = real.now
  })
  return { pauses, take: (milliseconds: number) => { now += milliseconds } }
}

const turns = async (count: number): Promise<void> => { for (let turn = 0; turn < count; turn++) await nextTurn() }

t.test('after what has taken long, short requests have several turns of the event loop', async (t) => {
  const { pauses, take } = ownTime(t)
  const done: number[] = []
  for (let index = 0; index < 3; index++) {
    inOwnTurn('a', () => {
      done.push(index)
      take(120)
    })
  }
  await turns(20)
  t.same([done, pauses.map(({ delay }) => delay)], [[0], [30]])
  pauses[0]?.go()
  await turns(20)
  t.same([done, pauses.length], [[0, 1], 2])
  pauses[1]?.go()
  await turns(20)
  t.same([done, pauses.length], [[0, 1, 2], 2], 'and none after the last')
  inOwnTurn('a', () => { take(600_000) })
  inOwnTurn('a', () => { done.push(3) })
  await turns(20)
  t.same(pauses[2]?.delay, 50, 'at most')
  pauses[2]?.go()
  await turns(20)
  t.same(done, [0, 1, 2, 3])
})

t.test('what takes little time goes on, each in a turn of its own', async (t) => {
  const { pauses, take } = ownTime(t)
  const done: number[] = []
  for (let index = 0; index < 6; index++) {
    inOwnTurn('a', () => {
      done.push(index)
      take(5)
    })
  }
  await turns(1)
  t.same(done, [0])
  await turns(20)
  t.same([done, pauses.map(({ delay }) => delay)], [[0, 1, 2, 3], [5]])
  pauses[0]?.go()
  await turns(20)
  t.same(done, [0, 1, 2, 3, 4, 5])
})

t.test('callers have their turns in turns', async (t) => {
  ownTime(t)
  const done: string[] = []
  for (const caller of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) inOwnTurn(caller, () => { done.push(caller) })
  await turns(30)
  t.equal(done.join(''), 'abcabaa')
})

t.test('one that fails does not keep the others', async (t) => {
  ownTime(t)
  const done: number[] = []
  const failures: unknown[] = []
  const real = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.once('uncaughtException', (error) => { failures.push(error) })
  inOwnTurn('a', () => { throw new Error('of the work') })
  inOwnTurn('a', () => { done.push(1) })
  await turns(20)
  process.removeAllListeners('uncaughtException')
  for (const each of real) process.on('uncaughtException', each)
  t.match(failures, [{ message: 'of the work' }])
  t.same(done, [1])
})
