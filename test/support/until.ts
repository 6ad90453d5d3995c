import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until a condition is true. @throws after `seconds`, which are many, because a machine may be busy */
export async function until (what: string, holds: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
    if (await holds()) return
    await sleep(10)
  }
  throw new Error(`timed out: ${what}`)
}
