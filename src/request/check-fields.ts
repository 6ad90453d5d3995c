/** Fields of bodies and members are checked faster than by TypeBox, with messages of our own. */
import { Kind, type TArray, type TObject, type TSchema, TypeRegistry } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Errors, type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import {
  type AggregateCall, type Body, type DeleteBody, type InsertBody, type Member, MemberSchema, type Related,
  RelatedSchema, type SelectBody, type UpdateBody
} from '../../schemas/body.ts'
import {
  type Field, fieldNamed, FIELDS, followMembers, type Include, MEMBER_NAME, type MemberColumn
} from '../../schemas/fields.ts'
import { COMBINATOR_FORMS, type CombinatorForm } from '../../schemas/filters.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { MAX_CELLS, MAX_COLUMNS, MAX_LIMIT, MAX_ROWS } from '../../schemas/limits.ts'
import {
  at, didYouMean, filtersRequired, invalidBody, invalidOrderBy, limitOutOfRange, type Path, type ServiceError,
  tooManyConditions, valueNotAllowed
} from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import { hasMany, isObject, objectKeys } from '../json/exact-json.ts'
import { stepsOf } from '../json/plain-values.ts'

/** A body with a verb: the schemas by verbs, and where fields of a whole transaction are not allowed, for messages. */
export interface BodyKind { readonly schemas: Readonly<Record<Verb, TObject>>, readonly ofWhole?: string }

interface Checked {
  readonly schema: TObject
  readonly path?: Path
  /** Set if the object has a verb. */
  readonly verb?: Verb
  /** Continues the message `"field" must be …` of fields that are not fields of bodies. */
  readonly expected?: Readonly<Record<string, string>> | undefined
  readonly kind?: BodyKind
}

/** Compiled when they are first used. */
const checks = new WeakMap<TObject, TypeCheck<TObject>>()

/** Finds the first error of an object of fields by its schema, not thrown. */
export function findFieldError (given: Readonly<Record<string, unknown>>, checked: Checked): ServiceError | undefined {
  const { schema, path = [], verb, expected } = checked
  const violation = findViolation(given, schema)
  if (violation === undefined) return undefined
  const { steps, type, violated } = violation
  const [field] = steps as [string]
  const place = [...path, ...steps]
  const { properties, required = [] } = schema
  if (!Object.hasOwn(properties, field)) return refuse(place, describeUnknown(field, checked))
  if (!Object.hasOwn(given, field)) {
    return verb !== undefined && field === 'filters'
      ? at(place, filtersRequired(verb))
      : refuse(place, `"${field}" is required${verb === undefined ? '' : ` to ${verb}`}`)
  }
  const value = given[field]
  const hint = type === ValueErrorType.ObjectAdditionalProperties
    ? didYouMean(steps.at(-1) as string, Object.keys(violated['properties'] ?? {}))
    : ''
  // serializers of some languages send null for fields that are not set
  const unset = value === null && !required.includes(field) ? '; leave it out instead of sending null' : ''
  const form = expected?.[field] ?? expectedOf(field, properties[field] as TSchema)
  return findOwnError(field, value, { place, type }) ?? refuse(place, `"${field}" must be ${form}${hint}${unset}`)
}

interface Violation { readonly steps: readonly string[], readonly type: ValueErrorType, readonly violated: TSchema }

function findViolation (given: Readonly<Record<string, unknown>>, schema: TObject): Violation | undefined {
  const { properties, required = [] } = schema
  if (hasMany(given)) {
    const missing = required.find((name) => !Object.hasOwn(given, name))
    const field = missing ?? objectKeys(given).find((name) => !Object.hasOwn(properties, name)) as string
    return { steps: [field], type: ValueErrorType.ObjectAdditionalProperties, violated: schema }
  }
  const check = getOrCreate(checks, schema, () => TypeCompiler.Compile(withOwnKinds(schema)))
  if (check.Check(given)) return undefined
  let found = check.Errors(given).First() as ValueError
  let place = found.path
  while (found.schema[Kind] === FEW && !isCrowd(found.value)) {
    found = (found.schema as Few).inner.Errors(found.value).First() as ValueError
    place += found.path
  }
  if (found.type === ValueErrorType.Union || isCrowd(found.value)) {
    return { steps: stepsOf(place), type: found.type, violated: found.schema }
  }
  // says where in a list the error is
  const { path, type, schema: violated } = Errors(schema, [], given).First() as ValueError
  return { steps: stepsOf(path), type, violated }
}

