/** The update operators (`{"$inc": 5}`). Their SQL depends on the engine and is in mysql.ts and sqlite.ts. */
import { Type } from '@sinclair/typebox'
import { isObject } from '../json/exact-json.ts'
import {
  type ColumnType, createType, expected, type SqlTemplate, type MomentForm, type UpdateOperator, type Value
} from './column-type.ts'
import { decimalSchema, digitsName, INT64, readDecimal, readInteger } from './exact-numbers.ts'
import { doubleType, type FixedPoint, largest } from './float.ts'
import { CALENDAR, NowSchema, readMoment } from './moment.ts'

/** Such as ``sqlOf`${COLUMN} + ${GIVEN}` ``. Its slots may be templates, too. */
export function sqlOf (
  texts: TemplateStringsArray,
  ...slots: ReadonlyArray<SqlTemplate | SqlTemplate[number]>
): SqlTemplate {
  return texts.flatMap<typeof slots[number]>((text, index) => [text, slots[index] ?? []]).flat()
}

/** An update operator of every column: it gets its default. */
export const TO_DEFAULT = '$default'
/** MySQL and MariaDB have no function for the default of an expression. */
const DEFAULT_SQL: SqlTemplate = ['default']

/**
 * The SQL by which an update operator computes the new value; undefined if the parameter is the new value.
 * `defaultSql`: as in Column.
 */
export function operatorSql (
  { type: { updates }, defaultSql }: { readonly type: Pick<ColumnType, 'updates'>, readonly defaultSql?: string },
  name: string
): SqlTemplate | undefined {
  if (name === TO_DEFAULT) return defaultSql === undefined ? DEFAULT_SQL : [defaultSql]
  return updates?.find((operator) => operator.name === name)?.sql
}

/** `$inc` of an integer column. The operand has 64 bits, whatever the size of the column. */
export function incrementInteger (sql: SqlTemplate): UpdateOperator {
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
  sql: SqlTemplate,
  toParameter: (text: string) => Value = (text) => text
): UpdateOperator {
  const signed = { ...bounds, unsigned: false }
  return {
    name: '$inc',
    schema: decimalSchema(signed, 'IncrementDecimal'),
    read: (operand) => toParameter(readDecimal(operand, signed)),
    sql
  }
}

/** `$inc` of a FLOAT or DOUBLE column. `fixed`: the digits of FLOAT(M,D), to which the server would round. */
export function incrementDouble (sql: SqlTemplate, fixed?: FixedPoint): UpdateOperator {
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

/** `$now`: the time of the statement, in UTC, by the clock of the database. */
export function withNow (type: ColumnType, form: Partial<MomentForm> & Pick<MomentForm, 'kind'>): ColumnType {
  const moment: MomentForm = {
    digits: 0,
    padded: true,
    ...CALENDAR,
    isComparable: form.kind === 'date' || form.kind === 'moment',
    ...form
  }
  const now: UpdateOperator = {
    name: '$now',
    schema: NowSchema,
    read: (operand) => readMoment(operand, moment, 'data')
  }
  return createType({ ...type, moment, updates: [...type.updates ?? [], now] })
}

/**
 * `$merge`: a JSON Merge Patch (RFC 7396). A stored value that is NULL or not an object is first replaced by an empty
 * object.
 */
export function mergeForm (read: (value: unknown) => Value, sql: SqlTemplate): UpdateOperator {
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
