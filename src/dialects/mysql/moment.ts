/** Writes a moment as an expression of constants of this file and whole numbers. `current_timestamp` is the same in the whole statement. */
import type { Moment, MomentForm } from '../../types/column-type.ts'

/** `to_seconds('1970-01-01')` */
const EPOCH = 62_167_219_200
/** Months of the years 1 and 9999, counted from year 0, because sums with `year()` are unsigned on MySQL and must not be negative. */
const [FIRST_MONTH, LAST_MONTH] = [13, 120_000]

/**
 * Tests before the sum is computed whether the column can hold it: an overflow in a write is an error on MySQL even in a filter (1441), and no error
 * on MariaDB.
 */
export function writeMoment ({ form, months, seconds, use }: Moment): string {
  const now = `current_timestamp(${form.digits})`
  if (months === 0 && seconds === 0) return inForm(form, now)
  const shifted = months === 0 ? now : `(${now} + interval ${months} month)`
  const moment = seconds === 0 ? shifted : `(${shifted} + interval ${seconds} second)`
  const isInCalendar = months === 0 ? '' : `12 * year(${now}) + month(${now}) between ${FIRST_MONTH - months} and ${LAST_MONTH - months} and `
  return `if(${isInCalendar}to_seconds(${shifted}) between ${form.first + EPOCH - seconds} and ${form.last + EPOCH - seconds}, ${inForm(form, moment)}, ${use === 'filters' ? 'null' : REFUSED[form.kind]})`
}

function inForm ({ kind }: MomentForm, moment: string): string {
  switch (kind) {
    case 'moment': return moment
    case 'date': return `date(${moment})`
    case 'time': return `time(${moment})`
    case 'year': return `year(${moment})`
  }
}

/** A value that every column of this kind refuses in strict mode (1292, 1264). */
const REFUSED: Readonly<Record<MomentForm['kind'], string>> = { moment: "'out of range'", date: "'out of range'", time: "'out of range'", year: '9999' }
