/** Queues of requests and of time limits. */
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { Waiters } from '../../src/dialects/waiters.ts'
import { watch } from '../../src/dialects/time-limits.ts'
import { stoppedClock } from '../support/clock.ts'
import '../support/seed.ts'

const PLACES = 6
const MINUTE = 60_000

interface Model { queue: Array<{ id: string, caller: string }>, turns: string[] }

/** Waits as a caller, and writes down how it ends. */
function enter (waiters: Waiters<string>, ended: string[], id: string, caller: string): void {
  waiters.wait({ caller }).then(
    (value) => ended.push(`${id} ${value}`), (error: { code: string }) => ended.push(`${id} ${error.code}`)
  )
}

const countOf = ({ queue }: Model, caller: string): number => queue.filter((each) => each.caller === caller).length

function remove (model: Model, id: string): void {
  model.queue = model.queue.filter((each) => each.id !== id)
  model.turns = model.turns.filter((caller) => countOf(model, caller) > 0)
}

/** The same in plain lists. Returns how a waiter ends, if one does. */
function enterModel (model: Model, id: string, caller: string): string | undefined {
  let shed: string | undefined
  if (model.queue.length >= PLACES) {
    const [longest] = [...model.turns].sort((one, other) => countOf(model, other) - countOf(model, one))
    if (longest === undefined || countOf(model, longest) <= countOf(model, caller) + 1) return `${id} OVERLOADED`
    const last = model.queue.findLast((each) => each.caller === longest) as { id: string }
    shed = `${last.id} OVERLOADED`
    remove(model, last.id)
  }
  if (!model.turns.includes(caller)) model.turns.push(caller)
  model.queue.push({ id, caller })
  return shed
}

function giveModel (model: Model): string | undefined {
  const caller = model.turns.shift()
  if (caller === undefined) return undefined
  model.turns.push(caller)
  const { id } = model.queue.find((each) => each.caller === caller) as { id: string }
  remove(model, id)
  return id
}

t.test('callers take turns, each in its own order, and never more wait than there are places', async (t) => {
  // two callers at most have as many waiters as others: which of them loses one does not matter
  const step = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('a', 'b') }, {
    weight: 2, arbitrary: fc.constant('give')
  })
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
    const waiters = new Waiters<string>(PLACES, MINUTE)
    const [ended, expected]: [string[], string[]] = [[], []]
    const model: Model = { queue: [], turns: [] }
    for (const [index, step] of steps.entries()) {
      if (step === 'give') {
        const id = giveModel(model)
        if (id !== undefined) expected.push(`${id} ok`)
        t.equal(waiters.give('ok'), id !== undefined)
      } else {
        const end = enterModel(model, `${step}${index}`, step)
        if (end !== undefined) expected.push(end)
        enter(waiters, ended, `${step}${index}`, step)
      }
      await new Promise(setImmediate)
      t.equal(waiters.size, model.queue.length)
    }
    t.same(ended, expected)
    waiters.reject(() => new Error('the end'))
    t.equal(waiters.size, 0)
  }), { numRuns: 50 })
})

t.test('one waiter of each of many callers is not refused for another one', async (t) => {
  const waiters = new Waiters<string>(3, MINUTE)
  const ended: string[] = []
  for (const caller of ['a', 'b', 'c', 'd']) enter(waiters, ended, caller, caller)
  while (waiters.give('ok'));
  await new Promise(setImmediate)
  t.same(ended.sort(), ['a ok', 'b ok', 'c ok', 'd OVERLOADED'])
})

t.test('a caller whose waiters are refused or time out has no turn any more', async (t) => {
  const waiters = new Waiters<string>(3, 20)
  const ended: string[] = []
  enter(waiters, ended, 'refused', 'a')
  waiters.reject(() => Object.assign(new Error('gone'), { code: 'GONE' }))
  t.equal(waiters.give('ok'), false)
  enter(waiters, ended, 'late', 'b')
  await t.rejects(waiters.wait({ caller: 'c' }), { code: 'OVERLOADED' })
  t.equal(waiters.give('ok'), false)
  t.same([ended, waiters.size], [['refused GONE', 'late OVERLOADED'], 0])
})

t.test('a value is given to the first waiter that accepts it, and the turn of its caller is over', async (t) => {
  const waiters = new Waiters<string>(10, MINUTE)
  const ended: string[] = []
  for (const [id, caller, only] of [['a1', 'a', 'large'], ['a2', 'a'], ['b1', 'b', 'large'], ['b2', 'b']] as const) {
    waiters.wait({ caller, accepts: (value) => only === undefined || value === only }).then(
      (value) => ended.push(`${id} ${value}`), () => {}
    )
  }
  for (const value of ['small', 'small', 'small', 'large', 'large', 'large']) {
    ended.push(`${value} ${waiters.give(value)}`)
  }
  await new Promise(setImmediate)
  t.same(ended, [
    'small true', 'small true', 'small false', 'large true', 'large true', 'large false', 'a2 small', 'b2 small',
    'a1 large', 'b1 large'
  ])
})

t.test('what runs is stopped after its own time, or when its client has disconnected', async (t) => {
  const stopped: string[] = []
  // the timer of the tests before ends with its next check
  await sleep(150)
  const clock = stoppedClock(t)
  const clients = { first: { destroyed: false }, second: { destroyed: false }, third: undefined }
  const ends = new Map(Object.entries(clients).map(([name, client]) =>
    [name, watch(500, client, ({ code, reason }) => { stopped.push(`${name} ${reason ?? code}`) })]))
  await clock.pass(300)
  watch(500, undefined, () => { stopped.push('late') })
  ends.get('third')?.()
  clients.first.destroyed = true
  for (const [milliseconds, ...more] of [[99], [1, 'first CLIENT_GONE']] as Array<[number, ...string[]]>) {
    await clock.pass(milliseconds)
    t.same(stopped.splice(0), more)
  }
  ends.get('first')?.()
  for (const [milliseconds, ...more] of [
    [99], [1, 'second QUERY_TIMEOUT'], [299], [1, 'late']
  ] as Array<[number, ...string[]]>) {
    await clock.pass(milliseconds)
    t.same(stopped.splice(0), more)
  }
  ends.get('second')?.()
  // ends the timer of the stopped clock: no statement of a later file would be stopped
  await clock.pass(100)
})
