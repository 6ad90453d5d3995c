import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until a condition is true. @throws after `seconds` */
export async function until (what: string, holds: () => boolean | Promise<boolean>, seconds = 10): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
    if (await holds()) return
    await sleep(10)
  }
  throw new Error(`timed out: ${what}`)
}
