import { Type } from '@sinclair/typebox'
import {
  COLUMN, type ColumnType, type Computation, createType, type DriverValue, expected, type Positions,
  type SqlTemplate, naturalOrder, textOf, type Value, ValueRefused
} from './column-type.ts'
import { sqlOf } from './update-operators.ts'
import { integerType } from './exact-numbers.ts'

const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^(-?)(\d{2,3}):([0-5]\d):([0-5]\d)(?:\.(\d{1,30}))?$/
const DATETIME = /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,30}))?$/
const TIMESTAMP =
  /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,30}))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

const MINUTE_PATTERN = '([01]\\d|2[0-3]):[0-5]\\d'
const CLOCK_PATTERN = `${MINUTE_PATTERN}:[0-5]\\d`

/** Leap years, of the calendar and of TIMESTAMP until 2038 and 2106. */
const LEAP_YEAR = '(\\d\\d(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)'
const LEAP_YEAR_OF = new Map([
  [2038, '(19[79][26]|198[048]|20[02][048]|20[13][26])'],
  [2106, '(19[79][26]|198[048]|20[02468][048]|20[13579][26]|2104)']
])
/** Years with all their days. */
const YEAR_OF = new Map([[2038, '(19[7-9]\\d|20[0-2]\\d|203[0-7])'], [2106, '(19[7-9]\\d|20\\d\\d|210[0-5])']])
/** The moments of the last year up to the last second, in UTC. */
const LAST_YEAR = new Map([
  [
    2038,
    `2038-01-((0[1-9]|1[0-8])T${CLOCK_PATTERN}|19T(0[0-2]:[0-5]\\d:[0-5]\\d|03:(0\\d|1[0-3]):[0-5]\\d|03:14:0[0-7]))`
  ],
  [
    2106,
    `2106-((01-(0[1-9]|[12]\\d|3[01])|02-0[1-6])T${CLOCK_PATTERN}|` +
    '02-07T(0[0-5]:[0-5]\\d:[0-5]\\d|06:([01]\\d|2[0-7]):[0-5]\\d|06:28:(0\\d|1[0-5])))'
  ]
])

/** Months and days of every year, with zero parts as isDay accepts them, and without. */
const DAY_OF_YEAR = '((0[013578]|1[02])-([0-2]\\d|3[01])|(0[469]|11)-([0-2]\\d|30)|02-([01]\\d|2[0-8]))'
const WHOLE_DAY_OF_YEAR =
  '((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))'

const DAY_PATTERN = `(\\d{4}-${DAY_OF_YEAR}|${LEAP_YEAR}-02-29)`
const fractionPattern = (scale: number): string => scale === 0 ? '' : `(\\.\\d{1,${scale}})?`

/**
 * A pattern of the moments that a TIMESTAMP can store, with any offset, and of MySQL's zero timestamp. It also allows
 * the hours before 1970 on the first day.
 */
function momentPattern (scale: number, lastSecond: number): string {
  const year = new Date(lastSecond * 1000).getUTCFullYear()
  const days = `(${YEAR_OF.get(year)}-${WHOLE_DAY_OF_YEAR}|${LEAP_YEAR_OF.get(year)}-02-29)`
  const fraction = fractionPattern(scale)
  const zero = `0000-00-00T00:00:00${scale === 0 ? '' : `(\\.0{1,${scale}})?`}Z`
  const usual = `${days}T${CLOCK_PATTERN}${fraction}(Z|[+-]${MINUTE_PATTERN})`
  return `^(${usual}|${LAST_YEAR.get(year)}${fraction}Z|${zero})$`
}

/**
 * The text begins in the form `2026-11-20`. Zero parts are valid: MySQL can store `2026-00-00` (manual, "The DATE,
 * DATETIME, and TIMESTAMP Types"), and every value that a select returns must be accepted.
 */
export function isDay (text: string): boolean {
  const [month, day] = [twoDigits(text, 5), twoDigits(text, 8)]
  return month <= 12 && (day <= 28 || day <= daysOf(Number(text.slice(0, 4)), month))
}

const ZERO_DIGIT = 0x30

