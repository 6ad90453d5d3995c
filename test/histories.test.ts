/** The checker of histories finds each fault that it looks for (test/faults/histories.ts). */
import t from 'tap'
import { checkHistory, type Event, type Final, type Logged, type Seen } from './support/history.ts'

const event = (id: number, more: Partial<Event>): Event =>
  ({ id, begin: 2 * id, end: 2 * id + 1, outcome: 'ok', writes: [], reads: [], isWhole: false, ...more })
const seen = (register: number, version: number, value: number): Seen => ({ register, version, value })
const rows = (...list: Array<[op: number, register: number, version: number]>): Logged[] =>
  list.map(([op, register, version], id) => ({ id, op, register, version }))
const walk = (...rows: number[]) => ({ from: 0, to: 9, rows })
const check = (events: readonly Event[], final: Final, isStrict = true) => checkHistory(events, final, { isStrict })

/** Two writes of two registers one after the other, and a read between them. */
const events = [
  event(1, { writes: [1, 2] }),
  event(2, { reads: [seen(1, 1, 1), seen(2, 1, 1)], isWhole: true }),
  event(3, { writes: [1, 2], required: seen(1, 1, 1) }),
  event(4, { outcome: 'failed', writes: [1] }),
  event(5, { walk: walk(0, 1, 2, 3) })
]
const log = rows([1, 1, 1], [1, 2, 1], [3, 1, 2], [3, 2, 2])
const final = { registers: [seen(1, 2, 3), seen(2, 2, 3)], log }
const replace = (id: number, more: Partial<Event>) => events.map((each) => each.id === id ? { ...each, ...more } : each)

t.test('a history that happened one after the other has no faults, also if the answer ' +
  'of a write was lost', async (t) => {
  t.same(check(events, final), [])
  t.same(check(replace(3, { outcome: 'unknown' }), final), [])
})

type Fault = readonly [fault: string, found: RegExp, events: readonly Event[], final: Final, isStrict?: boolean]
const FAULTS: readonly Fault[] = [
  ['a lost write', /^lost: 3 wrote register 2/, events, {
    registers: [seen(1, 2, 3), seen(2, 1, 1)], log: log.slice(0, 3)
  }],
  ['a doubled write', /^doubled: 3 wrote register 1 twice/, events, {
    registers: [seen(1, 3, 3), seen(2, 2, 3)], log: rows([1, 1, 1], [1, 2, 1], [3, 1, 2], [3, 2, 2], [3, 1, 3])
  }],
  ['two writes of one version', /^doubled: register 1 has version 2/, events, {
    ...final, log: [...log, ...rows([9, 1, 2])]
  }],
  ['a register behind its writes', /^register 1 has version 1 after 2 writes/, events, {
    ...final, registers: [seen(1, 1, 1), seen(2, 2, 3)]
  }],
  ['a refused write that is there', /^4 was refused, and written/, events, {
    registers: [seen(1, 3, 4), seen(2, 2, 3)], log: [...log, { id: 9, op: 4, register: 1, version: 3 }]
  }],
  ['half of a transaction', /^3 was written in part/, replace(3, { outcome: 'unknown' }), {
    registers: [seen(1, 2, 3), seen(2, 1, 1)], log: log.slice(0, 3)
  }],
  ['a lost update', /^lost update: 3 required version 0/, replace(3, { required: seen(1, 0, 0) }), final],
  ['a read of what was rolled back', /^2 read version 1 of register 1 with the value 4/, replace(2, {
    reads: [seen(1, 1, 4)]
  }), final],
  ['a stale read', /^stale: 2 read version 0 of register 1/, replace(2, { reads: [seen(1, 0, 0)] }), final],
  [
    'half of a transaction in a read', /^no serial order explains/,
    replace(2, { reads: [seen(1, 2, 3), seen(2, 1, 1)] }), final, false
  ],
  ['writes in different orders', /^no serial order explains/, events, {
    registers: [seen(1, 2, 3), seen(2, 2, 1)], log: rows([1, 1, 1], [3, 2, 1], [3, 1, 2], [1, 2, 2])
  }, false],
  ['write skew of serializable transactions', /^no serial order explains/, [
    event(1, { reads: [seen(1, 0, 0)], writes: [2], isWhole: true }),
    event(2, { reads: [seen(2, 0, 0)], writes: [1], isWhole: true })
  ],
  { registers: [seen(1, 1, 2), seen(2, 1, 1)], log: rows([1, 2, 1], [2, 1, 1]) }, false],
  ['a walk with a row twice', /^walk 5 has a row twice/, replace(5, { walk: walk(0, 1, 1, 2, 3) }), final],
  ['a walk with a row of nobody', /^walk 5 has a row that was not written/, replace(5, {
    walk: walk(0, 1, 2, 3, 4)
  }), final],
  ['a walk without a row', /^walk 5 leaves out row 3/, replace(5, { walk: walk(0, 1, 2) }), final]
]

for (const [fault, found, faulty, state, isStrict] of FAULTS) {
  t.test(`finds ${fault}`, async (t) => {
    const problems = check(faulty, state, isStrict)
    t.ok(problems.some((problem) => found.test(problem)), JSON.stringify(problems))
  })
}

t.test('allows write skew at repeatable read, and a stale read on a cluster', async (t) => {
  t.same(check([event(1, { reads: [seen(1, 0, 0)], writes: [2] }), event(2, { reads: [seen(2, 0, 0)], writes: [1] })], {
    registers: [seen(1, 1, 2), seen(2, 1, 1)], log: rows([1, 2, 1], [2, 1, 1])
  }, false), [])
  t.same(check(replace(2, { reads: [seen(1, 0, 0), seen(2, 0, 0)] }), final, false), [])
})
