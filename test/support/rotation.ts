/**
 * What a run by day takes a part of, and the nightly run all: products of many cases, and the engines for a rule that
 * does not depend on them. Which part depends on the seed that a run prints, and on the order of the questions:
 * `TEST_SEED` repeats it.
 */
import type { Test } from 'tap'
import { NIGHT, ONE_ENGINE } from '../protocol.ts'
import { enginesAndSqlite } from '../servers/engines.ts'
import { seed } from './seed.ts'
import type { EngineName } from './service.ts'

const isNight = process.env[NIGHT] !== undefined

/** Returns a function that says of each case whether it is tested: of one in so many by day. */
export function oneIn (number: number): () => boolean {
  let turn = seed
  return () => isNight || turn++ % number === 0
}

/**
 * The engines of a file whose rules do not depend on them: one of those that there are by day, not the same for all
 * files, and all by night.
 */
export async function anyEngine ({ name }: Pick<Test, 'name'>): Promise<EngineName[]> {
  const names = (await enginesAndSqlite()).map((engine) => (typeof engine === 'string' ? engine : engine.name))
  return (isNight ? names : [names[(seed + name.length) % names.length]]) as EngineName[]
}

type Engines = Awaited<ReturnType<typeof enginesAndSqlite>>

let isQuick = process.env[ONE_ENGINE] !== undefined

/** Has each test of a file run on each engine also in a quick run: what the file holds is the engine's. */
export function useEachEngine (t: Pick<Test, 'teardown'>): void {
  const before = isQuick
  isQuick = false
  t.teardown(() => { isQuick = before })
}

/**
 * The engines of one test: in a quick run one of them, not the same for all tests of a file, and all of them with
 * `--all`, by night, and where the file is named.
 */
export function enginesOf (name: string, all: Engines): Engines {
  if (!isQuick) return all
  return all.filter((_engine, index) => index === (seed + name.length) % all.length)
}
