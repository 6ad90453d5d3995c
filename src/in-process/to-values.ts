/** Converts bodies to JSON text and responses to JavaScript values, without rounding integers. */
import { inspect } from 'node:util'
import { invalidBody, invalidJson, ServiceError } from '../errors.ts'
import type { Column } from '../catalog/catalog.ts'
import { membersOf } from '../plan/filters/scope.ts'
import { resultColumns, type Member, type Plan } from '../plan/plan.ts'
import type { Bigints } from './field-types.ts'
import { isPlain } from '../json/plain-values.ts'
import { parseExactJson, type RawNumber } from '../json/exact-json.ts'

type Values = Record<string, unknown>

/** `next`: a position, which has values of columns, or an offset. */
interface Data { rows?: Values[], next?: Values | number | null }

/** `data` of the response to a plan. */
export function readResponse (response: string | Buffer, plan: Plan, bigints: Bigints): unknown {
  const { data } = parseExactJson(String(response)) as { data: Data }
  return toValues(data, namesOf(plan), bigints)
}

/** Creates a function that reads a row of a plan from its JSON text. */
export function createRowReader (plan: Plan, bigints: Bigints): (text: string) => Values {
  const names = namesOf(plan)
  const convert = createConverter(toLargeOf(bigints))
  return (text) => {
    const row = parseExactJson(text) as Values
    convertRow(row, names, convert)
    return row
  }
}

const namesOf = (plan: Plan): RowNames => ({
  columns: resultColumns(plan),
  members: namesOfMembers(membersOf(plan))
})

/** The columns and members behind the names in a row. */
interface RowNames {
  readonly columns: ReadonlyMap<string, Column>
  readonly members: ReadonlyMap<string, RowNames>
}

const namesOfMembers = (members: readonly Member[]): RowNames['members'] =>
  new Map(
    members.map((member) => [
      member.name,
      {
        columns: new Map(member.columns.map((column) => [column.name, column])),
        members: namesOfMembers(member.kind === 'computed' ? [] : member.members)
      }
    ])
  )

/**
 * Converts the numbers of a response. Integers that a double cannot represent become bigints or strings of digits if
 * the column is an integer or JSON column; every other number becomes the nearest double, which is exact for FLOAT and
 * DOUBLE.
 */
function toValues (data: Data, names: RowNames, bigints: Bigints): unknown {
  const convert = createConverter(toLargeOf(bigints))
  const { rows = [], next = null } = data
  for (const row of typeof next === 'object' && next !== null ? [...rows, next] : rows) {
    convertRow(row, names, convert)
  }
  for (const [name, value] of Object.entries(data)) {
    if (name !== 'rows' && name !== 'next') convert(data, name, value, true)
  }
  return data
}

const toLargeOf = (bigints: Bigints): ((digits: string) => bigint | string) =>
  bigints === 'string' ? (digits) => digits : BigInt

function convertRow (row: Values, names: RowNames, convert: Convert): void {
  const { columns, members } = names
  for (const [name, value] of Object.entries(row)) {
    const member = members.get(name)
    if (member === undefined) convert(row, name, value, isExact(columns.get(name)))
    else {
      for (const related of [value].flat() as Array<Values | null>) {
        if (related !== null) convertRow(related, member, convert)
      }
    }
  }
}

function isExact (column: Column | undefined): boolean {
  return column?.type.wholeNumbers !== undefined || column?.type.structured === true
}

type Convert = (holder: object, key: string, value: unknown, isExact: boolean) => void

/** Creates a function that replaces numbers that were parsed as text, at any depth of a JSON value. */
function createConverter (toLarge: (digits: string) => bigint | string): Convert {
  const toValue = ({ rawJSON }: RawNumber, isExact: boolean): number | bigint | string =>
    isExact && /^-?\d+$/.test(rawJSON) && !Number.isSafeInteger(Number(rawJSON)) ? toLarge(rawJSON) : Number(rawJSON)

  const convert: Convert = (holder, key, value, isExact) => {
    // not an assignment, because the key can be `__proto__`
    if (JSON.isRawJSON(value)) {
      Object.defineProperty(holder, key, {
        value: toValue(value, isExact),
        writable: true,
        enumerable: true,
        configurable: true
      })
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) convert(value, name, item, isExact)
    }
  }
  return convert
}

/**
 * Serializes a value; integers may be bigints. @throws INVALID_BODY for values that JSON does not have, INVALID_JSON
 * for cycles
 */
export function toJson (value: unknown): string {
  try {
    return JSON.stringify(value, requireJson)
  } catch (error) {
    throw error instanceof ServiceError ? error : invalidJson('it cannot be serialized')
  }
}

/**
 * Refuses values that JSON.stringify would change: it would remove a filter that is undefined, and write NaN and an
 * invalid Date as null and a promise as an empty object.
 */
function requireJson (this: Values, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return JSON.rawJSON(String(value))
  if (!isJson(value) || (value === null && this[key] !== null)) {
    throw invalidBody(`"${key}" is ${inspect(value, { depth: -1 })}, which JSON does not have`)
  }
  return value
}

function isJson (value: unknown): boolean {
  switch (typeof value) {
    case 'object': return value === null || Array.isArray(value) || isPlain(value)
    case 'number': return Number.isFinite(value)
    default: return ['string', 'boolean'].includes(typeof value)
  }
}
