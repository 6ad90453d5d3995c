import fc from 'fast-check'
import t from 'tap'
import { createWaiters, type Waiters } from '../../src/dialects/waiters.ts'
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
    waiters.refuse(() => new Error('the end'))
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
  waiters.refuse(() => Object.assign(new Error('gone'), { code: 'GONE' }))
  t.equal(waiters.give('ok'), false)
  enter(waiters, ended, 'late', 'b')
  await t.rejects(waiters.wait(0, 'c'), { code: 'OVERLOADED' })
  t.equal(waiters.give('ok'), false)
  t.same([ended, waiters.size, waiters.countOf('b')], [['refused GONE', 'late OVERLOADED'], 0, 0])
})
