/**
 * The seed of the random cases, which a run prints (run.ts). `TEST_SEED` repeats a run; CI sets it, so that its result
 * depends on the change only.
 */
import fc from 'fast-check'

export const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed })
