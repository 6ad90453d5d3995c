/** Whether the service can do its work now: asked by load balancers, every few seconds and by several of them at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from './database.ts'
import { getOrCreate } from '../get-or-create.ts'

export interface Readiness {
  /** By a look that is a second old at most. Never rejects. */
  isReady (): Promise<boolean>
  /** From now on it is not. */
  end (): void
}

/** How long an answer holds, in milliseconds. */
const KEPT = 1000
/** How long a database may take to show that it is there, in milliseconds: less than the second that a probe of Kubernetes waits. */
const PATIENCE = 800

export function createReadiness (databases: () => ReadonlyMap<string, Database>): Readiness {
  const checks = new WeakMap<Database, () => Promise<boolean>>()
  let ended = false
  let known: { readonly isReady: boolean, readonly until: number } | undefined
  let underWay: Promise<boolean> | undefined

  const checkOf = (database: Database): () => Promise<boolean> => getOrCreate(checks, database, () => createCheck(database))

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

/** Looks after one database. What hangs is waited for again by the next look: there is never more than one of it. */
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
