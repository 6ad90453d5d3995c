import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { LastAttempts } from '../../../src/dialects/mysql/pool.ts'

/** Attempts that write down when they begin and end, and end when they are told to. */
function createAttempts () {
  const attempts = new LastAttempts()
  const seen: string[] = []
  const begin = (name: string, isLast: boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const done = attempts.run(async () => {
      seen.push(`${name} begins`)
      await promise
      seen.push(`${name} ends`)
      if (name === 'fails') throw new Error(name)
      return name
    }, isLast)
    return { end: resolve, done }
  }
  return { seen, begin }
}

t.test('a last attempt begins when the others have ended, and those that come later begin after it', async (t) => {
  const { seen, begin } = createAttempts()
  const running = [begin('a', false), begin('b', false)]
  await sleep(1)
  t.same(seen.splice(0), ['a begins', 'b begins'], 'others do not wait for each other')
  const lasts = [begin('fails', true), begin('second', true)]
  const later = begin('later', false)
  for (const { end } of running) {
    await sleep(1)
    t.notMatch(seen, ['fails begins'])
    end()
  }
  await sleep(1)
  t.same(seen.splice(0), ['a ends', 'b ends', 'fails begins'])
  lasts[0]?.end()
  await t.rejects(lasts[0]?.done as Promise<unknown>, { message: 'fails' })
  await sleep(1)
  t.same(seen.splice(0), ['fails ends', 'second begins'], 'one after the other, whatever becomes of them')
  lasts[1]?.end()
  t.equal(await lasts[1]?.done, 'second')
  await sleep(1)
  t.same(seen.splice(0), ['second ends', 'later begins'])
  later.end()
  t.equal(await later.done, 'later')
})

t.test('nothing waits long: neither a last attempt for a long transaction, nor one for a ' +
  'long last attempt', async (t) => {
  const { seen, begin } = createAttempts()
  const long = begin('long', false)
  const last = begin('last', true)
  const later = begin('later', false)
  await sleep(700)
  t.same(seen, ['long begins', 'later begins', 'last begins'].sort((a, b) => seen.indexOf(a) - seen.indexOf(b)))
  for (const each of [long, last, later]) {
    each.end()
    await each.done
  }
})
