// night: calls every place of a parameter with every value
import t, { type Test } from 'tap'
import { holdPlaces } from '../support/named-places.ts'

await holdPlaces(t as Test, 1)
