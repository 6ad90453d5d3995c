/** The parameters of a call come as an object of JSON, or in the query string of a URL. */
import { MAX_LIMIT } from '../../schemas/limits.ts'
import type { Column } from '../catalog/catalog.ts'
import {
  at, didYouMean, invalidBody, invalidValue, limitOutOfRange, type Path, type ServiceError, valueNotAllowed
} from '../errors.ts'
import { readText } from '../imports/csv-parser.ts'
import { isObject, objectKeys, type RawNumber } from '../json/exact-json.ts'
import { readWith } from '../plan/columns.ts'
import { Holes, StandIn, type StandIns } from '../plan/holes.ts'
import { toNumber } from '../request/check-body.ts'
import { isNow } from '../types/moment.ts'
import type { Declared, NamedRequest } from './definition.ts'
import { type FieldOfPage, Parameter } from './places.ts'

/**
 * The values that a call gives: of JSON, or as texts of a query string, where a list is a list of texts. They are own
 * properties, whatever their names are.
 */
export interface Given {
  readonly values: Readonly<Record<string, unknown>>
  readonly isText: boolean
}

const refuse = (name: string, reason: string): ServiceError => at([name], invalidBody(`Parameter "${name}": ${reason}`))

/** @throws INVALID_BODY for unknown parameters, and for those that are missing */
function requireKnown ({ parameters, list }: NamedRequest, values: Given['values']): void {
  const names = objectKeys(values)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string
    if (!parameters.has(name)) throw refuse(name, `there is none with this name${didYouMean(name, parameters.keys())}`)
  }
  for (let index = 0; index < list.length; index++) {
    const { name, isOptional, default: otherwise } = list[index] as Declared
    if (!isOptional && otherwise === undefined && !Object.hasOwn(values, name)) throw refuse(name, 'is missing')
  }
}

/** @throws INVALID_BODY */
export function readObject (request: NamedRequest, body: unknown): Given {
  if (!isObject(body)) throw at('', invalidBody('The body must be a JSON object of parameters'))
  requireKnown(request, body)
  return { values: body, isText: false }
}

/**
 * The query string as it was sent, because a parser of the host app may make objects of it, and replaces what is not
 * UTF-8. @throws INVALID_BODY
 */
export function readQuery (request: NamedRequest, url: string): Given {
  const { parameters } = request
  const start = url.indexOf('?')
  const values = Object.create(null) as Record<string, unknown>
  const pairs = start < 0 ? [] : url.slice(start + 1).split('&').filter((pair) => pair !== '')
  for (const pair of pairs) {
    const end = pair.indexOf('=')
    const sent = end < 0 ? pair : pair.slice(0, end)
    const name = decode(sent, sent)
    const value = end < 0 ? '' : decode(pair.slice(end + 1), name)
    const parameter = parameters.get(name)
    if (parameter === undefined && /[[\]]/.test(name)) throw refuse(name, 'brackets have no meaning: repeat the name')
    if (parameter?.isList === true) ((values[name] ??= []) as string[]).push(value)
    else if (Object.hasOwn(values, name)) throw refuse(name, 'is there twice')
    else values[name] = value
  }
  requireKnown(request, values)
  return { values, isText: true }
}

/** `name`: for the error. @throws INVALID_BODY */
function decode (text: string, name: string): string {
  try {
    if (/^[\x20-\x7e]*$/.test(text)) return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    // not UTF-8, or a percent sign without digits
  }
  throw refuse(name, 'is not percent-encoded UTF-8')
}

/** @throws INVALID_VALUE, LIMIT_OUT_OF_RANGE, INVALID_BODY */
export function readField (
  field: FieldOfPage,
  { name, maximum }: Declared,
  { value, isText }: Supplied,
  offset: number
): unknown {
  const wrong = (reason: string): ServiceError => at([name], valueNotAllowed(`Parameter "${name}": ${reason}`))
  if (field === 'after') {
    const position = isText ? parse(value as string, wrong) : value
    if (position === null || isObject(position)) return position
    throw wrong('expected null or a position, such as "next" of a response')
  }
  const number = toWhole(value, isText)
  if (number === undefined) throw wrong('expected a whole number')
  const most = maximum ?? (field === 'limit' ? MAX_LIMIT : offset)
  if (field === 'limit' && (number < 1 || number > most)) {
    const error = limitOutOfRange(most)
    error.message = `Parameter "${name}": must be from 1 to ${most}`
    throw at([name], error)
  }
  if (number < 0 || number > most) throw refuse(name, `must be from 0 to ${most}`)
  return number
}

function toWhole (value: unknown, isText: boolean): number | undefined {
  if (isText) return /^-?(0|[1-9]\d*)$/.test(value as string) ? toNumber(value as string) : undefined
  const number = JSON.isRawJSON(value) ? toNumber((value as RawNumber).rawJSON) : value
  return typeof number === 'number' && Number.isInteger(number) ? number : undefined
}

