import type { Dialect } from '../dialects/dialect.ts'
import { DELETED_AT_ONCE } from '../sql/write.ts'
import { deleteOld } from './keys-table.ts'

/** Deletes old keys in the background. */
export interface KeyCleanUp {
  /** Notes that a key was used, so that there may be old ones. */
  noteUse (): void
  stop (): void
}

/** The interval of clean-ups while keys are used, and the delay of the first one, in milliseconds. */
const INTERVAL = 600_000

export interface CleanUpOptions {
  /** How long a key is kept, in milliseconds. */
  readonly lifetime: number
  readonly interval?: number
  readonly onError: (error: unknown) => void
}

/** Several processes may clean up at once: each deletes a limited number of the remaining rows at a time. */
export function createKeyCleanUp (dialect: Dialect, { lifetime, interval = INTERVAL, onError }: CleanUpOptions): KeyCleanUp {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  const deleteSome = async (): Promise<number> => {
    const statement = deleteOld[dialect.engine](Math.ceil(lifetime / 1000))
    // REPEATABLE READ would lock the gaps into which new keys are inserted
    const { changed } = await dialect.transaction((tx) => tx.run(statement), { readOnly: false, isolation: 'readCommitted' })
    return changed
  }

  const deleteAll = async (): Promise<void> => {
    if (!isStopped && await deleteSome() >= DELETED_AT_ONCE) await deleteAll()
  }
  const cleanUp = async (): Promise<void> => {
    await deleteAll().catch(onError)
    timer = undefined
  }

  return {
    noteUse () { if (!isStopped) timer ??= setTimeout(cleanUp, interval).unref() },
    stop () {
      isStopped = true
      clearTimeout(timer)
    }
  }
}
