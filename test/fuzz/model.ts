/**
 * Predicts which rows a filter matches, in three-valued logic, for columns with simple comparisons. It is independent
 * of the service's code and works on returned rows. It does not predict collations, floats and JSON.
 */
import type { FuzzTable, Kind } from './tables.ts'

export type Row = Readonly<Record<string, unknown>>
type Truth = boolean | null
type Matcher = (row: Row) => Truth
type Comparable = bigint | string

/** The model cannot predict this filter. */
class Unpredictable extends Error {}

const unpredictable = (): never => { throw new Unpredictable() }

/** Returns whether the filters match a row; undefined if the model cannot predict it. */
export function predict (filters: unknown, table: FuzzTable): ((row: Row) => boolean) | undefined {
  try {
    const matches = group(filters, table)
    return (row) => matches(row) === true
  } catch (error) {
    if (error instanceof Unpredictable) return undefined
    throw error
  }
}

/** A row without readable cells. */
const closed: Row = new Proxy({}, { get: () => unpredictable() })

/** Whether filters are true for every row after constant folding, such as `{"$not": {"$or": []}}`. */
export function saysNothing (filters: unknown, table: FuzzTable): boolean {
  try {
    return predict(filters, table)?.(closed) === true
  } catch (error) {
    if (error instanceof Unpredictable) return false
    throw error
  }
}

function group (filters: unknown, table: FuzzTable): Matcher {
  if (!isObject(filters)) throw new Unpredictable()
  return all(Object.entries(filters).map(([key, value]) => {
    if (key === '$and') return all(groups(value, table))
    if (key === '$or') return not(all(groups(value, table).map(not)))
    if (key === '$not') return not(group(value, table))
    if (key === '$is') {
      return all(Object.entries(isObject(value) ? value : unpredictable()).map(
        ([name, operand]) => leaf(name, kindOf(name, table), '$is', operand, table)
      ))
    }
    const name = key.startsWith('$$') ? key.slice(1) : key
    return column(name, kindOf(name, table), value, table)
  }))
}

const kindOf = (name: string, { kinds }: FuzzTable): Kind => kinds.get(name) ?? unpredictable()

function groups (value: unknown, table: FuzzTable): Matcher[] {
  if (!Array.isArray(value)) throw new Unpredictable()
  return value.map((each) => group(each, table))
}

const not = (matches: Matcher): Matcher => (row) => {
  const truth = matches(row)
  return truth === null ? null : !truth
}

/** A false operand decides, even if others depend on the row. */
const all = (matchers: readonly Matcher[]): Matcher => (row) => {
  const truths = matchers.map((matches) => attempt(() => matches(row)))
  if (truths.includes(false)) return false
  if (truths.includes(undefined)) throw new Unpredictable()
  return truths.includes(null) ? null : true
}

function attempt (ask: () => Truth): Truth | undefined {
  try {
    return ask()
  } catch (error) {
    if (error instanceof Unpredictable) return undefined
    throw error
  }
}

function column (name: string, kind: Kind, value: unknown, table: FuzzTable): Matcher {
  if (isObject(value) && !isNow(value)) {
    const { $case, ...operators } = value
    const fold = $case === undefined
      ? undefined
      : $case === 'ignore' &&
      kind === 'word'
        ? foldOf(table, operators)
        : unpredictable()
    return all(Object.entries(operators).map(([operator, operand]) => leaf(name, kind, operator, operand, table, fold)))
  }
  return leaf(name, kind, Array.isArray(value) ? '$in' : '$eq', value, table)
}

/**
 * How the engine makes texts lower case; on a server only beside operands whose letters have one lower case everywhere.
 */
function foldOf ({ engine }: FuzzTable, operators: object): (text: string) => string {
  const fold = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  if (engine === 'sqlite') return fold
  if (/[^\0-\x7f]/.test(JSON.stringify(operators))) return unpredictable()
  return (text) => fold(text).replaceAll('\u212a', 'k').replaceAll('\u0130', 'i')
}

/** Characters of a word (tables.ts). */
const WORD = 30

/** Columns that are NOT NULL (tables.ts). */
const NOT_NULL = new Set(['id', 'level'])