/** Whether the keys of a value must not be listed again. */
const isCrowd = (value: unknown): boolean => isObject(value) && hasMany(value)

function describeUnknown (field: string, { schema, verb, kind }: Checked): string {
  const refused = `"${field}" is not allowed`
  if (kind?.ofWhole !== undefined && fieldNamed(field)?.in.operations !== undefined) return `${refused} ${kind.ofWhole}`
  const verbs = VERBS.filter((each) => kind !== undefined && Object.hasOwn(kind.schemas[each].properties, field))
  if (verbs.length > 0) return `${refused} with ${verb}; it is a field of ${verbs.join(', ')}`
  const [where, of] = verb === undefined ? ['here', ''] : [`with ${verb}`, ` of ${verb}`]
  const fields = Object.keys(schema.properties)
  return `${refused} ${where}${didYouMean(field, fields, `; the fields${of} are ${fields.join(', ')}`)}`
}

/** The error of a wrong field that has a code or a message of its own, not thrown. */
function findOwnError (
  field: string,
  value: unknown,
  { place, type }: { readonly place: Path, readonly type: ValueErrorType }
): ServiceError | undefined {
  switch (field) {
    case 'limit':
      return type === ValueErrorType.IntegerMinimum || type === ValueErrorType.IntegerMaximum
        ? at(place, limitOutOfRange(MAX_LIMIT))
        : undefined
    case 'orderBy':
      if (!Array.isArray(value)) return undefined
      if (value.length > MAX_COLUMNS) return at(place, invalidOrderBy(`contains more than ${MAX_COLUMNS} columns`))
      return value.every(isObject) ? at(place, invalidOrderBy(ORDER_TERMS)) : undefined
    case 'data':
      return isObject(value) ? refuse(place, '"data" must not be empty') : findListError(value)
    case 'onConflict':
      return findSetError(value)
    case 'expect':
      return hasNow(value)
        ? at(place, valueNotAllowed('"$now" is not allowed in "expect", which counts rows'))
        : undefined
  }
}

const ORDER_TERMS =
  'must be a list of objects with one column each, such as {"<column>": "DESC"} or {"<member>": {"<column>": ' +
  '"DESC"}}; the direction is ASC or DESC, also with NULLS FIRST or NULLS LAST'

const hasNow = (expect: unknown): boolean => isObject(expect) && !hasMany(expect) &&
  [expect, ...Object.values(expect)].some((each) => isObject(each) && Object.hasOwn(each, '$now'))

// The expected form of a field, for messages: derived from its schema.

const EXPECTED_TYPES = new Map<unknown, string>([
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['string', 'a string'],
  ['object', 'an object']
])

/** Continues the sentence `"field" must be …`. */
function expectedOf (field: string, schema: TSchema): string {
  const { expected } = fieldNamed(field) ?? {}
  if (expected !== undefined) return expected
  const {
    type,
    anyOf = [],
    minItems = 0,
    maxItems
  } = schema as { type?: unknown; anyOf?: ReadonlyArray<{ const?: unknown }>; minItems?: number; maxItems?: number }
  if (anyOf.length > 0 && anyOf.every((each) => each.const !== undefined)) {
    return `one of ${anyOf.map((each) => each.const).join(', ')}`
  }
  if (type === 'array') {
    return maxItems === undefined ? `a list of ${field}` : `a list of ${minItems} to ${maxItems} ${field}`
  }
  return EXPECTED_TYPES.get(type) ?? 'what the OpenAPI document says'
}

/** A list of different strings, whose repeats TypeBox finds by a hash of each item with integers of 64 bits. */
const NAMES = 'RowQueryNames'
/** An object of any keys and values, each of which TypeBox would look at. */
const VALUES = 'RowQueryValues'
/** A list of such objects, for each of which TypeBox would look their kind up. */
const ROWS = 'RowQueryRows'
/** An object of few keys. TypeBox would list the keys of one with many several times. */
const FEW = 'RowQueryFew'

TypeRegistry.Set<TObject>(VALUES, ({ minProperties = 0 }, value) =>
  isObject(value) && (minProperties === 0 || objectKeys(value).length >= minProperties))

