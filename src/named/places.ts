/** The places of parameters follow from the grammar of bodies; `{"$param": …}` is refused everywhere else. */
import {
  COMBINATOR_FORMS, type CombinatorForm, type FilterOperator, findTooDeep, type OperandForm, OPERATORS
} from '../../schemas/filters.ts'
import type { Verb } from '../../schemas/grants.ts'
import { RESPONSES } from '../../schemas/responses.ts'
import { didYouMean, type Path } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { Placeholder } from '../plan/holes.ts'
import { readReference } from '../plan/references.ts'
import { isNow, readOffset } from '../types/moment.ts'

/** Whether the operator looks for a part of a text. */
export const isPart = (operator: string | undefined): boolean =>
  operator === '$startsWith' || operator === '$contains'

/** `{"$param": …}` in a body, for which each call gives a value. */
export class Parameter extends Placeholder {
  readonly name: string
  readonly isList: boolean
  /** Whether its values are members of a SET, and so texts. */
  readonly isMember: boolean
  /** An empty text would select every row. */
  readonly isPart: boolean
  readonly mayBeNull: boolean

  constructor (name: string, { isList = false, mayBeNull = false, operator = '' }: Partial<Place>) {
    super()
    this.name = name
    this.isList = isList
    this.isMember = operator === '$has'
    this.isPart = isPart(operator)
    this.mayBeNull = mayBeNull
  }
}

export type FieldOfPage = 'limit' | 'offset' | 'after'

export interface Place {
  readonly path: Path
  readonly field?: FieldOfPage | undefined
  readonly table: string
  /** The column; undefined for the text of `$match` and for a field. */
  readonly column?: string | undefined
  readonly operator?: string | undefined
  readonly isList: boolean
  /** A column of `data`. */
  readonly isData: boolean
  /** A column of `key` or `onConflict.key`. */
  readonly isKey?: boolean
  /** Whether null is a value: for columns of `data`, but not those of `key`, by which an update finds its row. */
  readonly mayBeNull?: boolean
}

/** What finds the places: adds them, and a line for each mistake. */
export interface Finder {
  /** Whether the parameter with this name may be left out; undefined if there is none with this name. */
  readonly isOptional: (name: string) => boolean | undefined
  readonly found: Map<string, Place[]>
  readonly refuse: (path: Path, reason: string) => void
  /** The index of the operation, and all of them; undefined for a body with a table of its own. */
  readonly operation?: number
  readonly operations?: readonly unknown[]
  /** The setting `limits.filterDepth`. */
  readonly depth: number
}

type Fields = Record<string, unknown>

const ONLY_LESS = 'a parameter here cannot be optional: without it, the request would be another one'

interface Within extends Finder {
  readonly table: string
  /** A condition may be left out. */
  readonly mayLack: boolean
  /** `orderBy` sorts by relevance. */
  readonly isSearched?: boolean
  /** Whether no parameter may stand here. */
  readonly isFixed?: boolean
}

export const NOT_HERE = '"$param" is not allowed here'

export const isParameter = (value: unknown): value is Fields => isObject(value) && Object.hasOwn(value, '$param')

/** An object that is none in the place of a parameter. */
const isFields = (value: unknown): value is Fields => isObject(value) && !isParameter(value)

/** Every `$param` within a value is refused. */
function refuseWithin (value: unknown, path: Path, finder: Pick<Finder, 'refuse'>): void {
  if (Array.isArray(value)) return value.forEach((each, index) => refuseWithin(each, [...path, index], finder))
  if (!isObject(value)) return
  if (isParameter(value)) return finder.refuse(path, NOT_HERE)
  for (const [key, each] of Object.entries(value)) refuseWithin(each, [...path, key], finder)
}

export function contains (value: unknown, is: (value: unknown) => boolean): boolean {
  if (is(value)) return true
  return typeof value === 'object' && value !== null && Object.values(value).some((each) => contains(each, is))
}

