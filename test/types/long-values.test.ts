/** Very long values are refused quickly: reading takes linear time. */
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
  // Reading these once took minutes; then the time limit of the file fails.
  t.test(`${name} of a million digits is refused`, async (t) => { t.throws(read, { name: 'ValueRefused' }) })
}