TypeRegistry.Set<TArray>(ROWS, ({ minItems = 0, maxItems = Infinity }, value) =>
  Array.isArray(value) && value.length >= minItems && value.length <= maxItems && value.every(isObject))

type Few = TSchema & { readonly inner: TypeCheck<TSchema> }

TypeRegistry.Set<Few>(FEW, ({ inner }, value) => !isCrowd(value) && inner.Check(value))

TypeRegistry.Set<TArray>(
  NAMES,
  ({ minItems = 0, maxItems = Infinity }, value) =>
    Array.isArray(value) &&
    value.length >= minItems &&
    value.length <= maxItems &&
    value.every((item) => typeof item === 'string') &&
    new Set(value).size === value.length
)

function withOwnKinds<T extends TSchema> (schema: T): T {
  return Object.fromEntries(Reflect.ownKeys(schema).map((key) => [key, replaceIn(schema[key as string])])) as T
}

function replaceIn (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(replaceIn)
  if (!isObject(value)) return value
  const schema = value as unknown as TSchema
  const inner = withOwnKinds(schema)
  if (schema['uniqueItems'] === true && (schema as unknown as TArray).items[Kind] === 'String') {
    return { ...inner, [Kind]: NAMES }
  }
  if (schema['type'] === 'array' && isAny(schema['items'])) return { ...inner, [Kind]: ROWS }
  if (schema['type'] !== 'object') return inner
  return isOpen(schema) ? { ...inner, [Kind]: VALUES } : { ...inner, [Kind]: FEW, inner: TypeCompiler.Compile(inner) }
}

/** Objects of any size with any keys and values. */
const isAny = (schema: TSchema): boolean =>
  schema['type'] === 'object' && isOpen(schema) && schema['minProperties'] === undefined

/** Any key with any value is allowed. */
function isOpen ({ additionalProperties, patternProperties = {} }: TSchema): boolean {
  const [values] = Object.values(patternProperties as Readonly<Record<string, TSchema>>)
  return additionalProperties === true || values?.[Kind] === 'Unknown'
}

// Schemas cannot express this, or only with unclear messages: fields that are not valid together, and the rows of an
// insert.

/** INVALID_BODY or FILTERS_REQUIRED, not thrown. */
export function findCombinationError (body: Body): ServiceError | undefined {
  const error = findExcluded(body.verb, body)
  if (error !== undefined) return error
  switch (body.verb) {
    case 'select': return findInGroups(body)
    case 'insert':
      return findListError(body.data) ??
        (body.onConflict === undefined ? findOutcomesError(body) : findSetError(body.onConflict)) ??
        findReturningError(body)
    case 'update':
      return findEmptyFilters(body) ?? findKeyedError(body) ?? findReturningError(body)
    case 'delete': return findEmptyFilters(body) ?? findReturningError(body)
  }
}

/** The keys of a list count as filters. The planner finds filters that are not empty and restrict nothing. */
const findEmptyFilters = (body: UpdateBody | DeleteBody): ServiceError | undefined =>
  objectKeys(body.filters).length > 0 || (body.verb === 'update' && Array.isArray(body.data))
    ? undefined
    : at('/filters', filtersRequired(body.verb))

/**
 * Verb or member -> its fields that exclude others, with these; those that exclude fewer come first. A request has none
 * of the fields of a select in a transaction.
 */
const EXCLUDING = Map.groupBy(
  Object.entries<Field>(FIELDS)
    .flatMap(([by, { excludes = {} }]) => Object.entries(excludes).map(([place, names]) => ({ place, by, names })))
    .sort((a, b) => a.names.length - b.names.length),
  ({ place }) => place === 'selectInTransaction' ? 'select' : place
)

/** Finds a field of a body or member that another one excludes. */
function findExcluded (place: Verb | 'member', fields: object, path: Path = []): ServiceError | undefined {
  const all = EXCLUDING.get(place) ?? []
  for (let index = 0; index < all.length; index++) {
    const { by, names } = all[index] as typeof all[number]
    const value = (fields as Readonly<Record<string, unknown>>)[by]
    // false is the same as leaving it out
    if (value === undefined || value === false) continue
    const field = names.find((name) => Object.hasOwn(fields, name))
    if (field !== undefined) return refuse([...path, field], `"${field}" is not allowed with "${by}"`)
  }
  return undefined
}