/** Compares two columns of a row: numbers by value, texts only for equality. */
function columns (name: string, operator: string, other: string, table: FuzzTable): Matcher {
  const [kind, otherKind] = [kindOf(name, table), kindOf(other, table)]
  const numbers: readonly Kind[] = ['integer', 'decimal']
  if (![kind, otherKind].every((each) => numbers.includes(each)) &&
    !(kind === 'word' && otherKind === 'word' && ['$eq', '$ne'].includes(operator))) return unpredictable()
  const cell = (row: Row, column: string, as: Kind): Comparable => {
    const value = valueOf(as, row[column])
    return as === 'integer'
      ? (value as bigint) * 100n
      : as === 'decimal' ||
      table.engine === 'sqlite'
        ? value
        : trimmed(value)
  }
  const test = COMPARISONS[operator] ?? unpredictable()
  return (row) => row[name] === null ||
    row[other] === null
    ? null
    : test(cell(row, name, kind), cell(row, other, otherKind))
}

const COMPARISONS: Readonly<Record<string, (a: Comparable, b: Comparable) => boolean>> = {
  $eq: (a, b) => a === b,
  $ne: (a, b) => a !== b,
  $gt: (a, b) => a > b,
  $gte: (a, b) => a >= b,
  $lt: (a, b) => a < b,
  $lte: (a, b) => a <= b
}

function leaf (
  name: string, kind: Kind, operator: string, operand: unknown, table: FuzzTable,
  fold: (text: string) => string = (text) => text
): Matcher {
  if (isObject(operand) &&
    typeof operand['$column'] === 'string') return columns(name, operator, operand['$column'], table)
  const { engine } = table
  const isNull: Matcher = NOT_NULL.has(name) ? () => false : (row) => row[name] === null
  /** A text longer than the column, which is in no row. */
  const isTooLong = (value: unknown): boolean => kind === 'word' && engine !== 'sqlite' && typeof value === 'string' &&
    [...value].length > WORD
  const known = (test: (cell: Comparable) => boolean): Matcher =>
    (row) => row[name] === null ? null : test(valueOf(kind, row[name]))
  // older collations of MySQL, such as utf8mb4_bin, ignore trailing spaces
  const same = (a: Comparable, b: Comparable): boolean => kind !== 'word'
    ? a === b
    : engine === 'sqlite' ? fold(String(a)) === fold(String(b)) : trimmed(fold(String(a))) === trimmed(fold(String(b)))
  const ordered = (): Comparable | undefined => kind === 'word' ? unpredictable() : comparedOf(kind, operand)
  // a NUL ends a text in SQLite's LIKE
  const likable = (cell: Comparable): string =>
    fold(engine === 'sqlite' ? String(cell).replace(/\0.*/s, '') : String(cell))
  const listed = (): { values: Comparable[], hasNull: boolean } => {
    if (!Array.isArray(operand)) throw new Unpredictable()
    return {
      values: operand.filter((each) => each !== null).map((each) => valueOf(kind, each)),
      hasNull: operand.includes(null)
    }
  }
  const isIn = (): Matcher => {
    const { values, hasNull } = listed()
    const fitting = values.filter((value) => !isTooLong(value))
    if (values.length > 0 && fitting.length === 0) return hasNull ? isNull : () => false
    const isListed: Matcher = values.length === 0
      ? () => false
      : known((cell) => fitting.some((each) => same(cell, each)))
    return hasNull ? not(all([not(isListed), not(isNull)])) : isListed
  }
  if (isTooLong(operand) &&
    ['$eq', '$is', '$ne'].includes(operator)) return operator === '$ne' ? not(isNull) : () => false
  switch (operator) {
    case '$eq': return operand === null ? isNull : compared(known, comparedOf(kind, operand), same)
    case '$is': {
      if (operand === null) return isNull
      const value = valueOf(kind, operand)
      return (row) => row[name] !== null && valueOf(kind, row[name]) === value
    }
    case '$ne': return not(operand === null ? isNull : compared(known, comparedOf(kind, operand), same))
    case '$in': return isIn()
    case '$nin': {
      const { values } = listed()
      return values.length > 0 && values.every(isTooLong) ? not(isNull) : not(isIn())
    }
    case '$gt': return compared(known, ordered(), (cell, value) => cell > value)
    case '$gte': return compared(known, ordered(), (cell, value) => cell >= value)
    case '$lt': return compared(known, ordered(), (cell, value) => cell < value)
    case '$lte': return compared(known, ordered(), (cell, value) => cell <= value)
    case '$between': {
      const [low, high] = Array.isArray(operand) && operand.length === 2 && !operand.includes(null) &&
        kind !== 'word'
        ? operand
        : unpredictable()
      return all([
        compared(known, comparedOf(kind, low), (cell, value) => cell >= value),
        compared(known, comparedOf(kind, high), (cell, value) => cell <= value)
      ])
    }
    case '$startsWith': return compared(
      known, textOf(kind, operand), (cell, value) => likable(cell).startsWith(fold(String(value)))
    )
    case '$contains': return compared(
      known, textOf(kind, operand), (cell, value) => likable(cell).includes(fold(String(value)))
    )
    case '$null': return operand === true ? isNull : operand === false ? not(isNull) : unpredictable()
    default: return unpredictable()
  }
}

