/** Queues of requests and of time limits. */
import fc from 'fast-check'
import t from 'tap'
import { createFifo, type FifoEntry } from '../../src/dialects/waiters.ts'
import { createTimeoutQueue } from '../../src/dialects/waiters.ts'
import { createWaiters, type Waiters } from '../../src/dialects/waiters.ts'
import { stoppedClock } from '../support/clock.ts'
import '../support/seed.ts'

const PLACES = 6
const MINUTE = 60_000

interface Model { queue: Array<{ id: string, caller: string }>, turns: string[] }

/** Waits as a caller, and writes down how it ends. */
function enter (waiters: Waiters<string>, ended: string[], id: string, caller: string): void {
  waiters.wait(0, caller).then((value) => ended.push(`${id} ${value}`), (error: { code: string }) => ended.push(`${id} ${error.code}`))
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
  const step = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('a', 'b') }, { weight: 2, arbitrary: fc.constant('give') })
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
    const waiters = createWaiters<string>(PLACES, MINUTE)
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
      t.same([waiters.size, waiters.countOf('a'), waiters.countOf('b')], [model.queue.length, countOf(model, 'a'), countOf(model, 'b')])
    }
    t.same(ended, expected)
    waiters.reject(() => new Error('the end'))
    t.equal(waiters.size, 0)
  }), { numRuns: 50 })
})

t.test('one waiter of each of many callers is not refused for another one', async (t) => {
  const waiters = createWaiters<string>(3, MINUTE)
  const ended: string[] = []
  for (const caller of ['a', 'b', 'c', 'd']) enter(waiters, ended, caller, caller)
  while (waiters.give('ok'));
  await new Promise(setImmediate)
  t.same(ended.sort(), ['a ok', 'b ok', 'c ok', 'd OVERLOADED'])
})

t.test('a caller whose waiters are refused or time out has no turn any more', async (t) => {
  const waiters = createWaiters<string>(3, 20)
  const ended: string[] = []
  enter(waiters, ended, 'refused', 'a')
  waiters.reject(() => Object.assign(new Error('gone'), { code: 'GONE' }))
  t.equal(waiters.give('ok'), false)
  enter(waiters, ended, 'late', 'b')
  await t.rejects(waiters.wait(0, 'c'), { code: 'OVERLOADED' })
  t.equal(waiters.give('ok'), false)
  t.same([ended, waiters.size, waiters.countOf('b')], [['refused GONE', 'late OVERLOADED'], 0, 0])
})

type Step = 'push' | 'shift' | number

t.test('the order is that of an array, whatever is removed from the middle', async (t) => {
  const step = fc.oneof({ weight: 5, arbitrary: fc.constant<Step>('push') }, { weight: 2, arbitrary: fc.constant<Step>('shift') }, { weight: 2, arbitrary: fc.nat(30) as fc.Arbitrary<Step> })
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const fifo = createFifo<{ id: number }>()
    const model: Array<{ id: number }> = []
    const entries: Array<FifoEntry<{ id: number }>> = []
    for (const [id, step] of steps.entries()) {
      if (step === 'push') {
        const thing = { id }
        model.push(thing)
        entries[id] = fifo.push(thing)
      } else if (step === 'shift') {
        if (fifo.first !== undefined) fifo.remove(fifo.first)
        model.shift()
      } else {
        // it may have been removed already, which changes nothing
        const entry = entries[step]
        if (entry !== undefined) fifo.remove(entry)
        const index = model.findIndex((thing) => thing.id === step)
        if (index >= 0) model.splice(index, 1)
      }
      const inside: Array<{ id: number }> = []
      fifo.each((thing) => { inside.push(thing) })
      t.same([inside, fifo.first?.value, fifo.size], [model, model[0], model.length])
    }
  }), { numRuns: 50 })
})

t.test('a removed entry has no neighbours, so that it does not keep later entries alive', async (t) => {
  const fifo = createFifo<string>()
  const entries = ['first', 'second', 'third'].map((thing) => fifo.push(thing))
  for (const index of [1, 0, 2]) fifo.remove(entries[index] as FifoEntry<string>)
  for (const { before, after } of entries) t.same([before, after], [undefined, undefined])
})

t.test('each value times out after its own time', async (t) => {
  const expired: string[] = []
  const clock = stoppedClock(t)
  const timeouts = createTimeoutQueue<string>(500, { onTimeout: ({ value }) => { expired.push(value) } })
  timeouts.push('first')
  await clock.pass(300)
  timeouts.push('second')
  for (const [milliseconds, ...values] of [[199], [1, 'first'], [299, 'first'], [1, 'first', 'second']] as Array<[number, ...string[]]>) {
    await clock.pass(milliseconds)
    t.same(expired, values)
  }
})

t.test('a removed value does not time out, and one that is added later does', async (t) => {
  const expired: string[] = []
  const clock = stoppedClock(t)
  const timeouts = createTimeoutQueue<string>(20, { onTimeout: ({ value }) => { expired.push(value) } })
  timeouts.remove(timeouts.push('over'))
  await clock.pass(60)
  t.same(expired, [])
  timeouts.push('late')
  await clock.pass(20)
  t.same(expired, ['late'])
})

t.test('a value is checked at an interval until it times out', async (t) => {
  const seen: string[] = []
  const clock = stoppedClock(t)
  const timeouts = createTimeoutQueue<string>(250, { onTimeout: ({ value }) => { seen.push(`${value} timed out`) }, onCheck: (value) => { seen.push(value) } })
  timeouts.push('it')
  await clock.pass(300)
  t.same(seen, ['it', 'it', 'it timed out'])
})