function findInGroups (body: SelectBody): ServiceError | undefined {
  const { groupBy, aggregates, having } = body
  if (groupBy === undefined && aggregates === undefined) {
    return having === undefined ? undefined : refuse(['having'], '"having" requires "groupBy" or "aggregates"')
  }
  return findRepeat(groupBy) ?? findFunctionError(aggregates) ?? findTaken(groupBy, aggregates)
}

type GroupBy = NonNullable<SelectBody['groupBy']>
const isName = (entry: GroupBy[number]): entry is string => typeof entry === 'string'
const nameOf = (entry: GroupBy[number]): string => isName(entry) ? entry : Object.keys(entry)[0] as string

function findRepeat (groupBy: GroupBy = []): ServiceError | undefined {
  const names = groupBy.map(nameOf)
  if (new Set(names).size === names.length) return undefined
  const repeated = groupBy.findIndex(
    (entry, index) => !isName(entry) && names.indexOf(nameOf(entry)) !== names.lastIndexOf(names[index] as string)
  )
  if (repeated < 0) return refuse(['groupBy'], `"groupBy" must be ${FIELDS.groupBy.expected}`)
  return refuse(['groupBy', repeated, names[repeated] as string], `"${names[repeated]}" is already a name of "groupBy"`)
}

/** Requires exactly one function for each aggregate of a select or a member. */
function findFunctionError (
  aggregates: Readonly<Record<string, object>> = {},
  path: Path = ['aggregates']
): ServiceError | undefined {
  for (const name in aggregates) {
    const { filters, ...call } = aggregates[name] as Partial<AggregateCall>
    if (Object.keys(call).length !== 1) {
      return refuse([...path, name], `"aggregates" must be ${FIELDS.aggregates.expected}`)
    }
  }
  return undefined
}

function findTaken (groupBy: GroupBy = [], aggregates: SelectBody['aggregates'] = {}): ServiceError | undefined {
  const taken = groupBy.find((entry) => Object.hasOwn(aggregates, nameOf(entry)))
  if (taken === undefined) return undefined
  const name = nameOf(taken)
  return refuse(['aggregates', name], `"${name}" is already ${isName(taken) ? 'a column' : 'a name'} of "groupBy"`)
}

/** A list of rows with changes of their own has a key, and nothing else has. */
function findKeyedError ({ data, key }: UpdateBody): ServiceError | undefined {
  if (Array.isArray(data) === (key !== undefined)) return key === undefined ? undefined : findListError(data)
  return refuse(['key'], key === undefined
    ? '"key" is required with a list in "data": the columns that find the row of each entry'
    : '"key" is only allowed with a list in "data"')
}

/** Only an upsert has different outcomes. */
const findOutcomesError = ({ outcomes }: InsertBody): ServiceError | undefined =>
  outcomes === true ? refuse(['outcomes'], '"outcomes" is only allowed with "onConflict"') : undefined

/** The rows that a write does not return have no members. */
const findReturningError = ({ include, returning }: InsertBody | UpdateBody | DeleteBody): ServiceError | undefined =>
  include === undefined || returning !== undefined
    ? undefined
    : refuse(['include'], '"include" requires "returning" here: it is about the rows that the write returns')

function findListError (data: unknown): ServiceError | undefined {
  if (!Array.isArray(data)) return undefined
  if (data.length === 0 || data.length > MAX_ROWS) return refuse(['data'], `"data" must have 1 to ${MAX_ROWS} rows`)
  for (let index = 0; index < data.length; index++) {
    if (!isObject(data[index])) return refuse(['data', index], 'a row must be an object of column values')
  }
  return hasTooManyCells(data)
    ? refuse(['data'], `"data" must have at most ${MAX_CELLS} values: rows times the columns that any of them names`)
    : undefined
}

/** Rows with more names than a table has columns are refused for one of the names. */
function hasTooManyCells (rows: readonly object[]): boolean {
  const names = new Set<string>()
  const most = Math.min(MAX_CELLS / rows.length, MAX_COLUMNS)
  for (const row of rows) {
    if (hasMany(row) && objectKeys(row).length > most) return objectKeys(row).length * rows.length > MAX_CELLS
    for (const name in row) names.add(name)
    if (names.size > most) break
  }
  return rows.length * names.size > MAX_CELLS
}

