/** The few draws the demo needs. Every draw moves the one shared state on, so the order of calls is part of the result. */
export interface Random {
  /** A whole number from `min` to `max`, both included. */
  integer: (min: number, max: number) => number
  pick: <T>(list: readonly T[]) => T
  /** `count` different members of `list`: used wherever a repetition would break a unique key. */
  sample: <T>(list: readonly T[], count: number) => T[]
  /** True in about `percent` of 100 calls. */
  chance: (percent: number) => boolean
}

/**
 * mulberry32: 32-bit integer arithmetic only, so that every machine draws the same numbers.
 * `Math.random` cannot be seeded, and a library would be a dependency for six lines.
 */
function mulberry32 (seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A generator whose draws depend on `seed` alone. */
export function createRandom (seed: number): Random {
  const next = mulberry32(seed)
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    integer,
    pick: <T>(list: readonly T[]) => list[integer(0, list.length - 1)] as T,
    sample: (list, count) => {
      const left = [...list]
      return Array.from({ length: count }, () => left.splice(integer(0, left.length - 1), 1)).flat(1) as typeof left
    },
    chance: (percent) => integer(1, 100) <= percent
  }
}
