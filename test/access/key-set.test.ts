import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import Fastify from 'fastify'
import { createLocalJWKSet } from 'jose'
import t from 'tap'
import { createKeySet } from '../../src/access/key-set.ts'
import { createPair } from '../support/issuer.ts'

const { jwk } = await createPair('one')
const { log } = Fastify()
const START = 1_000_000_000_000

/** Answers that a mock of `fetch` gives, one after the other; the last one is repeated. */
async function start (...answers: Array<() => Response>) {
  const times: number[] = []
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: START })
  mock.method(globalThis, 'fetch', async () => {
    times.push((Date.now() - START) / 1000)
    return (answers.length > 1 ? answers.shift() : answers[0])?.()
  })
  const keySet = createKeySet({ url: new URL('https://login.example.com/jwks'), setting: 'jwt.0.jwks', log, createSelector: createLocalJWKSet })
  await keySet.refresh()
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      mock.timers.tick(1000)
      for (let turn = 0; turn < 3; turn++) await setImmediate()
    }
  }
  return { keySet, times, pass }
}

const good = () => Response.json({ keys: [jwk] })
const bad = () => new Response(null, { status: 500 })

t.afterEach(() => {
  mock.timers.reset()
  mock.restoreAll()
})

t.test('keys are downloaded every ten minutes', async (t) => {
  const { keySet, times, pass } = await start(good)
  await pass(1900)
  keySet.stop()
  t.same(times, [0, 600, 1200, 1800])
})

t.test('after a failure they are downloaded every 30 seconds, until a download succeeds', async (t) => {
  const { keySet, times, pass } = await start(bad, bad, good, bad, good)
  await pass(1300)
  keySet.stop()
  t.same(times, [0, 30, 60, 660, 690, 1290])
  t.ok(await keySet.find('one'))
})

t.test('a download for a new kid begins the ten minutes anew', async (t) => {
  const { keySet, times, pass } = await start(good)
  await pass(400)
  t.equal(await keySet.find('two'), undefined)
  await pass(900)
  keySet.stop()
  t.same(times, [0, 400, 1000])
})

t.test('a clock that is set back does not prevent a download', async (t) => {
  const { keySet, times } = await start(good)
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: START - 3_600_000 })
  await keySet.find('two')
  keySet.stop()
  t.same(times, [0, -3600])
})

t.test('nothing is downloaded after the end', async (t) => {
  const { keySet, times, pass } = await start(bad)
  keySet.stop()
  await pass(700)
  await t.rejects(keySet.find('one'), { code: 'KEYS_UNAVAILABLE', retryAfter: 1 })
  t.same(times, [0])
})

t.test('the last 1,000 absent keys are remembered, whatever the length of their names', async (t) => {
  const { keySet, times, pass } = await start(good)
  const name = (number: number): string => `${number}${'x'.repeat(10_000)}`
  await pass(31)
  const found = await Promise.all(Array.from({ length: 1001 }, (_, number) => keySet.find(name(number))))
  t.same(new Set(found), new Set([undefined]))
  for (const number of [1, 500, 1000]) t.equal(await keySet.find(name(number)), undefined)
  await t.rejects(keySet.find(name(0)), { code: 'KEYS_UNAVAILABLE', retryAfter: 30 }, 'the first one is forgotten')
  keySet.stop()
  t.same(times, [0, 31], 'one download for all')
})