/** Finds an error in `set` of `onConflict` that its schema does not find, or not clearly. */
function findSetError (onConflict: unknown): ServiceError | undefined {
  const set = isObject(onConflict) ? onConflict['set'] : undefined
  if (JSON.isRawJSON(set)) {
    return refuse(['onConflict', 'set'], '"set" must be a list of column names or an object of column values')
  }
  return isObject(set) && objectKeys(set).length === 0
    ? refuse(
      ['onConflict', 'set'],
      '"set" must not be an empty object; an empty list leaves existing rows as they are'
    )
    : undefined
}

const refuse = (path: Path, message: string): ServiceError => at(path, invalidBody(message))

// Checks the form of the members of `$some` and `$none` at any depth of filters, and finds the tables that they name.

const hasMembers = (form: CombinatorForm): boolean => form === 'members' || form === 'counted'

const DOLLAR = 36

interface MembersVisitor<T> {
  readonly visit: (found: { readonly key: string, readonly members: unknown, readonly path: Path }) => T | undefined
  /** How many conditions may follow. Each key, and each filter of a list, is one at least. */
  remaining: number
  /** Called with the path of one too many. */
  readonly refuse?: (path: Path) => T
}

/**
 * Calls `visit` with the members of each `$some` and `$none`, outer ones first, until it returns a value. `path`: the
 * path of the filters, which is restored at the end. `depth`: the setting `limits.depth`; the planner refuses deeper
 * filters.
 */
function findMembers<T> (
  filters: unknown,
  path: Array<string | number>,
  visitor: MembersVisitor<T>,
  depth: number
): T | undefined {
  if (!isObject(filters) || depth < 0) return undefined
  const keys = objectKeys(filters)
  if (keys.length > visitor.remaining) return visitor.refuse?.([...path, keys[visitor.remaining] as string])
  for (const key of keys) {
    const form = key.charCodeAt(0) === DOLLAR ? COMBINATOR_FORMS.get(key) : undefined
    if (form === undefined) {
      visitor.remaining--
      continue
    }
    const value = filters[key]
    if (Array.isArray(value) && value.length > visitor.remaining) {
      return visitor.refuse?.([...path, key, visitor.remaining])
    }
    let result = hasMembers(form) ? visitor.visit({ key, members: value, path: [...path, key] }) : undefined
    if (result !== undefined) return result
    for (const { steps, inner } of filtersIn(value, form)) {
      if (result !== undefined) return result
      path.push(key, ...steps)
      result = findMembers(inner, path, visitor, depth - 1)
      path.length -= steps.length + 1
    }
    if (result !== undefined) return result
  }
  return undefined
}

/** Whether filters are at most so many conditions of columns alone, as most are. */
function isPlain (filters: unknown, most = Infinity): boolean {
  if (!isObject(filters)) return true
  const keys = objectKeys(filters)
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    if (key.charCodeAt(0) === DOLLAR && COMBINATOR_FORMS.has(key)) return false
  }
  return keys.length <= most
}

/** The filters in the value of a combinator, and the steps to them. */
function filtersIn (value: unknown, form: CombinatorForm): Array<{ readonly steps: Path, readonly inner: unknown }> {
  if (form === 'filters') return [{ steps: [], inner: value }]
  if (form === 'list') return Array.isArray(value) ? value.map((inner, index) => ({ steps: [index], inner })) : []
  if (!hasMembers(form) || !isObject(value)) return []
  return Object.entries(value).map(([name, member]) =>
    ({ steps: [name, 'filters'], inner: (member as Related | null)?.filters })
  )
}

/** The settings that a body is checked with. */
export interface BodyLimits {
  /** Levels of combinators in filters. */
  readonly depth: number
  /** Conditions of all filters. */
  readonly conditions: number
  /** Levels and members of `include`; it is refused if omitted. */
  readonly include?: { readonly levels: number, readonly members: number }
}

/**
 * Returns the first error in the form of the members of filters, not thrown; or that there are too many conditions,
 * before anything looks for a name.
 */