/** A value that is not what can stand here, whatever the column is. */
function refuseForm (value: unknown, path: Path, { refuse }: Pick<Finder, 'refuse'>, reason: string): void {
  refuse(path, isParameter(value) ? NOT_HERE : reason)
}

function tryToRead (read: () => unknown, path: Path, { refuse }: Pick<Finder, 'refuse'>): void {
  try {
    read()
  } catch (error) {
    refuse(path, (error as Error).message)
  }
}

/** A reference must lead to something that an earlier operation can respond with. */
function requireBack (value: unknown, path: Path, finder: Finder): void {
  const { operation, operations = [], refuse } = finder
  if (operation === undefined) return
  tryToRead(() => {
    const target = readReference(value, operation, path)
    if (target === undefined || !isDeadEnd(operations[target.operation], target.steps)) return
    refuse(path, `"$ref" leads to nothing in any response of operation ${target.operation}`)
  }, path, finder)
}

/** Whether no response of the operation has these steps. What it lacks of its form has lines of its own. */
function isDeadEnd (operation: unknown, [field, , column]: readonly string[]): boolean {
  if (!isObject(operation) || field === undefined) return false
  const { verb, columns, returning, include, groupBy, aggregates } = operation
  if (!Object.hasOwn(RESPONSES, String(verb))) return false
  if (!Object.hasOwn(RESPONSES[verb as Verb].properties.data.properties, field)) return true
  if (field !== 'rows') return false
  const shown = verb === 'select' ? columns : returning
  if (verb !== 'select' && shown === undefined) return true
  const isGrouped = groupBy !== undefined || aggregates !== undefined
  return column !== undefined && Array.isArray(shown) && !isGrouped && !shown.includes(column) &&
    !(isObject(include) && Object.hasOwn(include, column))
}

/** `{"$now": …}` must be a time, where no column takes it as a value. */
export function requireNow (value: unknown, path: Path, finder: Pick<Finder, 'refuse'>): void {
  if (!isNow(value) || contains(value, isParameter)) return
  tryToRead(() => readOffset(value.$now), [...path, '$now'], finder)
}

/**
 * `{"$param": …}` becomes a `Parameter`. It is refused if it is malformed or may not be left out here, and within any
 * other value.
 */
function take (
  holder: object,
  key: string | number,
  path: Path,
  within: Within,
  place: Partial<Place> = {}
): void {
  const { isOptional, found, refuse, table, mayLack, isFixed } = within
  const value: unknown = (holder as Fields)[key]
  if (!isParameter(value) || isFixed === true) {
    requireBack(value, path, within)
    return refuseWithin(value, path, within)
  }
  const { $param: name } = value
  if (Object.keys(value).length > 1) return refuse(path, '"$param" must be the only key')
  if (typeof name !== 'string' || isOptional(name) === undefined) {
    return refuse(path, '"$param" must be the name of one of the "parameters"')
  }
  if (isOptional(name) === true && !mayLack) return refuse(path, ONLY_LESS)
  const { isList = false } = place
  Object.defineProperty(holder, key, { value: new Parameter(name, place) })
  const all = found.get(name) ?? []
  found.set(name, all)
  if (all[0] !== undefined && all[0].isList !== isList) {
    return refuse(path, `"${name}" is a list in one place and a value in another`)
  }
  all.push({ path, table, isData: false, ...place, isList })
}

/** How each form of operands takes parameters; `whole` as a value, `list` as a list, `entries` as entries of a list. */
const FORMS: Readonly<Record<OperandForm, { readonly whole?: 'value' | 'list', readonly entries?: true }>> = {
  compared: { whole: 'value' },
  comparedOrNull: { whole: 'value' },
  valueOrNull: { whole: 'value' },
  values: { whole: 'list', entries: true },
  pair: { entries: true },
  pattern: { whole: 'value' },
  boolean: {},
  members: { whole: 'list' },
  paths: {}
}

/** What every column expects. */
const EXPECTED: Partial<Record<OperandForm, { readonly text: string, readonly is: (value: unknown) => boolean }>> = {
  values: { text: 'a list of values', is: Array.isArray },
  pair: { text: 'a list of two values', is: Array.isArray },
  boolean: { text: 'true or false', is: (value) => typeof value === 'boolean' }
}

