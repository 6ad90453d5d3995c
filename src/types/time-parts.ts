/** Parts of time, by which rows are grouped: numbers of years, and texts that sort by time. */
import { Type } from '@sinclair/typebox'
import { COLUMN, createType, expected, textOf, ValueRefused, type Computation, type ColumnType, type FormSql } from './column-type.ts'
import { sqlOf } from './forms.ts'
import { integerType } from './integer.ts'

/** Name -> pattern of the texts and an example. Weeks are those of ISO 8601; a date with zero parts has none. */
const texts = {
  $month: ['^\\d{4}-(0\\d|1[0-2])$', '2026-11'],
  $week: ['^\\d{4}-W(0[1-9]|[1-4]\\d|5[0-3])$', '2026-W47'],
  $date: ['^\\d{4}-(0\\d|1[0-2])-([0-2]\\d|3[01])$', '2026-11-23'],
  $hour: ['^\\d{4}-(0\\d|1[0-2])-([0-2]\\d|3[01])T([01]\\d|2[0-3])$', '2026-11-23T10']
} as const

const YEAR = createType({
  ...integerType(16, false),
  schema: Type.Integer({ title: 'YearOfTime', format: 'int32', minimum: 0, maximum: 9999, examples: [2026] }),
  sentAs: new Set(['integer', 'year'])
})

function textType ([pattern, example]: readonly [string, string]): ColumnType {
  const form = new RegExp(pattern)
  return createType({
    schema: Type.String({ pattern, examples: [example] }),
    read: (value) => {
      if (typeof value !== 'string') throw expected(`a text such as ${example}`)
      if (!form.test(value)) throw new ValueRefused(`must have the form ${example}`)
      return value
    },
    // $startsWith and $contains accept any text
    readPattern: (value) => {
      if (typeof value !== 'string') throw expected('a string')
      return value
    },
    write: (value) => JSON.stringify(textOf(value)),
    comparison: 'text',
    sentAs: new Set(['text'])
  })
}

type Name = '$year' | keyof typeof texts
const types: Readonly<Record<Name, ColumnType>> = { $year: YEAR, $month: textType(texts.$month), $week: textType(texts.$week), $date: textType(texts.$date), $hour: textType(texts.$hour) }

/** The names of all parts. */
export const PARTS = Object.keys(types) as readonly Name[]

/** The computations of the parts of a column. A DATE has no hours. */
export type Parts = ReadonlyMap<string, Computation>

function partsOf (sqls: Readonly<Record<Name, FormSql>>, hasHours: boolean): Parts {
  return new Map(PARTS.filter((name) => hasHours || name !== '$hour').map((name) => [name, { type: types[name], sql: sqls[name] }]))
}

const MYSQL: Readonly<Record<Name, FormSql>> = {
  $year: sqlOf`year(${COLUMN})`,
  $month: sqlOf`date_format(${COLUMN}, '%Y-%m')`,
  $week: sqlOf`if(year(${COLUMN}) > 0 and month(${COLUMN}) > 0 and dayofmonth(${COLUMN}) > 0, date_format(${COLUMN}, '%x-W%v'), null)`,
  $date: sqlOf`date_format(${COLUMN}, '%Y-%m-%d')`,
  $hour: sqlOf`date_format(${COLUMN}, '%Y-%m-%dT%H')`
}

/** Tests the form of the value, because a column can contain any value, and only a text in the form of a day has parts. */
const DAY = sqlOf`typeof(${COLUMN}) = 'text' and ${COLUMN} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'`
const HOUR = sqlOf`typeof(${COLUMN}) = 'text' and ${COLUMN} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][ T][0-9][0-9]*'`
const when = (condition: FormSql, value: FormSql): FormSql => ['case when ', ...condition, ' then ', ...value, ' end']

const SQLITE: Readonly<Record<Name, FormSql>> = {
  $year: when(DAY, sqlOf`cast(substr(${COLUMN}, 1, 4) as integer)`),
  $month: when(DAY, sqlOf`substr(${COLUMN}, 1, 7)`),
  $week: when([...DAY, ...sqlOf` and substr(${COLUMN}, 1, 4) > '0000'`], sqlOf`strftime('%G-W%V', substr(${COLUMN}, 1, 10))`),
  $date: when(DAY, sqlOf`substr(${COLUMN}, 1, 10)`),
  $hour: when(HOUR, sqlOf`substr(${COLUMN}, 1, 10) || 'T' || substr(${COLUMN}, 12, 2)`)
}

export const MYSQL_PARTS = { day: partsOf(MYSQL, false), moment: partsOf(MYSQL, true) }
export const SQLITE_PARTS = { day: partsOf(SQLITE, false), moment: partsOf(SQLITE, true) }
