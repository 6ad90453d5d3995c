/** Clocks that a test moves, so that it does not wait for time to pass. */
import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Test } from 'tap'

type Ends = Pick<Test, 'teardown'>

/** Moves the clock that measures durations, `performance.now()`, until the test ends. Timers and the time of the day are as they were. */
export function movableClock (t: Ends): { pass (milliseconds: number): void } {
  const { now } = performance
  let passed = 0
  performance.now = () => now.call(performance) + passed
  t.teardown(() => { performance.now = now })
  return { pass: (milliseconds) => { passed += milliseconds } }
}

/** Stops timers, the time of the day and `performance.now()` until the test ends. `pass` moves all of them, and lets what they start come to rest. */
export function stoppedClock (t: Ends): { pass (milliseconds: number): Promise<void> } {
  const { now } = performance
  let passed = 0
  const start = performance.now()
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.now() })
  performance.now = () => start + passed
  t.teardown(() => {
    mock.timers.reset()
    performance.now = now
  })
  const settle = async (): Promise<void> => { for (let turn = 0; turn < 5; turn++) await setImmediate() }
  return {
    async pass (milliseconds) {
      await settle()
      // step by step, because what a timer starts may set the next one
      for (const end = passed + milliseconds; passed < end;) {
        const step = Math.min(10, end - passed)
        passed += step
        mock.timers.tick(step)
        await settle()
      }
    }
  }
}
