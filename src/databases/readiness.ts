/** Finds out whether the service is ready. Several load balancers ask at once, every few seconds. */
import { setTimeout as sleep } from 'node:timers/promises'
import { getOrCreate } from '../get-or-create.ts'
import type { Database } from './database.ts'

export interface Readiness {
  /** Cached for one second; resolves within one second. Never rejects. */
  isReady (): Promise<boolean>
  /** Makes the service report that it is not ready. */
  end (): void
}

/** How long a result is cached, in milliseconds. */
const KEPT = 1000
/**
 * The time limit for the answer of a database, in milliseconds, which is less than the second that a probe of
 * Kubernetes waits.
 */
const PATIENCE = 800

export function createReadiness (databases: () => ReadonlyMap<string, Database>): Readiness {
  const checks = new WeakMap<Database, () => Promise<boolean>>()
  let ended = false
  let known: { readonly isReady: boolean, readonly until: number } | undefined
  let underWay: Promise<boolean> | undefined

  const checkOf = (database: Database): (() => Promise<boolean>) =>
    getOrCreate(checks, database, () => createCheck(database))

  const look = async (): Promise<boolean> => {
    const each = await Promise.all(Array.from(databases().values(), (database) => checkOf(database)()))
    const isReady = each.length > 0 && !each.includes(false)
    known = { isReady, until: performance.now() + KEPT }
    underWay = undefined
    return isReady
  }

  return {
    async isReady () {
      if (ended) return false
      if (known !== undefined && performance.now() < known.until) return known.isReady
      underWay ??= look()
      return await underWay && !ended
    },
    end () { ended = true }
  }
}

/** Checks one database. The next call waits for a check that hangs, so that there is never more than one. */
function createCheck (database: Database): () => Promise<boolean> {
  let underWay: Promise<boolean> | undefined
  return () => {
    underWay ??= ask(database).finally(() => { underWay = undefined })
    return Promise.race([underWay, sleep(PATIENCE, false, { ref: false })])
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
