/** Hostile values in places of parameters: some of them each time; named-requests-places-night.test.ts has all. */
import t, { type Test } from 'tap'
import { holdPlaces } from '../support/named-places.ts'

await holdPlaces(t as Test, 127)
