/** Whether all databases can be reached. Several load balancers ask at once, every few seconds. */
import { setTimeout as sleep } from 'node:timers/promises'
import { getOrCreate } from '../bounded-map.ts'
import type { Database } from './database.ts'

export interface Readiness {
  /** Cached for one second; resolves within one second. Never rejects. */
  isReady (): Promise<boolean>
  /** The service is not ready any more. */
  end (): void
}

/** In milliseconds. */
const CACHED_FOR = 1000
/** How long a database may take to answer, in milliseconds: less than the second that a probe of Kubernetes waits. */
const PATIENCE = 800

export function createReadiness (databases: () => ReadonlyMap<string, Database>): Readiness {
  /** The checks that run, of which a database never has more than one, also if it hangs. */
  const checks = new WeakMap<Database, Promise<boolean>>()
  let ended = false
  let cached: { readonly isReady: boolean, readonly until: number } | undefined
  let running: Promise<boolean> | undefined

  const check = (database: Database): Promise<boolean> => Promise.race([
    getOrCreate(checks, database, () => ask(database).finally(() => checks.delete(database))),
    sleep(PATIENCE, false, { ref: false })
  ])

  const checkAll = async (): Promise<boolean> => {
    const each = await Promise.all(Array.from(databases().values(), check))
    const isReady = each.length > 0 && !each.includes(false)
    cached = { isReady, until: performance.now() + CACHED_FOR }
    running = undefined
    return isReady
  }

  return {
    async isReady () {
      if (ended) return false
      if (cached !== undefined && performance.now() < cached.until) return cached.isReady
      running ??= checkAll()
      return await running && !ended
    },
    end () { ended = true }
  }
}

async function ask ({ getCatalog, dialect }: Database): Promise<boolean> {
  try {
    await getCatalog()
    await dialect.check?.()
    return true
  } catch {
    return false
  }
}
