/** The seed of the random cases of a test file, which it prints. `TEST_SEED` repeats a run; CI sets it, so that its result depends on the change only. */
import fc from 'fast-check'
import t from 'tap'

export const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
t.comment(`TEST_SEED=${seed}`)
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed })
