import fc from 'fast-check'
import t from 'tap'
import { createFifo, type FifoEntry } from '../../src/dialects/fifo.ts'
import '../support/seed.ts'

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
