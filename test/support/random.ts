/** Random numbers that a seed repeats. */

/** Whole numbers from 0, below a bound. */
export type Random = (below: number) => number

/** mulberry32: integers from 0, the same in every process. */
export function createRandom (seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) % below
  }
}

export const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)] as T
