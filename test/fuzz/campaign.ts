/**
 * Settings:
 *
 *     FUZZ_BODIES=20000   bodies for each engine
 *     FUZZ_MINUTES=60     duration instead, approximately, for each file of this folder
 *     FUZZ_SEED=123       seed, as printed by a failure
 *     FUZZ_TABLE=texts    only this table
 *     FUZZ_ENGINE=sqlite  only this engine
 */
import fc, { type IAsyncProperty } from 'fast-check'
import type { Test } from 'tap'
import type { EngineName } from '../support/service.ts'

const {
  FUZZ_BODIES = '20000', FUZZ_MINUTES, FUZZ_SEED = String(Date.now() % 1_000_000_000), FUZZ_TABLE, FUZZ_ENGINE
} = process.env

export const seed = Number(FUZZ_SEED)
export const isWanted = (table: string): boolean => (FUZZ_TABLE ?? table) === table

/** The engines of a file that runs on all of them; undefined for all. */
export const only = FUZZ_ENGINE === undefined ? undefined : [FUZZ_ENGINE as EngineName]

/** Runs of a property with one seed, which is enough to reproduce a failure. */
const RUNS = 10
/** Time limit for shrinking a counterexample, in milliseconds. */
const SHRINKING = 60_000

/** A fault, with the requests that led to it. */
export class Counterexample extends Error {}

/** A part of the whole: `share` of the bodies or minutes. */
export interface Part<Value> {
  readonly name: string
  readonly share: number
  readonly property: IAsyncProperty<Value>
  /** Bodies sent so far. */
  readonly sent: () => number
}

/** Whether a part that began then has sent its share. */
export const isEnough = (start: number, sent: number, share = 1): boolean => FUZZ_MINUTES === undefined
  ? sent >= Number(FUZZ_BODIES) * share
  : Date.now() - start >= Number(FUZZ_MINUTES) * 60_000 * share

/** Checks a property repeatedly, each time with the next seed, until enough bodies were sent. */
export async function campaign<Value> (t: Test, { name, share, property, sent }: Part<Value>): Promise<void> {
  const start = Date.now()
  let current = seed
  for (; !isEnough(start, sent(), share); current++) {
    const { failed, errorInstance } = await fc.check(property, {
      seed: current, numRuns: RUNS, interruptAfterTimeLimit: SHRINKING
    })
    if (failed) {
      const { message, stack = message } = errorInstance as Error
      t.fail(`${name}: FUZZ_SEED=${current}`, { at: null, stack: '' })
      t.comment(errorInstance instanceof Counterexample ? message : stack)
      return
    }
  }
  t.pass(
    `${name}: ${sent()} bodies in ${((Date.now() - start) / 1000).toFixed(1)} s, FUZZ_SEED=${seed} to ${current - 1}`
  )
}
