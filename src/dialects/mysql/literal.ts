/**
 * Writes parameters as literals into the text of a statement, because rows of MySQL's binary protocol cost 1.4 to 2.4
 * times as much to read. Only this file writes literals, by their JavaScript type alone, which is safe in the sessions
 * of session-settings.ts: utf8mb4, neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES.
 */
import mysql from 'mysql2'
import type { Statement } from '../../sql/statement.ts'
import type { Cell, Moment, MomentForm } from '../../types/column-type.ts'
import { isMoment } from '../../types/moment.ts'

// Writes a moment as an expression of constants of this file and whole numbers. `current_timestamp` is the same in the
// whole statement.

/** `to_seconds('1970-01-01')` */
const EPOCH = 62_167_219_200
/** Months of the years 1 and 9999, counted from year 0; sums with `year()` must not be negative on MySQL. */
const [FIRST_MONTH, LAST_MONTH] = [13, 120_000]

/**
 * Tests before the sum is computed whether the column can hold it: an overflow in a write is an error on MySQL even in
 * a filter (1441), and no error on MariaDB.
 */
export function writeMoment ({ form, months, seconds, use }: Moment): string {
  const now = `current_timestamp(${form.digits})`
  if (months === 0 && seconds === 0) return inForm(form, now)
  const shifted = months === 0 ? now : `(${now} + interval ${months} month)`
  const moment = seconds === 0 ? shifted : `(${shifted} + interval ${seconds} second)`
  const isInCalendar =
    months === 0
      ? ''
      : `12 * year(${now}) + month(${now}) between ${FIRST_MONTH - months} and ${LAST_MONTH - months} and `
  return `if(${isInCalendar}to_seconds(${shifted}) between ${form.first + EPOCH - seconds} and ` +
    `${form.last + EPOCH - seconds}, ${inForm(form, moment)}, ${use === 'filters' ? 'null' : REFUSED[form.kind]})`
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
const REFUSED: Readonly<Record<MomentForm['kind'], string>> = {
  moment: "'out of range'",
  date: "'out of range'",
  time: "'out of range'",
  year: '9999'
}

/** Returns the whole text of a statement. Its pieces contain no placeholders: the text was cut at each of them. */
export function writeStatement ({
  pieces,
  parameters,
  rows,
  assigned
}: Pick<Statement, 'pieces' | 'parameters' | 'rows'> & Partial<Statement>): string {
  let text = pieces[0] as string
  let index = 0
  let piece = 1
  if (rows !== undefined) {
    if (assigned === undefined || assigned.length === 0) return text + ', ()'.repeat(rows - 1)
    // the text has one row in brackets; the rows before the last one end differently
    for (let row = 1; row < rows; row++) {
      for (let cell = 0; cell < assigned.length; cell++) {
        const separator = cell === assigned.length - 1 ? '), (' : (pieces[cell + 1] as string)
        text += writeLiteral(parameters[index++] as Cell) + separator
      }
    }
  }
  for (; index < parameters.length; index++) {
    text += writeLiteral(parameters[index] as Cell) + (pieces[piece++] as string)
  }
  return text
}

/** Characters that must be escaped in single quotes (MySQL manual, "String Literals"). */
const SPECIAL = /['\\\0]/

function writeLiteral (parameter: Cell): string {
  if (typeof parameter === 'string') return SPECIAL.test(parameter) ? mysql.escape(parameter) : `'${parameter}'`
  if (typeof parameter === 'number' || typeof parameter === 'bigint') return String(parameter)
  if (typeof parameter === 'symbol') return 'default'
  if (parameter === null) return 'null'
  return isMoment(parameter) ? writeMoment(parameter) : `x'${parameter.toString('hex')}'`
}