type Known = (test: (cell: Comparable) => boolean) => Matcher
/** Nothing is true of a value that the column cannot hold. */
const compared = (
  known: Known, value: Comparable | undefined, test: (cell: Comparable, value: Comparable) => boolean
): Matcher => value === undefined ? () => null : known((cell) => test(cell, value))

const isNow = (value: unknown): value is { $now: unknown } => isObject(value) && Object.keys(value).join() === '$now'

/**
 * A value, or a time relative to the present one: undefined for one that a day cannot be. Only the offsets of
 * bodies.ts.
 */
function comparedOf (kind: Kind, operand: unknown): Comparable | undefined {
  if (!isNow(operand)) return valueOf(kind, operand)
  if (kind !== 'day') return unpredictable()
  const { years = 0, months = 0, days = 0 } = Object.fromEntries(Object.entries(
    isObject(operand.$now) ? operand.$now : {}
  ).map(([unit, amount]) => [unit, Number(JSON.stringify(amount))]))
  const date = new Date()
  const year = date.getUTCFullYear() + years
  if (months !== 0 || year < 1) return undefined
  date.setUTCFullYear(year)
  return new Date(date.getTime() + days * 86_400_000).toISOString().slice(0, 10)
}

const trimmed = (value: Comparable): string => String(value).replace(/ +$/, '')
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null &&
  !Array.isArray(value) && !JSON.isRawJSON(value)

const textOf = (kind: Kind, value: unknown): string => kind === 'word' &&
  typeof value === 'string'
  ? value
  : unpredictable()

/** Whether the model can read a value: not `1e2`, `1.0` or a mutated value. */
export function isKnown (kind: Kind, value: unknown): boolean {
  try {
    valueOf(kind, value)
    return true
  } catch {
    return false
  }
}

/** Converts a cell or an operand to a value that JavaScript compares as the column does. */
export function valueOf (kind: Kind, value: unknown): Comparable {
  const written = JSON.isRawJSON(value) ? value.rawJSON : value
  switch (kind) {
    case 'integer': return matched(written, /^-?\d+$/, BigInt)
    case 'decimal': return matched(written, /^-?\d+(\.\d{1,2})?$/, (digits) => {
      const [whole = '', fraction = ''] = digits.split('.')
      return BigInt(whole + fraction.padEnd(2, '0'))
    })
    case 'day': return matched(written, /^\d{4}-\d\d-\d\d$/, String)
    case 'bytes': return matched(written, /^[\w+/]*=*$/, (base64) => Buffer.from(base64, 'base64').toString('hex'))
    case 'flag': return matched(typeof written === 'boolean' ? String(Number(written)) : written, /^-?\d+$/, BigInt)
    case 'word': return matched(written, /^/, String)
  }
}

function matched (value: unknown, form: RegExp, make: (text: string) => Comparable): Comparable {
  return typeof value === 'string' && form.test(value) ? make(value) : unpredictable()
}
