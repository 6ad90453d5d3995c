import type { Host } from '../options.ts'

/**
 * The servers of one database. One of them is used at a time, until it fails: on servers that apply each other's changes a
 * moment later, only the one that took a row is sure to have it. Then the next one has its turn, and so on in a circle.
 */
export interface Hosts {
  readonly current: Host
  /** Counts the changes: sessions of an earlier turn are not used any more. */
  readonly turn: number
  /** It could not be reached. */
  fail (host: Host): void
  /**
   * A session of that turn led to a server that does not take the statement: read-only, or out of its cluster. Even the same host
   * may lead to another one by now. False where all of them have said so a moment ago.
   */
  refuse (turn: number): boolean
}

/** How long a host that refused is left alone, in milliseconds. */
const REST = 200

export function createHosts (hosts: readonly Host[]): Hosts {
  const refusals = new Map<number, number>()
  let current = 0
  let turn = 0
  const after = (index: number): number => (index + 1) % hosts.length
  const use = (index: number): void => {
    current = index
    turn++
  }
  return {
    get current () { return hosts[current] as Host },
    get turn () { return turn },
    fail (host) {
      if (hosts.length > 1 && hosts[current] === host) use(after(current))
    },
    refuse (then) {
      if (then !== turn) return true
      const now = Date.now()
      const rests = (index: number): boolean => now - (refusals.get(index) ?? 0) < REST
      let next = after(current)
      while (next !== current && rests(next)) next = after(next)
      const stay = rests(next)
      refusals.set(current, now)
      if (stay) return false
      use(next)
      return true
    }
  }
}
