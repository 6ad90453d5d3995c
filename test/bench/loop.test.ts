import { existsSync } from 'node:fs'
import t from 'tap'
import { runLoop, type Client } from '../../bench/load/loop.ts'

const linux = existsSync('/proc/self/stat')

t.test('a turn counts what comes after its warm-up, and every failure', { skip: linux ? false : 'needs /proc' }, async (t) => {
  const asked: number[] = []
  const client: Client = (operation, done) => {
    asked.push(operation)
    setTimeout(() => done(asked.length !== 2), 1)
  }
  const result = await runLoop([client], 3, { warmUp: 10, seconds: 0.1, pid: process.pid })
  t.equal(result.bad, 1, 'the one in the warm-up')
  t.ok(result.requests > 0)
  t.ok(result.requests <= asked.length - 10)
  t.ok(result.seconds >= 0.09)
  t.ok(result.p50 <= result.p99)
  t.equal(result.clientCpuSeconds, 0, 'it is the process that is measured')
  t.same(asked.slice(0, 7), [0, 1, 2, 0, 1, 2, 0], 'operations are asked in turns')
})

t.test('nothing counts before the slowest client has had its answers', { skip: linux ? false : 'needs /proc' }, async (t) => {
  const HELD_BACK = 100
  let answers = 0
  const answer = (done: (good: boolean) => void): void => {
    answers++
    done(true)
  }
  const quick: Client = (_operation, done) => { setImmediate(answer, done) }
  let late = 0
  const slow: Client = (_operation, done) => {
    const until = late++ < 2 ? late * HELD_BACK : 0
    const wait = (): unknown => answers < until ? setImmediate(wait) : setImmediate(answer, done)
    wait()
  }
  const { requests } = await runLoop([quick, slow], 3, { warmUp: 2, seconds: 0.02, pid: process.pid })
  t.ok(requests > 0)
  t.ok(requests <= answers - 2 * HELD_BACK, 'those of the quick one in the meantime do not either')
})

t.test('so many clients ask at the same time', { skip: linux ? false : 'needs /proc' }, async (t) => {
  let open = 0
  let most = 0
  const client: Client = (_operation, done) => {
    most = Math.max(most, ++open)
    setImmediate(() => {
      open--
      done(true)
    })
  }
  await runLoop(Array(5).fill(client), 3, { warmUp: 4, seconds: 0.02, pid: process.pid })
  t.equal(most, 5)
  t.equal(open, 0, 'and each has its last answer in the end')
})