export function findRelatedError (
  filters: unknown,
  path: Path,
  { depth, conditions }: BodyLimits
): ServiceError | undefined {
  if (isPlain(filters, conditions)) return undefined
  const refuseMore = (beyond: Path): ServiceError => at(beyond, tooManyConditions(conditions))
  const visitor: MembersVisitor<ServiceError> = {
    remaining: conditions,
    refuse: refuseMore,
    visit ({ key, members, path: memberPath }) {
      const names = isObject(members) ? objectKeys(members) : []
      if (names.length > visitor.remaining) return refuseMore([...memberPath, names[visitor.remaining] as string])
      visitor.remaining -= names.length
      if (names.length === 0) {
        return refuse(
          memberPath,
          `"${key}" must be an object of at least one member, such as {"<table>": {"filters": {}}}`
        )
      }
      for (const name of names) {
        const member = (members as Readonly<Record<string, unknown>>)[name]
        const error = findMemberFieldError(member, RelatedSchema, [...memberPath, name])
        if (error !== undefined) return error
      }
      return undefined
    }
  }
  return findMembers(filters, [...path], visitor, depth)
}

const findMemberFieldError = (member: unknown, schema: TObject, path: Path): ServiceError | undefined =>
  isObject(member)
    ? findFieldError(member, { schema, path })
    : refuse(path, 'a member must be an object, such as {"table": "<table>"}')

/** A request names it. */
export interface NamedTable {
  readonly table: string
  readonly path: Path
  /** `include`, `$some` or `$none`. */
  readonly by: string
}

/** The form of the filters must have been checked. */
function nameRelated (filters: unknown, path: Path, depth: number, named: NamedTable[]): void {
  if (isPlain(filters)) return
  findMembers(filters, [...path], {
    remaining: Infinity,
    visit ({ key, members, path: memberPath }) {
      for (const [name, { table }] of Object.entries(members as Readonly<Record<string, Related>>)) {
        const steps = table === undefined ? [name] : [name, 'table']
        named.push({ table: table ?? name, path: [...memberPath, ...steps], by: key })
      }
      return undefined
    }
  }, depth)
}

// The members of `include` are checked level by level: their schema, and the combination of their fields.

interface IncludeToCheck {
  readonly limits: BodyLimits
  /** Whether the rows are those that a write returns. */
  readonly isReturned: boolean
  /** Groups use columns of the members. */
  readonly isGrouped: boolean
}

/** Returns the first error of an object of members, not thrown. The members of all levels are counted together. */
export function findIncludeError (
  include: Include,
  checking: IncludeToCheck,
  path: Path = ['include'],
  level = 1,
  counted = { members: 0 }
): ServiceError | undefined {
  const { levels, members } = checking.limits.include ?? { levels: 0, members: 0 }
  if (levels === 0 || members === 0) {
    return refuse(path, '"include" is not allowed: the setting limits.include is 0')
  }
  if (level > levels) return refuse(path, `"include" can have at most ${levels} levels`)
  const names = objectKeys(include)
  const beyond = names[members - counted.members]
  if (beyond !== undefined) {
    return refuse([...path, beyond], `"include" can have at most ${members} members, on all levels together`)
  }
  counted.members += names.length
  for (const name of names) {
    const member = include[name] as Member
    const error = findMemberError(name, member, { ...checking, path: [...path, name], level, counted })
    if (error !== undefined) return error
  }
  return undefined
}

function findMemberError (
  name: string,
  member: Member,
  { path, level, counted, ...checking }: IncludeToCheck & {
    readonly path: Path
    readonly level: number
    readonly counted: { members: number }
  }
): ServiceError | undefined {
  const { limits, isReturned, isGrouped } = checking
  if (!MEMBER_NAME.test(name)) {
    return refuse(path, 'the name of a member begins with a letter and has 1 to 64 letters, digits and _')
  }
  const invalid = findMemberFieldError(member, MemberSchema, path)
  if (invalid !== undefined) return invalid
  if (isReturned && member.aggregates !== undefined) {
    return refuse([...path, 'aggregates'], '"aggregates" is not allowed beside "returning"')
  }
  const notOfGroups = isGrouped ? Object.keys(member).find((field) => !OF_GROUPS.includes(field)) : undefined
  if (notOfGroups !== undefined) {
    return refuse(
      [...path, notOfGroups],
      `"${notOfGroups}" is not allowed beside "groupBy" and "aggregates": only ${OF_GROUPS.join(', ')}`
    )
  }
  const error = findExcluded('member', member, path) ??
    findFunctionError(member.aggregates, [...path, 'aggregates']) ??
    findRelatedError(member.filters, [...path, 'filters'], limits)
  return error === undefined && member.include !== undefined
    ? findIncludeError(member.include, checking, [...path, 'include'], level + 1, counted)
    : error
}

