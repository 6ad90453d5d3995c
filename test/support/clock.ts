/** Clocks that a test moves, so that it does not wait for time to pass. */
import { setImmediate } from 'node:timers/promises'
import type { Test } from 'tap'

type Ends = Pick<Test, 'teardown'>

/**
 * Moves the clock that measures durations, `performance.now()`, until the test ends. Timers and the time of the day are
 * as they were.
 */
export function movableClock (t: Ends): { pass (milliseconds: number): void } {
  const { now } = performance
  let passed = 0
  performance.now = () => now.call(performance) + passed
  t.teardown(() => { performance.now = now })
  return { pass: (milliseconds) => { passed += milliseconds } }
}

/** Stops the clock that measures durations until the test ends. Timers and the time of the day are as they were. */
export function stoppedDurations (t: Ends): { pass (milliseconds: number): void } {
  const { now } = performance
  let at = performance.now()
  performance.now = () => at
  t.teardown(() => { performance.now = now })
  return { pass: (milliseconds) => { at += milliseconds } }
}

/** Stops the time of the day until the test ends. Timers and `performance.now()` are as they were. */
export function stoppedDate (t: Ends): { pass (milliseconds: number): void } {
  let now = Date.now()
  replaceDate(t, () => now)
  return { pass: (milliseconds) => { now += milliseconds } }
}

interface FakeTimer extends Pick<NodeJS.Timeout, 'ref' | 'unref' | 'hasRef' | 'refresh'> { readonly run: () => void }

/**
 * Stops timers, the time of the day and `performance.now()` until the test ends. `pass` moves all of them, and lets
 * what they start come to rest; `setDate` sets the time of the day. The mock of node:test loses timers that are set
 * after a mock of another test was reset.
 */
export function stoppedClock (t: Ends, start = Date.now()): {
  pass (milliseconds: number): Promise<void>, setDate (time: number): void
} {
  const real = { setTimeout, setInterval, clearTimeout, clearInterval }
  const { now } = performance
  // whole, so that a duration of 500 ms is not a fraction shorter
  const startOfDurations = Math.ceil(performance.now())
  let passed = 0
  let date = start
  /** When each timer is due, in `passed`. */
  const due = new Map<FakeTimer, number>()
  const create = (
    isRepeated: boolean
  ) => (callback: (...values: unknown[]) => void, delay = 1, ...values: unknown[]): FakeTimer => {
    const timer: FakeTimer = {
      run: () => {
        due.delete(timer)
        if (isRepeated) timer.refresh()
        callback(...values)
      },
      refresh: () => {
        due.delete(timer)
        due.set(timer, passed + Math.max(1, delay))
        return timer as never
      },
      ref: () => timer as never,
      unref: () => timer as never,
      hasRef: () => false
    }
    return timer.refresh() as never
  }
  const clear = (timer: unknown): void => {
    if (!due.delete(timer as FakeTimer)) real.clearTimeout(timer as NodeJS.Timeout)
  }
  Object.assign(globalThis, {
    setTimeout: create(false), setInterval: create(true), clearTimeout: clear, clearInterval: clear
  })
  performance.now = () => startOfDurations + passed
  replaceDate(t, () => date + passed)
  t.teardown(() => {
    Object.assign(globalThis, real)
    performance.now = now
  })
  const settle = async (): Promise<void> => { for (let turn = 0; turn < 5; turn++) await setImmediate() }
  return {
    async pass (milliseconds) {
      const end = passed + milliseconds
      await settle()
      for (;;) {
        const [timer, time] = [...due].reduce<[FakeTimer?, number?]>(
          (first, next) => next[1] < (first[1] ?? Infinity) ? next : first, []
        )
        if (timer === undefined || time === undefined || time > end) break
        passed = time
        timer.run()
        await settle()
      }
      passed = end
      await settle()
    },
    setDate: (time) => { date = time - passed }
  }
}

function replaceDate (t: Ends, now: () => number): void {
  const real = Date
  globalThis.Date = new Proxy(real, {
    construct: (target, values, newTarget: typeof Date) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
    get: (target, name) => name === 'now' ? now : Reflect.get(target, name)
  })
  t.teardown(() => { globalThis.Date = real })
}
