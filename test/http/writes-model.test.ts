/** A short run of the model of all writes (support/write-model.ts). */
import t from 'tap'
import '../support/seed.ts'
import { compareWrites } from '../support/write-model.ts'

await compareWrites(t, 5)
