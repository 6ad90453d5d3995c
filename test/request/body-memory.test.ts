import { EventEmitter } from 'node:events'
import t from 'tap'
import { lookOver } from '../../src/json/exact-json.ts'
import { BodyMemory, BodyReservation, weighBody } from '../../src/request/body-budget.ts'
import { readBody, type Payload } from '../../src/request/read-body.ts'

t.test('a caller holds at most half of what the others leave, and all is given back', async (t) => {
  const memory = new BodyMemory(1000)
  const reservation = (owner: string): BodyReservation => new BodyReservation(memory, owner)
  const [first, second, other, third] = [reservation('a'), reservation('a'), reservation('b'), reservation('c')]
  t.ok(first.hold(300))
  t.ok(first.hold(200), 'it holds more already')
  t.ok(second.hold(200))
  t.notOk(second.hold(201), 'half of all')
  t.ok(other.hold(250), 'half of the rest')
  t.notOk(third.hold(126))
  t.ok(third.hold(125))
  for (const each of [first, second, other, third, first]) each.leave()
  t.equal(memory.held, 0)
  t.notOk(first.hold(1000), 'a place that was left holds nothing')
})

t.test('a body that needs more than all of it is taken while there is no other', async (t) => {
  const memory = new BodyMemory(1000)
  const [large, small] = [new BodyReservation(memory, 'a'), new BodyReservation(memory, 'b')]
  t.ok(large.hold(10))
  t.ok(large.hold(5000))
  t.notOk(small.hold(1))
  large.leave()
  t.ok(small.hold(1))
  t.notOk(new BodyReservation(memory, 'a').hold(5000))
})

/** Reads chunks, and returns what became of them and how much was held before the end. */
function read (chunks: ReadonlyArray<Buffer
  | string>, declared?: number, { memory = new BodyMemory(1e9), limit = 100_000 } = {}) {
  const payload = Object.assign(new EventEmitter(), { resume: () => payload }) as unknown as Payload & EventEmitter
  const reservation = new BodyReservation(memory, 'a')
  const seen: Array<[error: string | undefined, text: string | undefined]> = []
  readBody(
    payload, { headers: declared === undefined ? {} : { 'content-length': String(declared) }, limit, reservation },
    (error, body) => { seen.push([(error as { code?: string } | undefined)?.code, body?.toString()]) }
  )
  for (const chunk of chunks) payload.emit('data', chunk)
  const held = reservation.bytes
  payload.emit('end')
  return { seen, held, listeners: payload.eventNames() }
}

t.test('a body is read whole, in chunks of any size, and its memory is in proportion to it', async (t) => {
  const text = 'abcdefghij'.repeat(4000)
  t.match(read([Buffer.from(text)], text.length), { seen: [[undefined, text]], held: 6 * text.length, listeners: [] })
  t.same(read([text]).seen, [[undefined, text]], 'a stream of a host app may have strings')
  for (const declared of [undefined, text.length]) {
    const { seen, held } = read(Array.from(
      { length: text.length / 10 }, (_, index) => Buffer.from(text.slice(index * 10, index * 10 + 10))
    ), declared)
    t.same(seen, [[undefined, text]])
    t.ok(held <= Math.max(6 * text.length, 32 * 16_384), `${held}`)
  }
  t.same(read([]).seen, [[undefined, '']])
})

t.test('a part of fewer than 256 bytes counts as one of 256, for a limit of at least 1 MiB', async (t) => {
  const parts = (count: number, length: number): Buffer[] =>
    Array.from({ length: count }, () => Buffer.alloc(length, 'x'))
  const most = Math.floor(1_048_576 / 255)
  t.same(read(parts(most, 1)).seen, [[undefined, 'x'.repeat(most)]])
  t.same(read(parts(most + 1, 1)).seen, [['BODY_TOO_LARGE', undefined]])
  t.same(read(parts(8000, 1), 8000).seen, [['BODY_TOO_LARGE', undefined]])
  t.same(
    read(parts(390, 256)).seen, [[undefined, 'x'.repeat(390 * 256)]], 'parts of 256 bytes fill the limit of the size'
  )
  t.same(read(parts(30_000, 1), undefined, {
    limit: 10_000_000
  }).seen, [[undefined, 'x'.repeat(30_000)]], 'a larger limit allows more')
})

t.test('a body that is too large, has another length or finds no memory is refused once', async (t) => {
  const part = Buffer.alloc(60_000)
  t.same(read([part, part, part]).seen, [['BODY_TOO_LARGE', undefined]])
  t.same(read([], 100_001).seen, [['BODY_TOO_LARGE', undefined]])
  t.same(read([part], 70_000).seen, [['INVALID_REQUEST', undefined]])
  for (const [chunks, declared, free] of [[[part], undefined, 359_999], [[], 60_000, 359_999]] as const) {
    const memory = new BodyMemory(free * 2 + 1)
    new BodyReservation(memory, 'other').hold(1)
    t.same(read(chunks, declared, { memory }).seen, [['OVERLOADED', undefined]])
  }
})

t.test('a body weighs what parsing makes of it', async (t) => {
  t.equal(weighBody(1000, 1000), 32_000)
  t.equal(weighBody(20_000, 0), 120_000)
  t.equal(weighBody(20_000, lookOver('[{},'.repeat(5000)).items), 20_000 * 6 + 15_000 * 72)
  t.equal(lookOver(JSON.stringify({ text: '[{},', '[{},': [1, '"[{},'] })).items, 4, 'outside of strings')
})
