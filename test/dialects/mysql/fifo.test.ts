import fc from 'fast-check'
import t from 'tap'
import { createFifo, type Place } from '../../../src/dialects/mysql/fifo.ts'

type Step = 'push' | 'shift' | number

t.test('what comes out is what an array would give, whatever is taken out of the middle', async (t) => {
  const step = fc.oneof({ weight: 5, arbitrary: fc.constant<Step>('push') }, { weight: 2, arbitrary: fc.constant<Step>('shift') }, { weight: 2, arbitrary: fc.nat(30) as fc.Arbitrary<Step> })
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const fifo = createFifo<{ id: number }>()
    const model: Array<{ id: number }> = []
    const places: Place[] = []
    for (const [id, step] of steps.entries()) {
      if (step === 'push') {
        const thing = { id }
        model.push(thing)
        places[id] = fifo.push(thing)
      } else if (step === 'shift') {
        t.equal(fifo.shift(), model.shift())
      } else {
        // also what has come out already, which changes nothing
        const place = places[step]
        if (place !== undefined) fifo.remove(place)
        const index = model.findIndex((thing) => thing.id === step)
        if (index >= 0) model.splice(index, 1)
      }
      t.equal(fifo.first, model[0])
      t.equal(fifo.size, model.length)
    }
  }), { numRuns: 50 })
})

t.test('places stay what they are when the front is given up', async (t) => {
  const fifo = createFifo<{ id: number }>()
  const places = Array.from({ length: 3000 }, (_, id) => fifo.push({ id }))
  for (const place of places.slice(0, 2500)) fifo.remove(place)
  t.match(fifo.first, { id: 2500 })
  fifo.remove(places[2501] as Place)
  t.match([fifo.shift(), fifo.first, fifo.size], [{ id: 2500 }, { id: 2502 }, 498])
})
