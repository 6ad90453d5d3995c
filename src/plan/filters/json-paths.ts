/** Paths inside a JSON column: `$.size`, `$.tags[0]`, `$.tags[last]`, `$."any key"`, and the tests of `$at` there. */
import { PATH_STEP, type PathOperatorName, PATH_OPERATORS } from '../../../schemas/filters.ts'
import type { Column } from '../../catalog/catalog.ts'
import { at, invalidBody, invalidValue, type Path, pointer, unsupported } from '../../errors.ts'
import { isObject, objectKeys, numberText } from '../../json/exact-json.ts'
import { expected, type JsonInside, type Scalar, type Value } from '../../types/column-type.ts'
import { readString } from '../../types/text.ts'
import { readWith } from '../columns.ts'
import type { At, Condition, JsonPart, JsonParts, JsonPlace, JsonTest, Operator } from '../plan.ts'
import { combine, countCondition, countValues, type FilterScope, requireRoom, requireShort } from './scope.ts'

const STEP = new RegExp(PATH_STEP, 'sy')

/** Its keys are written anew, in quotes. @throws INVALID_BODY, NOT_SUPPORTED */
export function readPath (
  text: string,
  column: Column,
  { table, limits, path }: Pick<FilterScope, 'table' | 'limits'> & { readonly path: Path }
): JsonPlace {
  requireShort(text, limits, path)
  const inside = column.type.inside as JsonInside
  const { listName, maxSteps, unreachable, fromEnd } = inside
  const steps: string[] = []
  const lists: number[] = []
  const ends = new Set<number>()
  STEP.lastIndex = 1
  while (text.startsWith('$') && STEP.lastIndex < text.length) {
    const [step, name, quoted, index, last, others = '0'] = STEP.exec(text) ?? []
    const key = name ?? (quoted === undefined ? undefined : readKey(quoted))
    if (step === undefined || (index ?? last ?? key) === undefined) break
    if (key !== undefined && unreachable?.keys.test(key) === true) {
      throw unsupported(pointer(...path), unreachable.reason)
    }
    if (last !== undefined) {
      if (table.traits?.countsFromEnd === false) {
        throw unsupported(pointer(...path), '"[last]" needs MariaDB 10.9 or later')
      }
      ends.add(steps.length)
    }
    if (listName !== undefined && (index === '0' || last !== undefined)) lists.push(steps.length)
    const inList = last === undefined ? `[${index}]` : fromEnd(Number(others))
    steps.push(key === undefined ? inList : `.${JSON.stringify(key)}`)
    if (steps.length > maxSteps) throw refuseForm(path, `has more than ${maxSteps} steps`)
    if (STEP.lastIndex === text.length) return placeOf({ steps, lists, ends }, inside)
  }
  if (text === '$') return placeOf({ steps, lists, ends }, inside)
  throw refuseForm(path, 'is not a path such as $.size, $.tags[0], $.tags[last] or $."any key"')
}

/** `lists`: the numbers of steps to the values that must be lists. `ends`: the steps that count from the end. */
function placeOf (
  { steps, lists, ends }: {
    readonly steps: readonly string[]
    readonly lists: readonly number[]
    readonly ends: ReadonlySet<number>
  },
  { step: byStep, perRow }: JsonInside
): JsonPlace {
  const parts = byStep === undefined || steps.length === 0
    ? undefined
    : steps.map((step, index): JsonPart => ({
      jsonPath: `$${step}`,
      ...perRow !== undefined && ends.has(index) && { isFromEnd: true }
    }))
  const partsTo = (length: number): JsonParts => parts === undefined || length === 0
    ? [{ jsonPath: ['$', ...steps.slice(0, length)].join('') }]
    : parts.slice(0, length) as [JsonPart, ...JsonPart[]]
  return { jsonParts: partsTo(steps.length), lists: lists.map(partsTo) }
}

/** A key of a path, which may contain any characters. */
const KEY = /"(?:[^"\\]|\\.)*"/g

/**
 * Conditions of a path beyond its own: each step into a list but the first. MySQL needs a condition for each, so that
 * 256 paths of 98 such steps kept the event loop for seconds.
 */
export const furtherLists = ({ jsonParts }: JsonPlace): number =>
  Math.max(0, jsonParts.reduce((sum, { jsonPath }) => sum + jsonPath.replace(KEY, '').split('[').length - 1, -1))

/** Undefined if the text is not a JSON string of valid Unicode. */
function readKey (quoted: string): string | undefined {
  try {
    const key: string = JSON.parse(quoted)
    return key.isWellFormed() ? key : undefined
  } catch {
    return undefined
  }
}

// The tests of `$at`.

/** The object under `$at`, or the operand of one operator in it, with its path in the body. */
interface Given { readonly column: Column, readonly value: unknown, readonly scope: FilterScope, readonly path: Path }

/** An operand, and the place in the JSON at which it is compared. */
type Operand = Given & { readonly place: JsonPlace }

/** All paths must hold. @throws INVALID_BODY, INVALID_VALUE, NOT_SUPPORTED */
export function planPaths ({ value, ...given }: Given): Condition {
  const { path, column, scope } = given
  const texts = isObject(value) ? objectKeys(value) : []
  if (texts.length === 0) {
    throw refuseForm(path, 'must be an object of paths that is not empty, such as {"$.size": {"$gt": 5}}')
  }
  requireRoom(scope, texts, path)
  return combine('and', texts.map((text) => {
    const inner = [...path, text]
    const place = readPath(text, column, { ...scope, path: inner })
    for (let further = furtherLists(place); further > 0; further--) countCondition(scope, inner)
    return planValue({ ...given, value: (value as Readonly<Record<string, unknown>>)[text], path: inner, place })
  }))
}

