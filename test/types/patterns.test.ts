/** The patterns of schemas allow what the types read, and nothing else. */
import t, { type Test } from 'tap'
import { binaryType } from '../../src/types/binary.ts'
import { ValueRefused, type ColumnType } from '../../src/types/column-type.ts'
import { datetimeType, dateType, LAST_SECOND_OF_64_BITS, timestampType, timeType } from '../../src/types/temporal.ts'
import { enumType } from '../../src/types/text.ts'

const precision = { scale: 3, padded: true }

function isRead ({ read }: ColumnType, text: string): boolean {
  try {
    read(text)
    return true
  } catch (error) {
    if (error instanceof ValueRefused) return false
    throw error
  }
}

/** Compares the pattern with the type for each of the texts. */
function agree (t: Test, type: ColumnType, texts: readonly string[]): void {
  const pattern = new RegExp(type.schema['pattern'] as string, 'u')
  const different = texts.filter((text) => pattern.test(text) !== isRead(type, text))
  t.same(different, [])
  t.ok(texts.some((text) => pattern.test(text)))
}

const pad = (number: number): string => String(number).padStart(2, '0')
const days = ['0000', '0004', '0100', '0400', '1900', '1970', '1999', '2000', '2023', '2024', '2037', '2096', '2100', '2104', '2400', '9996', '9999'].flatMap((year) =>
  Array.from({ length: 14 }, (_, month) => Array.from({ length: 33 }, (_, day) => `${year}-${pad(month)}-${pad(day)}`)).flat())

t.test('dates, with zero parts and leap years', async (t) => {
  agree(t as Test, dateType(), [...days, '2026-1-01', '26-01-01', '2026-01-01 ', ''])
  agree(t as Test, datetimeType(precision), [...days.map((day) => `${day}T10:15:00`), '2026-01-01 23:59:59.123', '2026-01-01T24:00:00', '2026-01-01T10:60:00', '2026-01-01T10:00:60', '2026-01-01T10:00:00Z', '2026-01-01T10:00:00.', '2026-01-01T10:00:00.1234'])
})

t.test('moments between 1970 and the last second', async (t) => {
  const last = [['2038-01-19T03:14:', 7, undefined], ['2106-02-07T06:28:', 15, LAST_SECOND_OF_64_BITS]] as const
  for (const [minute, second, lastSecond] of last) {
    const type = timestampType(precision, lastSecond)
    const near = ['2038-01-18T23:59:59Z', '2038-01-19T02:59:59Z', '2038-01-19T04:00:00Z', '2038-01-20T00:00:00Z', '2038-02-01T00:00:00Z', '2039-01-01T00:00:00Z', '2105-12-31T23:59:59Z', '2106-01-31T10:00:00Z', '2106-02-06T23:59:59Z', '2106-02-07T05:59:59Z', '2106-02-07T06:30:00Z', '2106-02-08T00:00:00Z', '2106-03-01T00:00:00Z', '2107-01-01T00:00:00Z', '0000-00-00T00:00:00Z', '0000-00-00T00:00:00.000Z']
    const seconds = Array.from({ length: 60 }, (_, index) => `${minute}${pad(index)}Z`)
    const whole = days.filter((day) => !/-00/.test(day) && !day.startsWith('1970-01-01')).map((day) => `${day}T12:00:00+02:00`)
    agree(t as Test, type, [...near, ...seconds, ...whole, '2026-01-01T10:00:00', '2026-01-01T10:00:00.123-11:30', '2026-01-01T10:00:00+24:00'])
    t.ok(isRead(type, `${minute}${pad(second)}Z`))
  }
})

t.test('times to 838 hours', async (t) => {
  agree(t as Test, timeType(precision), ['00:00:00', '-12:30:00.5', '838:59:59', '839:00:00', '799:00:00', '800:00:00', '829:59:59', '999:00:00', '1:00:00', '10:60:00', '10:00:60', '10:00:00.123', '10:00:00.1234', '+10:00:00'])
})

t.test('base64 of as many bytes as a column has', async (t) => {
  for (let size = 1; size <= 8; size++) {
    const texts = Array.from({ length: 12 }, (_, length) => Buffer.alloc(length, 0xfb).toString('base64'))
    agree(t as Test, binaryType({ bytes: size, padded: false }), [...texts, '+/==', 'AB==', 'AAB=', 'A', 'AA', 'A===', '-_==', ' AA=='])
  }
  agree(t as Test, binaryType({ bytes: null, padded: false }), ['', 'AAAA', 'AA==', 'AAA=', 'AB==', 'AAB=', 'AAAAA'])
})

t.test('members of which information_schema shows ? for a character', async (t) => {
  agree(t as Test, enumType(['q?', 'a.b', 'x|y']), ['q?', 'q🚲', 'qq', 'a.b', 'aab', 'x|y', 'x', 'y', 'q'])
})
