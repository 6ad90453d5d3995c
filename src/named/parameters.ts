/** Reads the parameters of a call: from an object of JSON, or from the query string of a URL. */
import { MAX_LIMIT } from '../../schemas/limits.ts'
import type { Column } from '../catalog/catalog.ts'
import {
  at, didYouMean, invalidBody, invalidValue, limitOutOfRange, type Path, type ServiceError, valueNotAllowed
} from '../errors.ts'
import { readText } from '../imports/csv-parser.ts'
import { isObject, type RawNumber } from '../json/exact-json.ts'
import { readWith } from '../plan/columns.ts'
import { Holes, StandIn, type StandIns } from '../plan/holes.ts'
import { toNumber } from '../request/check-body.ts'
import { isNow } from '../types/moment.ts'
import type { Declared, NamedRequest } from './definition.ts'
import { type FieldOfPage, Parameter } from './places.ts'

/** The values that a call gives: of JSON, or as texts of a query string, where those of a list are a list of texts. */
export interface Given {
  readonly values: ReadonlyMap<string, unknown>
  readonly isText: boolean
}

const refuse = (name: string, reason: string): ServiceError => at([name], invalidBody(`Parameter "${name}": ${reason}`))

/** @throws INVALID_BODY for unknown parameters, and for those that are missing */
function requireKnown (parameters: NamedRequest['parameters'], values: ReadonlyMap<string, unknown>): void {
  for (const name of values.keys()) {
    if (!parameters.has(name)) throw refuse(name, `there is none with this name${didYouMean(name, parameters.keys())}`)
  }
  for (const { name, isOptional, default: otherwise } of parameters.values()) {
    if (!isOptional && otherwise === undefined && !values.has(name)) throw refuse(name, 'is missing')
  }
}

/** Reads an object of parameters. @throws INVALID_BODY */
export function readObject ({ parameters }: NamedRequest, body: unknown): Given {
  if (!isObject(body)) throw at('', invalidBody('The body must be a JSON object of parameters'))
  const values = new Map(Object.entries(body))
  requireKnown(parameters, values)
  return { values, isText: false }
}

/**
 * Reads the query string of a URL as it was sent, because a parser of the host app may make objects of it, and
 * replaces what is not UTF-8. @throws INVALID_BODY
 */
export function readQuery ({ parameters }: NamedRequest, url: string): Given {
  const start = url.indexOf('?')
  const values = new Map<string, unknown>()
  const pairs = start < 0 ? [] : url.slice(start + 1).split('&').filter((pair) => pair !== '')
  for (const pair of pairs) {
    const end = pair.indexOf('=')
    const sent = end < 0 ? pair : pair.slice(0, end)
    const name = decode(sent, sent)
    const value = end < 0 ? '' : decode(pair.slice(end + 1), name)
    const parameter = parameters.get(name)
    if (parameter === undefined && /[[\]]/.test(name)) throw refuse(name, 'brackets have no meaning: repeat the name')
    if (parameter?.isList === true) values.set(name, [...values.get(name) as string[] ?? [], value])
    else if (values.has(name)) throw refuse(name, 'is there twice')
    else values.set(name, value)
  }
  requireKnown(parameters, values)
  return { values, isText: true }
}

/** Decodes a part of a query string. `name`: the parameter, for the error. @throws INVALID_BODY */
function decode (text: string, name: string): string {
  try {
    if (/^[\x20-\x7e]*$/.test(text)) return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    // not UTF-8, or a percent sign without digits
  }
  throw refuse(name, 'is not percent-encoded UTF-8')
}

// The fields that parameters can be the value of.

const MESSAGE = 'expected a whole number'

/** Reads the value of a field of the body. @throws INVALID_VALUE, LIMIT_OUT_OF_RANGE, INVALID_BODY */
export function readField (
  field: FieldOfPage,
  { name, maximum }: Declared,
  { value, isText }: Supplied,
  offset: number
): unknown {
  const wrong = (reason: string): ServiceError => at([name], valueNotAllowed(`Parameter "${name}": ${reason}`))
  if (field === 'after') return readPosition(isText ? parse(value as string, wrong) : value, wrong)
  const number = toWhole(value, isText)
  if (number === undefined) throw wrong(MESSAGE)
  const most = maximum ?? (field === 'limit' ? MAX_LIMIT : offset)
  if (field === 'limit' && (number < 1 || number > most)) {
    const error = limitOutOfRange(most)
    error.message = `Parameter "${name}": must be from 1 to ${most}`
    throw at([name], error)
  }
  if (number < 0 || number > most) throw refuse(name, `must be from 0 to ${most}`)
  return number
}