/** Patterns whose characters have a meaning. */
const WITH_WILDCARDS = ['$like', '$nlike']

const operators: ReadonlyMap<string, FilterOperator> = new Map(Object.entries(OPERATORS))

function readOperand (holder: Fields, operator: string, path: Path, within: Within, column: string): void {
  const value = holder[operator]
  const form = operators.get(operator)
  if (form === undefined && operator !== '$case') {
    const hint = didYouMean(operator, operators.keys(), `; use one of ${[...operators.keys()].join(', ')}`)
    return within.refuse(path, `"${operator}" is not an operator${hint}`)
  }
  const { whole, entries } = form === undefined || WITH_WILDCARDS.includes(operator) ? {} : FORMS[form.operand]
  if (isParameter(value) && whole !== undefined) {
    return take(holder, operator, path, within, { column, operator, isList: whole === 'list' })
  }
  if (form?.needs === 'order') requireNow(value, path, within)
  if (Array.isArray(value) && entries === true) return readEntries(value, path, within, { column, operator })
  const expected = form === undefined ? undefined : EXPECTED[form.operand]
  if (expected?.is(value) === false) return refuseForm(value, path, within, `expected ${expected.text}`)
  requireBack(value, path, within)
  refuseWithin(value, path, within)
}

function readEntries (list: unknown[], path: Path, within: Within, place: Partial<Place>): void {
  if (place.operator === '$between' && (list.length !== 2 || list.includes(null))) {
    return refuseForm(list, path, within, 'expected a list of two values')
  }
  for (const index of list.keys()) {
    if (place.operator === '$between') requireNow(list[index], [...path, index], within)
    take(list, index, [...path, index], { ...within, mayLack: false }, place)
  }
}

function readFilters (filters: unknown, path: Path, within: Within): void {
  if (filters === undefined) return
  if (!isFields(filters)) {
    return refuseForm(filters, path, within, 'must be an object of filters')
  }
  for (const [key, value] of Object.entries(filters)) {
    const place = [...path, key]
    const form = COMBINATOR_FORMS.get(key)
    if (form !== undefined) readCombinator({ form, key, value, filters }, place, within)
    else readColumn(filters, key, place, within)
  }
}

/** A value, a list, or operators. An object with another key may be a value of a JSON column. */
function readColumn (filters: Fields, key: string, path: Path, within: Within): void {
  const value = filters[key]
  const column = key.startsWith('$$') ? key.slice(1) : key
  if (isParameter(value)) return take(filters, key, path, within, { column, operator: '$eq' })
  if (Array.isArray(value)) return readEntries(value, path, within, { column, operator: '$in' })
  const names = isObject(value) ? Object.keys(value) : []
  const isReference = within.operation !== undefined && names.length === 1 && names[0] === '$ref'
  if (!isObject(value) || isReference || isNow(value) || !names.every((name) => name.startsWith('$'))) {
    requireNow(value, path, within)
    requireBack(value, path, within)
    const bare = names.find((name) => operators.has(`$${name}`) && contains((value as Fields)[name], isParameter))
    if (bare === undefined) return refuseWithin(value, path, within)
    return within.refuse([...path, bare], `operators begin with $: write "$${bare}" instead of "${bare}"`)
  }
  for (const name of names) readOperand(value, name, [...path, name], within, column)
}