/** Creates no text. */
function twoDigits (text: string, at: number): number {
  return 10 * (text.charCodeAt(at) - ZERO_DIGIT) + text.charCodeAt(at + 1) - ZERO_DIGIT
}

/** 31 for month 0. For the servers, year 0 is not a leap year. */
function daysOf (year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || (year % 400 === 0 && year > 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** `scale`: digits of a second. `padded`: the column always has so many (MySQL), or keeps the given ones (SQLite). */
interface Precision { scale: number, padded: boolean }

/** As the column stores it. @throws ValueRefused for more digits, which would be rounded */
function fractionOf (digits = '', { scale, padded }: Precision): string {
  const withoutZeros = digits.replace(/0+$/, '')
  if (withoutZeros.length > scale) throw new ValueRefused(`can have at most ${scale} fractional digits of a second`)
  const shown = padded ? withoutZeros.padEnd(scale, '0') : digits.slice(0, scale)
  return shown === '' ? '' : '.' + shown
}

/** The text of a date or moment in which each month has 31 days, as columns store it under ALLOW_INVALID_DATES. */
const STORED_DAY = '\\d{4}-(0\\d|1[0-2])-([0-2]\\d|3[01])'

/** MySQL refuses a constant of a day that its month does not have. */
function aroundDay (value: Value): readonly [low: Value, high: Value] | undefined {
  const text = String(value)
  if (isDay(text)) return undefined
  const next = String(twoDigits(text, 5) + 1).padStart(2, '0')
  return [`${text.slice(0, 7)}-28`, `${text.slice(0, 5)}${next}-00`]
}

/** `pattern`: of values. `toStored`: in the form of the server. */
function dayPositions (
  { read, write }: Pick<ColumnType, 'read' | 'write'>,
  pattern: string,
  toStored: (text: string) => Value
): Positions {
  const form = new RegExp(pattern)
  return {
    read: (value) => typeof value === 'string' && form.test(value) && !isDay(value) ? toStored(value) : read(value),
    write,
    pattern,
    around: aroundDay,
    asText: ['cast(', ' as char)']
  }
}

export function dateType (): ColumnType {
  const read = (value: unknown): Value => {
    if (typeof value !== 'string' || !DATE.test(value) || !isDay(value)) throw expected('a date such as 2026-11-20')
    return value
  }
  const write = (value: DriverValue): string => `"${textOf(value)}"`
  return createType({
    schema: Type.String({ title: 'Date', format: 'date', pattern: `^${DAY_PATTERN}$`, examples: ['2026-11-20'] }),
    read,
    write,
    positions: dayPositions({ read, write }, `^${STORED_DAY}$`, (text) => text),
    wireFormat: 'quoted',
    order: naturalOrder
  })
}

/** TIME: a time of day or a duration, from -838:59:59 to 838:59:59. */
export function timeType (precision: Precision): ColumnType {
  return createType({
    schema: Type.String({
      title: `Time${precision.scale}`,
      pattern: `^-?(\\d\\d|[0-7]\\d\\d|8[0-2]\\d|83[0-8]):[0-5]\\d:[0-5]\\d${fractionPattern(precision.scale)}$`,
      description: 'A time from -838:59:59 to 838:59:59.',
      examples: ['10:15:00']
    }),
    read: (value) => {
      const match = typeof value === 'string' ? TIME.exec(value) : null
      if (match === null) throw expected('a time such as -12:30:00.5')
      const [, sign, hours, minutes, seconds, digits] = match
      const fraction = fractionOf(digits, precision)
      if (Number(hours) > 838) throw new ValueRefused('must be from -838:59:59 to 838:59:59')
      // the servers show two digits of the hour if they are enough
      const hour = precision.padded ? String(Number(hours)).padStart(2, '0') : hours
      const time = `${hour}:${minutes}:${seconds}${fraction}`
      return /[1-9]/.test(time) ? sign + time : time // the servers have no -00:00:00
    },
    write: (value) => `"${textOf(value)}"`,
    wireFormat: 'quoted',
    // SQLite compares the texts
    order: precision.padded ? (one, other) => naturalOrder(signedDigits(one), signedDigits(other)) : naturalOrder
  })
}

/** The digits of a time with its sign. All parameters of a column have the same number of digits after the point. */
const signedDigits = (time: Value): number => Number(String(time).replace(/[:.]/g, ''))

/** DATETIME: a date and time without an offset. */
export function datetimeType (precision: Precision): ColumnType {
  const { scale, padded } = precision
  /** The length of a value with all its digits, as MySQL returns it. */
  const length = padded ? 19 + (scale > 0 ? scale + 1 : 0) : NaN
  const readMoment = (value: unknown, isOwnDay: (text: string) => boolean): Value => {
    if (typeof value === 'string' && value.length === length && DATETIME.test(value) && isOwnDay(value)) {
      return `${value.slice(0, 10)} ${value.slice(11)}`
    }
    const match = typeof value === 'string' ? DATETIME.exec(value) : null
    if (match === null || !isOwnDay(match[1] as string)) {
      throw expected('a date and time without an offset, such as 2026-11-20T10:15:00.123')
    }
    return `${match[1]} ${match[2]}${fractionOf(match[3], precision)}`
  }
  const read = (value: unknown): Value => readMoment(value, isDay)
  const write = (value: DriverValue): string => `"${textOf(value).replace(' ', 'T')}"`
  const stored = `^${STORED_DAY}[T ]${CLOCK_PATTERN}${fractionPattern(scale)}$`
  return createType({
    schema: Type.String({
      title: `DateTime${scale}`,
      pattern: `^${DAY_PATTERN}[T ]${CLOCK_PATTERN}${fractionPattern(scale)}$`,
      description: 'A date and time without an offset.',
      examples: ['2026-11-20T10:15:00']
    }),
    read,
    write,
    positions: dayPositions({ read, write }, stored, (text) => readMoment(text, () => true)),
    wireFormat: 'moment',
    order: naturalOrder
  })
}

/** MySQL's range of TIMESTAMP in seconds since 1970 (manual, "The DATE, DATETIME, and TIMESTAMP Types"). */
const FIRST_SECOND = 1
const LAST_SECOND = 0x7fffffff
/** The upper bound since MariaDB 11.5 on 64-bit platforms: 2106-02-07T06:28:15Z. */
export const LAST_SECOND_OF_64_BITS = 0xffffffff
const ZERO = '0000-00-00 00:00:00'

/** The seconds since 1970 that a TIMESTAMP can hold. */
export const timestampBounds = (last = LAST_SECOND) => ({ first: FIRST_SECOND, last })

/** TIMESTAMP: a moment. Accepts RFC 3339 with any offset and returns UTC; the session's time zone is +00:00. */
export function timestampType (precision: Precision, lastSecond = LAST_SECOND): ColumnType {
  const bounds = { first: utcText(FIRST_SECOND), last: utcText(lastSecond) }
  return createType({
    schema: Type.String({
      title: `Timestamp${precision.scale}`,
      format: 'date-time',
      pattern: momentPattern(precision.scale, lastSecond),
      examples: ['2026-11-20T10:15:00Z']
    }),
    read: (value) => {
      const match = typeof value === 'string' ? TIMESTAMP.exec(value) : null
      if (match === null || !isDay(match[1] as string)) {
        throw expected('a time with an offset (RFC 3339), such as 2026-11-20T10:15:00.123Z')
      }
      return utc(match, bounds) + fractionOf(match[3], precision)
    },
    write: (value) => `"${textOf(value).replace(' ', 'T')}Z"`,
    wireFormat: 'instant',
    // MySQL shows the default in the time zone of the session that created the column
    defaultOf: (text) => (precision.padded ? undefined : `${text}Z`),
    order: naturalOrder
  })
}

const utcText = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')

/** In MySQL's format, in which texts sort by time. MySQL's zero timestamp is not a moment and stays unchanged. */
function utc (
  [, day, time, , offset]: RegExpExecArray,
  { first, last }: { readonly first: string, readonly last: string }
): string {
  const local = `${day} ${time}`
  if (local === ZERO) return ZERO
  const isUtc = offset === 'Z' || offset === 'z'
  const seconds = isUtc ? NaN : new Date(`${day}T${time}${offset}`).getTime() / 1000
  const moment = isUtc ? local : seconds >= FIRST_SECOND ? utcText(seconds) : ''
  const isWhole = twoDigits(local, 5) > 0 && twoDigits(local, 8) > 0
  if (isWhole && moment >= first && moment <= last) return moment
  throw new ValueRefused(`must be from ${first.replace(' ', 'T')}Z to ${last.replace(' ', 'T')}Z`)
}

// By parts of time rows are grouped: numbers of years, and texts that sort by time.

const YEAR = createType({
  ...integerType(16, false),
  schema: Type.Integer({ title: 'YearOfTime', format: 'int32', minimum: 0, maximum: 9999, examples: [2026] }),
  sentAs: new Set(['integer', 'year'])
})

function partType (pattern: string, example: string): ColumnType {
  const form = new RegExp(pattern)
  return createType({
    schema: Type.String({ pattern, examples: [example] }),
    read: (value) => {
      if (typeof value !== 'string') throw expected(`a text such as ${example}`)
      if (!form.test(value)) throw new ValueRefused(`must have the form ${example}`)
      return value
    },
    write: (value) => JSON.stringify(textOf(value)),
    comparison: 'text',
    sentAs: new Set(['text'])
  })
}

/** Weeks are of ISO 8601; a date with zero parts has none. */
const types = {
  $year: YEAR,
  $month: partType('^\\d{4}-(0\\d|1[0-2])$', '2026-11'),
  $week: partType('^\\d{4}-W(0[1-9]|[1-4]\\d|5[0-3])$', '2026-W47'),
  $date: partType(`^${STORED_DAY}$`, '2026-11-23'),
  $hour: partType(`^${STORED_DAY}T([01]\\d|2[0-3])$`, '2026-11-23T10')
}
type Name = keyof typeof types

/** The computations of the parts of a column. A DATE has no hours. */
function partsOf (sqls: Readonly<Record<Name, SqlTemplate>>, hasHours: boolean): ReadonlyMap<string, Computation> {
  const names = (Object.keys(types) as Name[]).filter((name) => hasHours || name !== '$hour')
  return new Map(names.map((name) => [name, { type: types[name], sql: sqls[name] }]))
}

const IS_WHOLE_DAY = sqlOf`year(${COLUMN}) > 0 and month(${COLUMN}) > 0 and dayofmonth(${COLUMN}) > 0`

const MYSQL: Readonly<Record<Name, SqlTemplate>> = {
  $year: sqlOf`year(${COLUMN})`,
  $month: sqlOf`date_format(${COLUMN}, '%Y-%m')`,
  $week: sqlOf`if(${IS_WHOLE_DAY}, date_format(${COLUMN}, '%x-W%v'), null)`,
  $date: sqlOf`date_format(${COLUMN}, '%Y-%m-%d')`,
  $hour: sqlOf`date_format(${COLUMN}, '%Y-%m-%dT%H')`
}

/** A column can contain any value, and only a text in the form of a day has parts. */
const DAY_GLOB = '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'
const DAY = sqlOf`typeof(${COLUMN}) = 'text' and ${COLUMN} glob '${DAY_GLOB}*'`
const SQLITE_WEEK = sqlOf`strftime('%G-W%V', substr(${COLUMN}, 1, 10))`
const HOUR = sqlOf`typeof(${COLUMN}) = 'text' and ${COLUMN} glob '${DAY_GLOB}[ T][0-9][0-9]*'`

const SQLITE: Readonly<Record<Name, SqlTemplate>> = {
  $year: sqlOf`case when ${DAY} then cast(substr(${COLUMN}, 1, 4) as integer) end`,
  $month: sqlOf`case when ${DAY} then substr(${COLUMN}, 1, 7) end`,
  $week: sqlOf`case when ${DAY} and substr(${COLUMN}, 1, 4) > '0000' then ${SQLITE_WEEK} end`,
  $date: sqlOf`case when ${DAY} then substr(${COLUMN}, 1, 10) end`,
  $hour: sqlOf`case when ${HOUR} then substr(${COLUMN}, 1, 10) || 'T' || substr(${COLUMN}, 12, 2) end`
}

export const MYSQL_PARTS = { day: partsOf(MYSQL, false), moment: partsOf(MYSQL, true) }
export const SQLITE_PARTS = { day: partsOf(SQLITE, false), moment: partsOf(SQLITE, true) }
