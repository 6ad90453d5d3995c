import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ROWS } from './load.ts'
import { BOUND, connectionsOfService, kinds, ownShop, serve } from './service.ts'

/**
 * Connections, and how long each statement takes: the pool carries 20 requests in a second, and ten times as many are
 * little for a machine.
 */
const SIZE = 4
const SECONDS = 0.2
const CAPACITY = SIZE / SECONDS
const LOAD = 10 * CAPACITY
const DURATION = 10_000
/** In milliseconds: a hundred times what it takes where the machine does nothing else. */
const QUICK = 3000

const middle = (numbers: number[]): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0

for (const kind of kinds) {
  t.test(`ten times the load that the pool can carry (${kind})`, async (t) => {
    const slow = `create view slow as select id, sleep(${SECONDS}) as slept from rows_written`
    const { url, sql } = await ownShop(t, kind, [ROWS, "insert into rows_written (name) values ('one')", slow])
    const program = await serve(t, { url, pool: { size: SIZE, queue: 10, wait: 1000 } })
    const answers: Array<{ status: number, code: string, time: number }> = []
    const ask = async (): Promise<void> => {
      const begin = Date.now()
      const { status, json } = await program.ask('slow', { verb: 'select', columns: ['id', 'slept'] })
      answers.push({ status, code: json.error?.code, time: Date.now() - begin })
    }
    /** So many in a second, whether they are answered or not. */
    const load = async (perSecond: number, duration: number): Promise<void> => {
      const asked: Array<Promise<void>> = []
      for (const begin = Date.now(); Date.now() - begin < duration; await sleep(10)) {
        while (asked.length < (Date.now() - begin) / 1000 * perSecond) asked.push(ask())
      }
      await Promise.all(asked)
    }

    await load(LOAD, 3000)
    answers.splice(0)
    const before = program.memory()
    await load(LOAD, DURATION)
    const after = program.memory()

    const served = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    const refusalTime = middle(refused.map(({ time }) => time))
    t.comment(
      `${answers.length} asked, ${served.length} answered, ${refused.length} refused in ${refusalTime} ms; memory ` +
        `${before.toFixed()} -> ${after.toFixed()} MB`
    )
    t.same([...new Set(refused.map(({ status, code }) => `${status} ${code}`))], ['503 OVERLOADED'])
    t.ok(served.length > CAPACITY * DURATION / 1000 / 3, 'what the pool can carry is answered all the same')
    t.ok(refusalTime < QUICK, 'refusals are quick')
    t.ok(Math.max(...answers.map(({ time }) => time)) < BOUND, 'nobody waits for ever')
    t.ok(after - before < 50, 'memory does not grow')

    t.same((await connectionsOfService(sql)).filter(({ info }) => info !== null), [], 'nothing goes on running')
    answers.splice(0)
    for (let each = 0; each < 10; each++) await ask()
    t.same([...new Set(answers.map(({ status }) => status))], [200])
    t.ok(middle(answers.map(({ time }) => time)) < QUICK, 'and it is fast again at once')
    t.ok(program.lives())
  })
}
