import fc from 'fast-check'
import t from 'tap'
import { createFifo, type FifoEntry } from '../../src/dialects/fifo.ts'

type Step = 'push' | 'shift' | number

t.test('what comes out is what an array would give, whatever is taken out of the middle', async (t) => {
  const step = fc.oneof({ weight: 5, arbitrary: fc.constant<Step>('push') }, { weight: 2, arbitrary: fc.constant<Step>('shift') }, { weight: 2, arbitrary: fc.nat(30) as fc.Arbitrary<Step> })
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const fifo = createFifo<{ id: number }>()
    const model: Array<{ id: number }> = []
    const places: Array<FifoEntry<{ id: number }>> = []
    for (const [id, step] of steps.entries()) {
      if (step === 'push') {
        const thing = { id }
        model.push(thing)
        places[id] = fifo.push(thing)
      } else if (step === 'shift') {
        if (fifo.first !== undefined) fifo.remove(fifo.first)
        model.shift()
      } else {
        // also what has come out already, which changes nothing
        const place = places[step]
        if (place !== undefined) fifo.remove(place)
        const index = model.findIndex((thing) => thing.id === step)
        if (index >= 0) model.splice(index, 1)
      }
      const inside: Array<{ id: number }> = []
      fifo.each((thing) => { inside.push(thing) })
      t.same([inside, fifo.first?.thing, fifo.size], [model, model[0], model.length])
    }
  }), { numRuns: 50 })
})

t.test('a place that is left knows no other: what is dead must not keep alive what came after it', async (t) => {
  const fifo = createFifo<string>()
  const places = ['first', 'second', 'third'].map((thing) => fifo.push(thing))
  for (const index of [1, 0, 2]) fifo.remove(places[index] as FifoEntry<string>)
  for (const { before, after } of places) t.same([before, after], [undefined, undefined])
})
