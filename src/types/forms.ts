/** The forms of an update (`{"$inc": 5}`). Their SQL depends on the engine and is in mysql.ts and sqlite.ts. */
import { Type } from '@sinclair/typebox'
import { isObject } from '../json/exact-json.ts'
import {
  type ColumnType, createType, expected, type FormSql, type MomentForm, type UpdateForm, type Value
} from './column-type.ts'
import { decimalSchema, digitsName, readDecimal } from './decimal.ts'
import { doubleType, type FixedPoint, largest } from './float.ts'
import { integerBounds, readInteger } from './integer.ts'
import { CALENDAR, NowSchema, readMoment } from './moment.ts'

/** The SQL of a form: ``sqlOf`${COLUMN} + ${GIVEN}` ``. */
export function sqlOf (texts: TemplateStringsArray, ...slots: FormSql): FormSql {
  return texts.flatMap((text, index) => index < slots.length ? [text, slots[index] as string] : [text])
}

/** A form that only the service assigns: the column gets its default. */
export const TO_DEFAULT = '$default'
const DEFAULT_SQL: FormSql = ['default']

/** The SQL by which a form of a column computes the new value; undefined if the parameter is the new value. */
export function formSql ({ forms }: Pick<ColumnType, 'forms'>, name: string): FormSql | undefined {
  return name === TO_DEFAULT ? DEFAULT_SQL : forms?.find((form) => form.name === name)?.sql
}

const INT64 = integerBounds(64, false)

/** `$inc` of an integer column. The operand has 64 bits, whatever the size of the column. */
export function incrementInteger (sql: FormSql): UpdateForm {
  return {
    name: '$inc',
    schema: Type.Integer({ title: 'IncrementInteger', format: 'int64' }),
    read: (operand): Value => readInteger(operand, INT64),
    sql
  }
}

/** `$inc` of a DECIMAL column. The operand has no more digits than the column. */
export function incrementDecimal (
  bounds: { precision: number; scale: number },
  sql: FormSql,
  toParameter: (text: string) => Value = (text) => text
): UpdateForm {
  const signed = { ...bounds, unsigned: false }
  return {
    name: '$inc',
    schema: decimalSchema(signed, 'IncrementDecimal'),
    read: (operand) => toParameter(readDecimal(operand, signed)),
    sql
  }
}

/** `$inc` of a FLOAT or DOUBLE column. `fixed`: the digits of FLOAT(M,D), to which the server would round. */
export function incrementDouble (sql: FormSql, fixed?: FixedPoint): UpdateForm {
  const schema =
    fixed === undefined
      ? Type.Number({ title: 'IncrementNumber', format: 'double' })
      : Type.Number({
        title: `IncrementNumber${digitsName(fixed)}`,
        format: 'double',
        minimum: -largest(fixed),
        maximum: largest(fixed)
      })
  return { name: '$inc', schema, read: doubleType({ unsigned: false, fixed }).read, sql }
}

/** Adds `$now` to a type of time: the time of the statement, in UTC, by the clock of the database. */
export function withNow (type: ColumnType, own: Partial<MomentForm> & Pick<MomentForm, 'kind'>): ColumnType {
  const moment: MomentForm = {
    digits: 0,
    padded: true,
    ...CALENDAR,
    isComparable: own.kind === 'date' || own.kind === 'moment',
    ...own
  }
  const now: UpdateForm = { name: '$now', schema: NowSchema, read: (operand) => readMoment(operand, moment, 'data') }
  return createType({ ...type, moment, forms: [...type.forms ?? [], now] })
}

/**
 * `$merge`: a JSON Merge Patch (RFC 7396). A stored value that is NULL or not an object is first replaced by an empty
 * object.
 */
export function mergeForm (read: (value: unknown) => Value, sql: FormSql): UpdateForm {
  return {
    name: '$merge',
    schema: Type.Object(
      {},
      {
        title: 'MergePatch',
        additionalProperties: true,
        description: 'A JSON Merge Patch (RFC 7396): null removes a member.'
      }
    ),
    read: (operand) => {
      if (!isObject(operand)) throw expected('an object')
      return read(operand)
    },
    sql
  }
}

/** Reads the text of a default in the catalog as a value of the type; undefined if the text does not show the value. */
export function readDefault ({ read, defaultOf = (text) => text }: ColumnType, text: string): Value | undefined {
  try {
    const value = defaultOf(text)
    return value === undefined ? undefined : read(value)
  } catch {
    return undefined // the type does not accept it
  }
}
