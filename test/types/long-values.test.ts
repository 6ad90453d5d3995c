/** A value as long as a body may be is refused at once: no reading of it takes more than one look at each character. */
import t from 'tap'
import { decimalType } from '../../src/types/decimal.ts'
import { integerType } from '../../src/types/integer.ts'
import { requireMysqlNumber } from '../../src/types/json.ts'
import { datetimeType, timestampType, timeType } from '../../src/types/temporal.ts'

const LENGTH = 1_000_000
const zeros = '0'.repeat(LENGTH)
const precision = { scale: 6, padded: true }

const long: Array<[string, () => unknown]> = [
  ['a decimal of zeros', () => decimalType({ precision: 10, scale: 2, unsigned: false }).read(`0.${zeros}1`)],
  ['a decimal with zeros before it', () => decimalType({ precision: 10, scale: 2, unsigned: false }).read(`${zeros}1`)],
  ['a whole number with zeros before it', () => integerType(64, false).read(`${zeros}1`)],
  ['a number inside JSON', () => requireMysqlNumber(`0.${zeros}1`)],
  ['a time', () => timeType(precision).read(`10:00:00.${zeros}1`)],
  ['a date and time', () => datetimeType(precision).read(`2026-01-01T10:00:00.${zeros}1`)],
  ['a moment', () => timestampType(precision).read(`2026-01-01T10:00:00.${zeros}1Z`)]
]

for (const [name, read] of long) {
  // Reading these took minutes once; the file's time limit is what fails then.
  t.test(`${name} of a million digits is refused`, async (t) => { t.throws(read, { name: 'ValueRefused' }) })
}