function readCombinator (
  { form, key, value, filters }: {
    readonly form: CombinatorForm, readonly key: string, readonly value: unknown, readonly filters: Fields
  },
  path: Path,
  within: Within
): void {
  const tooDeep = findTooDeep(path, within.depth)
  if (tooDeep !== undefined) return within.refuse(path, tooDeep)
  const inner = { ...within, mayLack: within.mayLack && key === '$and' }
  switch (form) {
    case 'list':
      if (!Array.isArray(value)) return refuseForm(value, path, within, 'must be a list of filters')
      return value.forEach((each, index) => readFilters(each, [...path, index], inner))
    case 'filters': return readFilters(value, path, inner)
    case 'row':
      if (!isFields(value)) {
        return refuseForm(value, path, within, 'must be an object of column names and values')
      }
      for (const column of Object.keys(value)) {
        take(value, column, [...path, column], { ...inner, mayLack: false }, { column, operator: '$is' })
      }
      return
    case 'members':
    case 'counted':
      if (!isFields(value)) {
        return refuseForm(value, path, within, 'must be an object of members')
      }
      for (const [name, member] of Object.entries(value)) readMember(name, member, [...path, name], within, false)
      return
    case 'search':
      if (!isFields(value)) {
        return refuseForm(filters[key], path, within, 'must be an object of "columns" and "text"')
      }
      for (const field of Object.keys(value)) {
        const place = [...path, field]
        const mayLack = within.mayLack && within.isSearched !== true
        if (field === 'text') take(value, field, place, { ...within, mayLack }, { operator: key })
        else refuseWithin(value[field], place, within)
      }
  }
}

function readMember (name: string, member: unknown, path: Path, finder: Finder, mayLack: boolean): void {
  if (!isFields(member)) return refuseWithin(member, path, finder)
  const { table = name } = member
  readFields(member, path, { ...finder, mayLack, table: String(table) })
}

function readFields (fields: Fields, path: Path, within: Within): void {
  for (const [field, value] of Object.entries(fields)) {
    const place = [...path, field]
    switch (field) {
      case 'filters':
        readFilters(value, place, within)
        break
      case 'having':
        readFilters(value, place, { ...within, isFixed: true })
        break
      case 'limit':
      case 'offset':
      case 'after':
        take(fields, field, place, { ...within, mayLack: true }, { field })
        break
      case 'include':
        if (!isFields(value)) refuseWithin(value, place, within)
        else {
          for (const [name, member] of Object.entries(value)) readMember(name, member, [...place, name], within, true)
        }
        break
      case 'aggregates':
        readAggregates(value, place, within)
        break
      default:
        refuseWithin(value, place, within)
    }
  }
}

function readAggregates (aggregates: unknown, path: Path, within: Within): void {
  if (!isFields(aggregates)) return refuseWithin(aggregates, path, within)
  for (const [name, call] of Object.entries(aggregates)) {
    const { filters, ...others } = isObject(call) ? call : { filters: call }
    if (isObject(call)) readFilters(filters, [...path, name, 'filters'], { ...within, mayLack: false })
    refuseWithin(isObject(call) ? others : call, [...path, name], within)
  }
}

const sortsByRelevance = (orderBy: unknown): boolean =>
  Array.isArray(orderBy) && orderBy.some((term) => isObject(term) && Object.hasOwn(term, '$match'))

export function readBody (body: Fields, path: Path, finder: Finder & { readonly table: string }): void {
  const { verb, data, key, onConflict, orderBy, ...others } = body
  const within = { ...finder, mayLack: verb === 'select', isSearched: sortsByRelevance(orderBy) }
  readFields(others, path, within)
  for (const [field, value] of Object.entries(others)) body[field] = value
  refuseWithin({ verb, key, onConflict, orderBy }, path, finder)
  const found = Array.isArray(key) ? key : []
  const upserted = isObject(onConflict) && Array.isArray(onConflict['key']) ? onConflict['key'] : []
  const readRow = (row: unknown, rowPath: Path): void => {
    if (!isFields(row)) return refuseWithin(row, rowPath, finder)
    for (const column of Object.keys(row)) {
      const isFound = found.includes(column)
      const isKey = isFound || upserted.includes(column)
      requireNow(row[column], [...rowPath, column], within)
      take(row, column, [...rowPath, column], { ...within, mayLack: !isKey }, {
        column, isData: true, isKey, mayBeNull: !isFound
      })
    }
  }
  if (Array.isArray(data)) data.forEach((row, index) => readRow(row, [...path, 'data', index]))
  else readRow(data, [...path, 'data'])
}
