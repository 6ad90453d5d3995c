/**
 * A transaction that a deadlock has undone runs again, after a pause. Two transactions that wait for each other's locks
 * would otherwise meet again. This file says when and after which pause; transaction.ts runs the attempts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceError } from '../../errors.ts'

/**
 * The number of retries after a deadlock, and the pause before the first one, in milliseconds; each later pause is
 * about three times as long.
 */
const RETRIES = 3
const PAUSE = 20
const GROWTH = 3

/** Whether the error is a deadlock, or a certification conflict of a cluster, which COMMIT may report. */
export const isDeadlock = (error: unknown): boolean => (error as ServiceError | undefined)?.code === 'DEADLOCK'

/** Whether the `attempt`th attempt may be followed by another one. */
export const mayRetry = (error: unknown, attempt: number): boolean => attempt <= RETRIES && isDeadlock(error)

/** Waits before the attempt after the `attempt`th one. */
export const pauseAfter = (attempt: number): Promise<void> =>
  sleep(PAUSE * GROWTH ** (attempt - 1) * (0.5 + Math.random()))
