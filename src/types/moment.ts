/**
 * `{"$now": {"days": -30}}`: a moment by the clock of the database. It stands in a plan in place of a value, so that
 * statements with different moments have the same shape. A dialect converts it to a value when the statement runs.
 */
import { Type } from '@sinclair/typebox'
import { isObject, numberText } from '../json/exact-json.ts'
import { expected, ValueRefused, type Moment, type MomentForm, type Value } from './column-type.ts'

/** The maximum offset, in each of its units. */
export const MAX_OFFSET = 100_000

const MONTHS = new Map([['years', 12], ['months', 1]])
const SECONDS = new Map([['days', 86_400], ['hours', 3600], ['minutes', 60], ['seconds', 1]])
export const UNITS: readonly string[] = [...MONTHS.keys(), ...SECONDS.keys()]

const Amount = Type.Integer({ minimum: -MAX_OFFSET, maximum: MAX_OFFSET })

/** The name of its schema in documents. */
export const NOW = 'Now'

export const NowSchema = Type.Union(
  [
    Type.Boolean({ enum: [true] }),
    Type.Object(Object.fromEntries(UNITS.map((unit) => [unit, Type.Optional(Amount)])), {
      additionalProperties: false,
      minProperties: 1
    })
  ],
  {
    title: NOW,
    description:
      'The present time in UTC by the clock of the database: true, or moved by an offset, such as {"days": -30}. ' +
      'Years and months are added first, the day at most the last of its month, then the rest.'
  }
)

/** The first and the last second of the calendar, since 1970. */
export const CALENDAR = { first: -62_135_596_800, last: 253_402_300_799 }

export interface Clock {
  /** Whole seconds since 1970. */
  readonly seconds: number
  /** Millionths of the second. */
  readonly micros: number
}

export const systemClock = (): Clock => fromMicros(BigInt(Date.now()) * 1000n)

/** `micros`: millionths of a second since 1970. */
export function fromMicros (micros: bigint): Clock {
  return { seconds: Number(micros / 1_000_000n), micros: Number(micros % 1_000_000n) }
}

/** The only key is `$now`. */
export function isNow (value: unknown): value is { readonly $now: unknown } {
  return isObject(value) && Object.hasOwn(value, '$now') && Object.keys(value).length === 1
}

/** True or an offset. @throws ValueRefused */
export function readMoment (operand: unknown, form: MomentForm, use: Moment['use']): Moment {
  const { months, seconds } = readOffset(operand)
  return Object.freeze({ form, use, months, seconds })
}

/** Reads the operand of `$now` without a column. @throws ValueRefused */
export function readOffset (operand: unknown): Pick<Moment, 'months' | 'seconds'> {
  if (operand === true) return { months: 0, seconds: 0 }
  const entries = isObject(operand) ? Object.entries(operand) : []
  const notUnit = entries.find(([unit]) => !UNITS.includes(unit))
  if (entries.length === 0 || notUnit !== undefined) throw expected(`true, or an offset of ${UNITS.join(', ')}`)
  let [months, seconds] = [0, 0]
  for (const [unit, given] of entries) {
    const amount = readAmount(given)
    months += amount * (MONTHS.get(unit) ?? 0)
    seconds += amount * (SECONDS.get(unit) ?? 0)
  }
  return { months, seconds }
}

function readAmount (given: unknown): number {
  const amount = Number(numberText(given))
  if (!Number.isInteger(amount) || Math.abs(amount) > MAX_OFFSET) {
    throw new ValueRefused(`the parts of an offset must be whole numbers from -${MAX_OFFSET} to ${MAX_OFFSET}`)
  }
  return amount
}

/** Undefined if the column cannot store it. Years and months are added first, then the rest. */
export function valueAt ({ form, months, seconds }: Moment, { seconds: now, micros }: Clock): Value | undefined {
  const shifted = months === 0 ? now : addMonths(now, months)
  if (shifted === undefined) return undefined
  const at = shifted + seconds
  if (at < form.first || at > form.last) return undefined
  const text = new Date(at * 1000).toISOString()
  const [day, time] = [text.slice(0, 10), text.slice(11, 19)]
  switch (form.kind) {
    case 'year': return day.slice(0, 4)
    case 'date': return day
    case 'time': return time + fractionOf(micros, form)
    case 'moment': return `${day} ${time}${fractionOf(micros, form)}`
  }
}

/** The day becomes at most the last one of the month. */
function addMonths (now: number, months: number): number | undefined {
  const date = new Date(now * 1000)
  const total = 12 * date.getUTCFullYear() + date.getUTCMonth() + months
  const [year, month] = [Math.floor(total / 12), total - 12 * Math.floor(total / 12)]
  if (year < 1 || year > 9999) return undefined
  const day = Math.min(date.getUTCDate(), new Date(new Date(0).setUTCFullYear(year, month + 1, 0)).getUTCDate())
  return date.setUTCFullYear(year, month, day) / 1000
}

/** Cut to the digits of the column. */
function fractionOf (micros: number, { digits, padded }: MomentForm): string {
  const cut = String(micros).padStart(6, '0').slice(0, digits)
  const shown = padded ? cut : cut.replace(/0+$/, '')
  return shown === '' ? '' : `.${shown}`
}
