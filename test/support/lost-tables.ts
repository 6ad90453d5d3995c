/** Answers about tables that were there a moment ago. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Answer } from './service.ts'

/** Repeats a request until the answer has the status. */
export async function untilStatus (status: number, ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer.status === status) return answer
    await sleep(100)
  }
}

/** What was there a moment ago may come back. */
export function isLost (t: Test, { status, headers, json }: Answer, why: string): void {
  t.match({ status, json, retryAfter: headers['retry-after'] }, {
    status: 503, json: { success: false, data: {}, error: { code: 'DATABASE_UNAVAILABLE' } }, retryAfter: '1'
  }, why)
}
