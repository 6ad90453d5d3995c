/** The law of named requests by bytes, for few bodies; named-requests-bytes-night.test.ts has more. */
import t, { type Test } from 'tap'
import { holdLaw } from '../support/named-law.ts'

await holdLaw(t as Test, { runs: 60, most: 1, kinds: ['same', 'insert', 'given', 'default', 'optional', 'left out'] })
