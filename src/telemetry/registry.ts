import { createRequire } from 'node:module'
import type { Registry } from 'prom-client'

/**
 * The registry is a property of `createRowQuery()`, which cannot wait for an import, so `require` loads prom-client
 * when the registry is first used: at the start with `metrics`, and otherwise never.
 */
export function createRegistry (): () => Registry {
  let registry: Registry | undefined
  return () => {
    if (registry !== undefined) return registry
    const prometheus = createRequire(import.meta.url)('prom-client') as typeof import('prom-client')
    registry = new prometheus.Registry()
    return registry
  }
}
