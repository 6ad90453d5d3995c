/**
 * Counts assertions that pass in place of printing them: tap writes each as a line of TAP, which the parser of every
 * test around it reads again. That takes a tenth of the CPU time of all tests. The first one of a test is printed, and
 * each that fails, is skipped, or comes after the end of its test; the plan of the test says how many were counted.
 * Values that are equal in every respect are not compared by tap, which takes twelve times as long.
 */
import { isDeepStrictEqual } from 'node:util'
import { Assertions } from '@tapjs/asserts'
import { TestBase } from '@tapjs/core'
import { COUNTED } from './protocol.ts'

type Assertion = TestBase['currentAssert']

const { pass, plan } = TestBase.prototype
const planned = new WeakSet<TestBase>()
/** How many assertions of a test were not printed. */
const counts = new WeakMap<TestBase, number>()

TestBase.prototype.plan = function (this: TestBase, number: number, comment?: string, ...rest: unknown[]): void {
  planned.add(this)
  const counted = counts.get(this)
  Reflect.apply(plan, this, [number, counted === undefined ? comment : COUNTED + counted, ...rest])
}

TestBase.prototype.pass = function (...args) {
  const isMarked = args.some((each) => typeof each === 'object' && ('skip' in each || 'todo' in each))
  if (planned.has(this) || this.count === 0 || isMarked) return pass.apply(this, args)
  running.delete(this)
  counts.set(this, (counts.get(this) ?? 0) + 1)
  return true
}

/**
 * The assertion that runs, the outermost of those that call each other: where a failure is. tap forgets it when it
 * prints the result.
 */
const running = new WeakMap<TestBase, Assertion>()
const printing = new WeakSet<TestBase>()

Object.defineProperty(TestBase.prototype, 'currentAssert', {
  get (this: TestBase): Assertion {
    const assertion = running.get(this)
    if (printing.delete(this)) running.delete(this)
    return assertion
  },
  set (this: TestBase, assertion: Assertion) {
    if (assertion?.name === '#printResult') printing.add(this)
    if (assertion !== undefined && !running.has(this)) running.set(this, assertion)
  }
})

/** tap's comparison writes both values as text, even if they are equal. */
for (const name of ['same', 'strictSame'] as const) {
  const compare: Function = Assertions.prototype[name]
  const compareQuickly = function (this: Assertions, found: unknown, wanted: unknown, ...rest: unknown[]): unknown {
    const isEqual = isDeepStrictEqual(found, wanted)
    return Reflect.apply(compare, this, isEqual ? [true, true, ...rest] : [found, wanted, ...rest])
  }
  Object.assign(Assertions.prototype, { [name]: compareQuickly })
}
