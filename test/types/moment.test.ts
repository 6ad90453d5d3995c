/** Moments: what a column stores of them, and their expression for the servers. test/http/now.test.ts runs both. */
import t from 'tap'
import { writeMoment } from '../../src/dialects/mysql/moment.ts'
import { fromMicros, readMoment, valueAt } from '../../src/types/moment.ts'
import type { ColumnType, Moment, MomentForm } from '../../src/types/column-type.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import { sqliteColumn } from '../support/tables.ts'

const at = (text: string) => fromMicros(BigInt(Date.parse(text)) * 1000n + 456n)
/** As introspection finds it. */
function typeOnServer (declaration: string): ColumnType {
  const [, name = '', digits = null] = /^(\w+)(?:\((\d)\))?$/.exec(declaration) ?? []
  return mysqlType({ name, declaration, length: null, bytes: null, scale: digits === null ? null : Number(digits), charset: null, srid: null, json: false })
}
const moment = (declaration: string, offset: unknown, type = typeOnServer(declaration)): Moment => readMoment(offset, type.moment as MomentForm, 'data')

t.test('a month after the 31st is the last day of the next month, in leap years too', async (t) => {
  const cases: Array<[now: string, offset: object, expected: string]> = [
    ['2026-01-31T10:00:00Z', { months: 1 }, '2026-02-28 10:00:00'], ['2028-01-31T10:00:00Z', { months: 1 }, '2028-02-29 10:00:00'], ['2028-02-29T10:00:00Z', { years: 1 }, '2029-02-28 10:00:00'],
    ['2028-02-29T10:00:00Z', { years: -4 }, '2024-02-29 10:00:00'], ['2026-03-31T10:00:00Z', { months: -1, days: 1 }, '2026-03-01 10:00:00'], ['2026-05-31T23:59:59Z', { months: 1, seconds: 1 }, '2026-07-01 00:00:00'],
    ['2026-12-31T10:00:00Z', { months: 2 }, '2027-02-28 10:00:00'], ['2026-01-15T10:00:00Z', { months: -13 }, '2024-12-15 10:00:00'], ['2026-01-01T00:00:00Z', { years: -2025, days: 0 }, '0001-01-01 00:00:00'], ['2026-12-31T23:59:59Z', { years: 7973 }, '9999-12-31 23:59:59']
  ]
  for (const [now, offset, expected] of cases) t.equal(valueAt(moment('datetime', offset), at(now)), expected, `${now} ${JSON.stringify(offset)}`)
})

t.test('a value has the digits and the form of its column', async (t) => {
  const now = at('2026-11-23T10:15:00.120Z')
  const cases: Array<[declaration: string, mysql: string, sqlite: string]> = [
    ['datetime', '2026-11-23 10:15:00', '2026-11-23 10:15:00'], ['datetime(3)', '2026-11-23 10:15:00.120', '2026-11-23 10:15:00.12'], ['timestamp(6)', '2026-11-23 10:15:00.120456', '2026-11-23 10:15:00.120456'],
    ['time(1)', '10:15:00.1', '10:15:00.1'], ['date', '2026-11-23', '2026-11-23'], ['year', '2026', '2026']
  ]
  for (const [declaration, mysql, sqlite] of cases) {
    t.equal(valueAt(moment(declaration, true), now), mysql, declaration)
    t.equal(valueAt(moment(declaration, true, sqliteColumn('c', declaration).type), now), sqlite, declaration)
  }
})

t.test('what a column cannot hold has no value', async (t) => {
  const now = at('2026-11-23T10:15:00Z')
  for (const [declaration, offset] of [['timestamp', { years: 20 }], ['timestamp', { years: -57 }], ['datetime', { years: -2026 }], ['date', { days: 100_000, years: 7900 }], ['year', { years: 130 }], ['time', { years: 9000 }]] as const) {
    t.equal(valueAt(moment(declaration, offset), now), undefined, `${declaration} ${JSON.stringify(offset)}`)
  }
})

t.test('the expression has whole numbers only', async (t) => {
  t.equal(writeMoment(moment('datetime(3)', true)), 'current_timestamp(3)')
  t.equal(writeMoment(moment('date', true)), 'date(current_timestamp(0))')
  t.match(writeMoment(moment('datetime', { years: -1, days: 3 })), /^if\([a-z0-9_ *+(),-]+, \(\(current_timestamp\(0\) \+ interval -12 month\) \+ interval 259200 second\), 'out of range'\)$/)
  t.match(writeMoment({ ...moment('datetime', { seconds: -5 }), use: 'filters' }), /, null\)$/)
})
