import type { Host } from '../options.ts'

/**
 * Selects one of the hosts of a database, and the next one, in a circle, when it fails. Only one host is used at a time, because servers that replicate
 * each other's changes with a delay may lack a write that another one has accepted.
 */
export interface Failover {
  readonly current: Host
  /** Incremented when another host is selected; sessions of earlier epochs are no longer used. */
  readonly epoch: number
  /** Reports that a host could not be reached. */
  fail (host: Host): void
  /**
   * Reports that the server of a session of that epoch does not accept statements, because it is read-only or not in its cluster. Returns whether
   * another attempt may reach a server that does; false if all hosts have just refused.
   */
  refuse (epoch: number): boolean
}

/** How long a host that refused is not used, in milliseconds. */
const REST = 200

export function createFailover (hosts: readonly Host[]): Failover {
  const refusals = new Map<number, number>()
  let current = 0
  let epoch = 0
  const after = (index: number): number => (index + 1) % hosts.length
  const use = (index: number): void => {
    current = index
    epoch++
  }
  return {
    get current () { return hosts[current] as Host },
    get epoch () { return epoch },
    fail (host) {
      if (hosts.length > 1 && hosts[current] === host) use(after(current))
    },
    refuse (then) {
      if (then !== epoch) return true
      const now = performance.now()
      const rests = (index: number): boolean => now - (refusals.get(index) ?? -Infinity) < REST
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