/** A plain value is an equality. */
function planValue (operand: Operand): Condition {
  const { value, path } = operand
  if (!isObject(value)) return planOperator('$eq', operand)
  const names = objectKeys(value)
  if (names.length === 0 || names.some((name) => !name.startsWith('$'))) throw refuseValue(operand)
  requireRoom(operand.scope, names, path)
  return combine('and', names.map((name) =>
    planOperator(name, { ...operand, value: value[name], path: [...path, name] })))
}

function planOperator (name: string, operand: Operand): Condition {
  if (!isOperator(name)) {
    throw refuse(operand, `"${name}" is not possible inside JSON; use one of ${Object.keys(PATH_OPERATORS).join(', ')}`)
  }
  countCondition(operand.scope, operand.path)
  return planners[name](operand)
}

const isOperator = (name: string): name is PathOperatorName => Object.hasOwn(PATH_OPERATORS, name)

const planners: Readonly<Record<PathOperatorName, (operand: Operand) => Condition>> = {
  $eq: (operand) => operand.value === null ? isNull(operand, false) : compare(operand, '='),
  $ne: (operand) => operand.value === null ? isNull(operand, true) : compare(operand, '<>'),
  // never NULL
  $is: (operand) => operand.value === null
    ? isNull(operand, false)
    : combine('and', [compare(operand, '='), isNull(operand, true)]),
  $in: (operand) => planIn(operand, false),
  $nin: (operand) => planIn(operand, true),
  $gt: (operand) => compare(operand, '>'),
  $gte: (operand) => compare(operand, '>='),
  $lt: (operand) => compare(operand, '<'),
  $lte: (operand) => compare(operand, '<='),
  $between: planBetween,
  $startsWith: (operand) => find(operand, true),
  $contains: (operand) => find(operand, false),
  $null: (operand) => isNull(operand, !readBoolean(operand)),
  $exists: (operand) => test(operand, { kind: 'exists', negated: !readBoolean(operand) })
}

const test = ({ column, place }: Operand, test: JsonTest): At => ({ kind: 'at', column, ...place, test })

const isNull = (operand: Operand, negated: boolean): At => test(operand, { kind: 'null', negated })

const compare = (operand: Operand, operator: Operator): At =>
  test(operand, { kind: 'compare', operator, ...readScalar(operand) })

/** A null in the list is no value at the path, or JSON's null. */
function planIn (operand: Operand, negated: boolean): Condition {
  const values = readList(operand)
  const notNull = values.filter(({ value }) => value !== null)
  const byScalar = Map.groupBy(notNull.map(readScalar), ({ scalar }) => scalar)
  return combine(negated ? 'and' : 'or', [
    ...Array.from(byScalar, ([scalar, scalars]): Condition =>
      test(operand, { kind: 'in', scalar, negated, parameters: scalars.map(({ parameter }) => parameter) })),
    ...notNull.length < values.length ? [isNull(operand, negated)] : []
  ])
}

function planBetween (operand: Operand): Condition {
  const [low, high, ...more] = readList(operand)
  if (low === undefined || high === undefined || more.length > 0) {
    throw refuse(operand, '$between requires a list of two values')
  }
  const conditions = [compare(low, '>='), compare(high, '<=')]
  if (typeOf(low.value) !== typeOf(high.value)) throw refuse(operand, '$between requires two values of one type')
  return combine('and', conditions)
}

/** Numbers may be objects with their texts. */
const typeOf = (value: unknown): string => numberText(value) === undefined ? typeof value : 'number'

function readList (operand: Operand): Operand[] {
  const { value, scope, path } = operand
  if (!Array.isArray(value)) throw refuse(operand, 'expected a list of values')
  countValues(scope, value.length, path)
  return value.map((each: unknown, index) => ({ ...operand, value: each, path: [...path, index] }))
}

function find (operand: Operand, isStart: boolean): Condition {
  const { scope, path, column, value } = operand
  const pattern = readWith(readString, column, value, path)
  requireShort(pattern, scope.limits, path)
  return test(operand, { kind: 'find', scalar: 'text', isStart, parameter: Buffer.from(pattern) })
}

function readBoolean (operand: Operand): boolean {
  if (typeof operand.value !== 'boolean') throw refuse(operand, `${operand.path.at(-1)} requires true or false`)
  return operand.value
}

/** Integers from here to 2^64 may be other ones than the doubles nearest to them. */
const [LARGE, MAXIMUM] = [2 ** 53, 2 ** 64]

function readScalar (operand: Operand): { readonly scalar: Scalar, readonly parameter: Value } {
  const { column, value, path } = operand
  const { readNumber, booleans } = column.type.inside as JsonInside
  if (typeof value === 'boolean') return { scalar: 'boolean', parameter: booleans[Number(value) as 0 | 1] }
  if (typeof value === 'string') {
    return { scalar: 'text', parameter: Buffer.from(readWith(readString, column, value, path)) }
  }
  if (numberText(value) === undefined) throw refuseValue(operand)
  const parameter = readWith(readNumber, column, value, path)
  const size = Math.abs(Number(parameter))
  return { scalar: size >= LARGE && size <= MAXIMUM ? 'large' : 'number', parameter }
}

const refuse = ({ column, path }: Given, reason: string) => at(path, invalidValue(column.name, reason))

const refuseValue = (given: Given) => refuse(
  given,
  given.value === null
    ? `null cannot be compared with ${given.path.at(-1)}; use $null`
    : `${expected('a text, a number, true, false or null').message}; lists, objects, "$ref" and "$now" are not possible`
)

const refuseForm = (path: Path, reason: string) => at(path, invalidBody(`"${path.join('.')}" ${reason}`))