/** The fields of members of which groups use columns. */
const OF_GROUPS = ['table', 'on', 'filters', 'include']

function namedColumns ({ groupBy = [], aggregates = {} }: SelectBody): Array<{ path: Path, reference: MemberColumn }> {
  const groups = groupBy.flatMap((entry, index) => {
    const [[name, reference]] = isName(entry) ? [['', '']] : Object.entries(entry) as [[string, MemberColumn]]
    return isOfMember(reference) ? [{ path: ['groupBy', index, name], reference }] : []
  })
  const computed = Object.entries(aggregates).flatMap(([name, { filters, ...call }]) => {
    const [[key, reference]] = Object.entries(call) as [[string, string | MemberColumn]]
    return isOfMember(reference) ? [{ path: ['aggregates', name, key], reference }] : []
  })
  return [...groups, ...computed]
}

/** Whether it is no column of the table, and no part of time, which begins with `$`. */
const isOfMember = (given: string | MemberColumn): given is MemberColumn =>
  typeof given !== 'string' && !(Object.keys(given)[0] as string).startsWith('$')

/** Every member beside groups is used by one of them or an aggregate, and they use no others. */
export function findUnused (body: SelectBody): ServiceError | undefined {
  const used = new Set<string>()
  for (const { path, reference } of namedColumns(body)) {
    let level: Include = body.include ?? {}
    const names: string[] = []
    for (const name of followMembers(reference).members) {
      names.push(name)
      if (!Object.hasOwn(level, name)) {
        const hint = didYouMean(name, Object.keys(level))
        return refuse([...path, ...names], `"${name}" is not a member of "include"${hint}`)
      }
      used.add(names.join('.'))
      level = level[name]?.include ?? {}
    }
  }
  return findIdle(body.include, used)
}

function findIdle (
  include: Include = {},
  used: ReadonlySet<string>,
  path: Path = ['include'],
  outer = ''
): ServiceError | undefined {
  for (const [name, member] of Object.entries(include)) {
    const place = [...path, name]
    if (!used.has(outer + name)) {
      return refuse(
        place,
        `"${name}" is not used: beside "groupBy" and "aggregates" a member is named there, such as {"name": {"${name}` +
        '": "<column>"}}, and does not stand in the rows'
      )
    }
    const error = findIdle(member.include, used, [...place, 'include'], `${outer}${name}.`)
    if (error !== undefined) return error
  }
  return undefined
}

/** Returns the first error in the form of the members that the filters of aggregates have, not thrown. */
export function findAggregateError (
  aggregates: NonNullable<SelectBody['aggregates']>,
  limits: BodyLimits
): ServiceError | undefined {
  for (const [name, { filters }] of Object.entries(aggregates)) {
    const error = findRelatedError(filters, ['aggregates', name, 'filters'], limits)
    if (error !== undefined) return error
  }
  return undefined
}

/** In its filters, in filters of aggregates, then in `include`, in their order. */
export function namedTables (body: Body, depth: number): readonly NamedTable[] {
  const named: NamedTable[] = []
  if (body.verb !== 'insert' && body.filters !== undefined) nameRelated(body.filters, ['filters'], depth, named)
  if (body.verb === 'select' && body.aggregates !== undefined) {
    for (const [name, { filters }] of Object.entries(body.aggregates)) {
      nameRelated(filters, ['aggregates', name, 'filters'], depth, named)
    }
  }
  if (body.include !== undefined) nameMembers(body.include, ['include'], depth, named)
  return named
}

function nameMembers (include: Include, path: Path, depth: number, named: NamedTable[]): void {
  for (const [name, { table, filters, include: inner }] of Object.entries(include)) {
    const memberPath = [...path, name]
    const tablePath = table === undefined ? memberPath : [...memberPath, 'table']
    named.push({ table: table ?? name, path: tablePath, by: 'include' })
    nameRelated(filters, [...memberPath, 'filters'], depth, named)
    if (inner !== undefined) nameMembers(inner, [...memberPath, 'include'], depth, named)
  }
}