function parse (text: string, wrong: (reason: string) => ServiceError): unknown {
  try {
    return readText(undefined, text)
  } catch (error) {
    throw wrong((error as Error).message)
  }
}

/** The value of a parameter in a call: one of JSON, or texts; or the default, which may be `{"$now": …}`. */
export interface Supplied { readonly value: unknown, readonly isText: boolean, readonly isDefault: boolean }

/**
 * A list is one value of a JSON column, of which a parameter cannot be a part, but for a list of values.
 * @throws INVALID_BODY at the list, for no value causes it
 */
function wholeOf (given: unknown, { name, type }: Column, path: Path): unknown {
  if (!Array.isArray(given) || !type.structured || !given.some((each) => each instanceof Parameter)) return given
  if (path.at(-1) !== name && LISTS.has(path.at(-1))) return given
  throw at(path, invalidBody(`Column "${name}": a list is one value here, and "$param" is not allowed within it`))
}

const LISTS: ReadonlySet<unknown> = new Set(['$in', '$nin'])

/** The parameters of one call, in the order of the request. */
export class Parameters implements StandIns {
  readonly values: Map<object, unknown> | undefined
  readonly #request: NamedRequest
  readonly #supplied: ReadonlyArray<Supplied | undefined>

  constructor (request: NamedRequest, supplied: ReadonlyArray<Supplied | undefined>) {
    this.#request = request
    this.#supplied = supplied
    // only the hook for writes asks for them
    this.values = request.isRead ? undefined : new Map<object, unknown>()
  }

  /** A value is bound, whatever it looks like. @throws INVALID_VALUE, INVALID_BODY */
  replace (given: unknown, column: Column, path: Path): unknown {
    if (!(given instanceof Parameter)) return wholeOf(given, column, path)
    const value = this.read(given, column, path)
    if (isNowByDefault(this.get(given) as Supplied)) return value
    return Array.isArray(value) && given.isList ? value.map((each) => StandIn.sent(each)) : StandIn.sent(value)
  }

  get ({ name }: Parameter): Supplied | undefined {
    return this.#supplied[this.#request.parameters.get(name)?.index as number]
  }

  read (given: Parameter, column: Column, path: Path): unknown {
    const supplied = this.get(given) as Supplied
    const parameter = isNowByDefault(supplied)
      ? supplied.value
      : given.isList ? readList(given, column, path, supplied) : readOne(given, column, path, supplied)
    this.values?.set(given, parameter)
    return parameter
  }
}

function readList (given: Parameter, column: Column, path: Path, { value, isText }: Supplied): unknown[] {
  if (!Array.isArray(value)) throw at(path, invalidValue(column.name, 'expected a list of values'))
  return value.map((each, index) => readOne(given, column, [...path, index], { value: each, isText }))
}

/** `{"$now": …}` is a form in a default, and never in a call. */
export const isNowByDefault = ({ value, isDefault }: Supplied): boolean => isDefault && isNow(value)

/** Reads a text by its column, as a cell of CSV. @throws INVALID_VALUE */
function readOne (
  { isMember, isPart, mayBeNull }: Parameter,
  column: Column,
  path: Path,
  { value: given, isText }: Omit<Supplied, 'isDefault'>
): unknown {
  const value = isText && !isMember ? readWith((text) => readText(column, text as string), column, given, path) : given
  if (value === null && !mayBeNull) throw at(path, invalidValue(column.name, 'null is not a value here'))
  if (value === '' && isPart) throw at(path, invalidValue(column.name, 'expected a text that is not empty'))
  return value
}

export interface PlannedPlace { readonly parameter: Parameter, readonly column: Column }

/** Stands for the values of any call, but those that are known. */
export class AnyParameters implements StandIns {
  readonly holes: Holes
  readonly #known: Parameters

  constructor (known: Parameters, holes: Holes) {
    this.#known = known
    this.holes = holes
  }

  /** @throws INVALID_VALUE for known values, INVALID_BODY */
  replace (given: unknown, column: Column, path: Path): unknown {
    if (!(given instanceof Parameter)) return wholeOf(given, column, path)
    if (this.#known.get(given) !== undefined) return this.#known.replace(given, column, path)
    const place: PlannedPlace = { parameter: given, column }
    const any = StandIn.unknown(this.holes, place, given.isList)
    return given.isList ? [any] : any
  }
}

/** The defaults, which are checked with the definition. */
export const defaultsOf = ({ list }: NamedRequest): Array<Supplied | undefined> => list.map(({ default: otherwise }) =>
  otherwise && { value: otherwise.value, isText: false, isDefault: true })