function readPosition (value: unknown, wrong: (reason: string) => ServiceError): unknown {
  if (value !== null && !isObject(value)) throw wrong('expected null or a position, such as "next" of an answer')
  return value
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

// The values of columns.

/** The value of a parameter in a call: one of JSON, or texts; or the default, which may be `{"$now": …}`. */
export interface Supplied { readonly value: unknown, readonly isText: boolean, readonly isDefault: boolean }

/** The parameters of one call. */
export class Parameters implements StandIns {
  readonly values = new Map<object, unknown>()
  readonly #supplied: ReadonlyMap<string, Supplied>

  constructor (supplied: ReadonlyMap<string, Supplied>) {
    this.#supplied = supplied
  }

  /** A value is bound, whatever it looks like. @throws INVALID_VALUE */
  replace (given: unknown, column: Column, path: Path): unknown {
    if (!(given instanceof Parameter)) return given
    const value = this.read(given, column, path)
    if (isNowByDefault(this.#supplied.get(given.name) as Supplied)) return value
    return Array.isArray(value) && given.isList ? value.map((each) => StandIn.sent(each)) : StandIn.sent(value)
  }

  /** The value, or list of values, in one of its places. @throws INVALID_VALUE */
  read (given: Parameter, column: Column, path: Path): unknown {
    const supplied = this.#supplied.get(given.name) as Supplied
    const { value } = supplied
    const read = (each: unknown, place: Path): unknown => readOne(given, column, place, each, supplied.isText)
    if (given.isList && !Array.isArray(value)) throw at(path, invalidValue(column.name, NO_LIST))
    const own = isNowByDefault(supplied)
      ? value
      : given.isList ? (value as unknown[]).map((each, index) => read(each, [...path, index])) : read(value, path)
    this.values.set(given, own)
    return own
  }
}

/** `{"$now": …}` is a form in a default, and never in a call. */
export const isNowByDefault = ({ value, isDefault }: Supplied): boolean => isDefault && isNow(value)

const NO_LIST = 'expected a list of values'
const NO_NULL = 'null is not a value here'
const NO_TEXT = 'expected a text that is not empty'

/** Reads a text by its column, as a cell of CSV. @throws INVALID_VALUE */
function readOne (
  { isMember, isPart, mayBeNull }: Parameter,
  column: Column,
  path: Path,
  given: unknown,
  isText: boolean
): unknown {
  const value = isText && !isMember ? readWith((text) => readText(column, text as string), column, given, path) : given
  if (value === null && !mayBeNull) throw at(path, invalidValue(column.name, NO_NULL))
  if (value === '' && isPart) throw at(path, invalidValue(column.name, NO_TEXT))
  return value
}

/** A place of a parameter in a plan: `column` is that of the place. */
export interface PlannedPlace { readonly parameter: Parameter, readonly column: Column }

/** Stands for the values of any call, but those in `known`. */
export class AnyParameters implements StandIns {
  readonly holes: Holes
  readonly #known: ReadonlyMap<string, Supplied>
  readonly #ofKnown: Parameters

  constructor (known: ReadonlyMap<string, Supplied>, holes = new Holes()) {
    this.#known = known
    this.#ofKnown = new Parameters(known)
    this.holes = holes
  }

  /** @throws INVALID_VALUE for what is known */
  replace (given: unknown, column: Column, path: Path): unknown {
    if (!(given instanceof Parameter)) return given
    if (this.#known.has(given.name)) return this.#ofKnown.replace(given, column, path)
    const place: PlannedPlace = { parameter: given, column }
    const any = StandIn.unknown(this.holes, place, given.isList)
    return given.isList ? [any] : any
  }
}

/** The parameters that have a default, which is checked with the definition. */
export const defaultsOf = ({ parameters }: NamedRequest): ReadonlyMap<string, Supplied> =>
  new Map(Array.from(parameters.values()).flatMap(({ name, default: otherwise }) =>
    otherwise === undefined ? [] : [[name, { value: otherwise.value, isText: false, isDefault: true }] as const]
  ))
