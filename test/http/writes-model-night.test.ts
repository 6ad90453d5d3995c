// night: many random cases
/** The model of all writes (support/write-model.ts). */
import t from 'tap'
import '../support/seed.ts'
import { compareWrites } from '../support/write-model.ts'

await compareWrites(t, 40)
