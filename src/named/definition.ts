/** Reads the setting `requests`: checks all that needs no catalog, and turns each body into a tree with parameters. */
import type { Body, BodyInTransaction, Operation, OperationsBody } from '../../schemas/body.ts'
import type { Include } from '../../schemas/fields.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { MAX_LIMIT } from '../../schemas/limits.ts'
import type { NamedRequestOptions, ParameterOptions, RequestsOptions } from '../../schemas/options.ts'
import { type Grant, permissionsOn, requirePermissions } from '../access/grant.ts'
import { type Detail, didYouMean, filtersRequired, isServiceError, type Path, type ServiceError } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { stepsOf } from '../json/plain-values.ts'
import type { RequestLimits } from '../plan/limits.ts'
import { clampNumbers, createBodyCheck, createOperationsCheck } from '../request/check-body.ts'
import { namedTables } from '../request/related-members.ts'
import { copyJson } from '../request/copy-json.ts'
import { isNow } from '../types/moment.ts'
import {
  contains, type FieldOfPage, type Finder, isParameter, isPart, NOT_HERE, Parameter, type Place, readBody, requireNow
} from './places.ts'

export interface Declared {
  readonly name: string
  readonly index: number
  readonly description: string | undefined
  readonly isOptional: boolean
  /** What it is if it is left out; undefined if it has no default. */
  readonly default: { readonly value: unknown } | undefined
  readonly maximum: number | undefined
  readonly isList: boolean
  readonly places: readonly [Place, ...Place[]]
}

export interface Part {
  readonly table: string
  readonly body: BodyInTransaction
  /** The other tables that it names. */
  readonly others: readonly string[]
}

export interface NamedRequest {
  readonly name: string
  readonly description: string | undefined
  readonly database: string
  /** Undefined for operations. */
  readonly table: string | undefined
  /** The request runs with the rights of this role; undefined for those of the caller. */
  readonly role: Grant | undefined
  readonly maxAge: number | undefined
  readonly body: Body | OperationsBody
  readonly parts: readonly Part[]
  /** The verbs and the tables of the parts, each once. */
  readonly verbs: readonly [Verb, ...Verb[]]
  readonly tables: readonly string[]
  /** Whether it only selects, without locks. */
  readonly isRead: boolean
  readonly parameters: ReadonlyMap<string, Declared>
  readonly list: readonly Declared[]
  readonly fields: ReadonlyArray<{
    readonly declared: Declared
    readonly place: Place & { readonly field: FieldOfPage }
  }>
  readonly optional: ReadonlySet<string>
}

interface Known {
  /** The names of the configured databases; undefined if these are not valid. */
  readonly databases: ReadonlySet<string> | undefined
  readonly requestRoles: ReadonlyMap<string, Grant>
  /** The roles of JWTs. */
  readonly otherRoles: ReadonlyMap<string, unknown>
  /** The role has a line of its own. */
  readonly isInvalidRole: (name: string) => boolean
  readonly limits: RequestLimits
}

/** In paths; no database may have this name while there is the setting. */
export const REQUESTS_PATH = 'requests'

/** The names of the tools that are not named requests (docs/mcp.md). */
export const TOOLS: ReadonlySet<string> = new Set(['list_tables', 'describe_table', ...VERBS])

/** The valid ones. `errors` gets a line for each mistake. */
export function readRequests (
  errors: string[],
  requests: RequestsOptions,
  known: Known
): ReadonlyMap<string, NamedRequest> {
  return new Map(Object.entries(requests).flatMap(([name, options]): Array<[string, NamedRequest]> => {
    const reader = new Reader(name, options, known)
    const request = reader.read()
    errors.push(...reader.errors)
    return request === undefined ? [] : [[name, request]]
  }))
}

/** The names in `requests` of a grant must be names of requests with `as`. `path`: of the grant. */
export function findUncallable (
  { requests: named }: Grant,
  requests: ReadonlyMap<string, NamedRequest>,
  { path, invalid }: { readonly path: string, readonly invalid: ReadonlySet<string> }
): string[] {
  if (named === 'all' || named === undefined) return []
  return [...named].flatMap((name, index) => {
    const request = requests.get(name)
    if (request?.role !== undefined || invalid.has(name)) return []
    const reason = request === undefined
      ? `is not one of the "requests"${didYouMean(name, requests.keys())}`
      : `"${name}" has no "as": everybody may call it who holds a permission on its tables`
    return [`${path}.requests.${index}: ${reason}`]
  })
}

class Reader {
  readonly errors: string[] = []
  readonly #name: string
  readonly #options: NamedRequestOptions
  readonly #known: Known

  constructor (name: string, options: NamedRequestOptions, known: Known) {
    this.#name = name
    this.#options = options
    this.#known = known
  }

  #refuse (path: Path, reason: string): void {
    const line = `${['requests', this.#name, ...path].join('.')}: ${reason}`
    if (!this.errors.includes(line)) this.errors.push(line)
  }

  /** Undefined if there is a mistake. */
  read (): NamedRequest | undefined {
    const { description, database, table, as, maxAge, parameters = {}, body: given } = this.#options
    if (TOOLS.has(this.#name)) this.#refuse([], 'is the name of a tool; give the request another name')
    if (this.#known.databases?.has(database) === false) {
      this.#refuse(['database'], `is not a configured database${didYouMean(database, this.#known.databases)}`)
    }
    const role = as === undefined ? undefined : this.#findRole(as)
    for (const [name, parameter] of Object.entries(parameters)) this.#checkParameter(name, parameter)
    const body = this.#copy(given, ['body'])
    if (body === undefined || !this.#checkTable(body)) return undefined
    const wrong = this.#checkForm(body)
    const places = this.#findPlaces(body, wrong)
    if (this.errors.length > 0) return undefined
    this.#checkBody(body)
    if (this.errors.length > 0) return undefined
    const parts = partsOf(body, table, this.#known.limits.depth)
    for (const [index, { body }] of parts.entries()) this.#checkLimits(body, this.#pathOf(index))
    const declared = this.#declare(places)
    const list = [...declared.values()]
    const isRead = parts.every(({ body: { verb, lock } }) => verb === 'select' && lock !== true)
    if (maxAge !== undefined && !isRead) this.#refuse(['maxAge'], 'is only allowed with a request that only selects')
    if (role !== undefined) for (const [index, part] of parts.entries()) this.#checkRights(role, part, index)
    if (this.errors.length > 0 || (as !== undefined && role === undefined)) return undefined
    return {
      name: this.#name,
      description,
      database,
      table,
      role,
      maxAge,
      body: body as unknown as Body,
      parts,
      verbs: [...new Set(parts.map(({ body: { verb } }) => verb))] as [Verb, ...Verb[]],
      tables: [...new Set(parts.flatMap(({ table, others }) => [table, ...others]))],
      isRead,
      parameters: declared,
      list,
      fields: list.flatMap((declared) => declared.places.flatMap(({ field, ...place }) =>
        field === undefined ? [] : [{ declared, place: { ...place, field } }])),
      optional: new Set(list.filter(({ isOptional }) => isOptional).map(({ name }) => name))
    }
  }

  /** A body has operations exactly if there is no table for it. */
  #checkTable (body: object): boolean {
    const { table } = this.#options
    const reason = table === undefined && Object.hasOwn(body, 'verb')
      ? 'is required for a body with a verb'
      : table !== undefined && Object.hasOwn(body, 'operations')
        ? 'is not allowed with operations, which name their tables'
        : undefined
    if (reason !== undefined) this.#refuse(['table'], reason)
    return reason === undefined
  }

  /** A copy that is read like the body of a request; undefined if it has something that JSON has not. */
  #copy (given: object, path: Path): Record<string, unknown> | undefined {
    const deep = Object.entries(given).find(([, value]) => isDeep(value))
    try {
      if (deep === undefined) return clampNumbers(copyJson(given)) as Record<string, unknown>
      this.#refuse([...path, deep[0]], `is nested deeper than ${MAX_DEPTH} levels`)
    } catch (error) {
      if (!isServiceError(error)) throw error
      this.#refuse(path, error.message)
    }
    return undefined
  }

  #checkParameter (name: string, { optional = false, ...parameter }: ParameterOptions): void {
    const path = ['parameters', name, 'default']
    if (!Object.hasOwn(parameter, 'default')) return
    if (this.#copy({ default: parameter.default }, ['parameters', name]) === undefined) return
    if (optional) this.#refuse(path, 'is not allowed beside "optional"')
    if (contains(parameter.default, (value) => isObject(value) && Object.hasOwn(value, '$param'))) {
      this.#refuse(path, 'must not contain "$param"')
    }
  }

  /** `wrong`: the path of what has a line already. */
  #findPlaces (body: Record<string, unknown>, wrong: Path | undefined): ReadonlyMap<string, Place[]> {
    const { parameters = {}, table } = this.#options
    const found = new Map<string, Place[]>()
    const finder: Finder = {
      isOptional: (name) => Object.hasOwn(parameters, name) ? parameters[name]?.optional === true : undefined,
      found,
      refuse: (path, reason) => {
        const isWithin = wrong?.every((step, index) => String(path[index]) === step) === true
        // a field that is none may be the misspelt one that is missing
        if (!isWithin && (wrong === undefined || reason !== NOT_HERE)) this.#refuse(['body', ...path], reason)
      },
      depth: this.#known.limits.depth
    }
    if (Object.hasOwn(body, 'dryRun')) {
      this.#refuse(['body', 'dryRun'], 'is not allowed in a named request')
      delete body['dryRun']
    }
    if (table !== undefined) readBody(body, [], { ...finder, table })
    else if (Array.isArray(body['operations'])) {
      const operations: readonly unknown[] = body['operations']
      for (const [index, operation] of operations.entries()) {
        const path = ['operations', index]
        if (!isObject(operation)) continue
        readBody(operation, path, { ...finder, table: String(operation['table']), operation: index, operations })
      }
    }
    return found
  }

  /**
   * Refuses fields that are none, and values that no parameter makes wrong, before a parameter within is refused.
   * Returns their path.
   */
  #checkForm (body: Record<string, unknown>): Path | undefined {
    const error = this.#findBodyError(body)
    if (error === undefined) return undefined
    const detail = causeOf(error)
    const path = stepsOf(detail.path)
    const value = path.reduce<unknown>((tree, step) => isObject(tree) || Array.isArray(tree)
      ? (tree as Record<string, unknown>)[step]
      : undefined, body)
    const isOfParameter = contains(value, isParameter) && error.refusesField !== true
    if (path.includes('$param') || isOfParameter) return undefined
    this.#refuse(['body', ...path], detail.message)
    return path
  }

  #checkBody (body: Record<string, unknown>): void {
    const error = this.#findBodyError(body)
    if (error === undefined) return
    const { path, message } = causeOf(error)
    this.#refuse(['body', ...stepsOf(path)], message)
  }

  /** Checks the body with values in place of the parameters that are fields. */
  #findBodyError (body: Record<string, unknown>): ServiceError | undefined {
    const { limits } = this.#known
    const find = this.#options.table === undefined
      ? createOperationsCheck(limits, limits.operations)
      : createBodyCheck(limits)
    return find(withStandIns(body))
  }

  #pathOf (part: number): Path {
    return this.#options.table === undefined ? ['body', 'operations', part] : ['body']
  }

  /** What the planner refuses in every table. */
  #checkLimits (body: BodyInTransaction, path: Path): void {
    const { verb } = body
    const most = this.#known.limits.offset
    if (verb === 'select' && typeof body.offset === 'number' && body.offset > most) {
      this.#refuse([...path, 'offset'], `must be from 0 to ${most}`)
    }
    const needsFilters = verb === 'delete' || (verb === 'update' && body.key === undefined)
    if (needsFilters && selectsAll(body.filters)) this.#refuse([...path, 'filters'], filtersRequired(verb).message)
  }

  #declare (found: ReadonlyMap<string, readonly Place[]>): ReadonlyMap<string, Declared> {
    return new Map(Object.entries(this.#options.parameters ?? {}).map(([name, options], index): [string, Declared] => {
      const places = found.get(name) ?? []
      const path = ['parameters', name]
      if (places.length === 0) this.#refuse(path, 'stands nowhere in the body')
      const declared: Declared = {
        name,
        index,
        description: options.description,
        isOptional: options.optional === true,
        default: Object.hasOwn(options, 'default') ? { value: copyJson(options.default) } : undefined,
        maximum: options.maximum,
        isList: places[0]?.isList === true,
        places: places as [Place, ...Place[]]
      }
      this.#checkMaximum(declared, path)
      if (declared.default !== undefined) this.#checkDefault(declared, declared.default.value, [...path, 'default'])
      return [name, declared]
    }))
  }

  #checkMaximum ({ maximum, places }: Declared, path: Path): void {
    if (maximum === undefined) return
    const fields = places.map(({ field }) => field).filter((field) => field === 'limit' || field === 'offset')
    const most = Math.min(...fields.map((field) => this.#mostOf(field)))
    const least = fields.includes('limit') ? 1 : 0
    if (fields.length === 0) this.#refuse([...path, 'maximum'], 'is only allowed for a limit or an offset')
    else if (maximum > most || maximum < least) this.#refuse([...path, 'maximum'], `must be from ${least} to ${most}`)
  }

  #mostOf (field: string | undefined): number {
    return field === 'limit' ? MAX_LIMIT : this.#known.limits.offset
  }

  #checkDefault ({ isList, places, maximum }: Declared, value: unknown, path: Path): void {
    if (isList !== Array.isArray(value) && (isList || places.some(({ field }) => field !== undefined))) {
      return this.#refuse(path, isList ? 'must be a list' : 'must not be a list')
    }
    for (const { field, mayBeNull = false, operator } of places) {
      const values = isList ? value as readonly unknown[] : [value]
      if (field === 'after') {
        if (value !== null && !isObject(value)) this.#refuse(path, 'must be null or a position')
      } else if (field !== undefined) {
        const [least, most] = [field === 'limit' ? 1 : 0, maximum ?? this.#mostOf(field)]
        const isWithin = typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
        if (!isWithin) this.#refuse(path, `must be a whole number from ${least} to ${most}`)
      } else if (isNow(value)) {
        requireNow(value, path, { refuse: (...line) => this.#refuse(...line) })
      } else if (values.includes(null) && !mayBeNull) {
        this.#refuse(path, 'must not be null, which is only a value of columns of "data", and of "after"')
      } else if (value === '' && isPart(operator)) this.#refuse(path, 'must not be empty')
    }
  }

  #findRole (as: string): Grant | undefined {
    const { requestRoles, otherRoles, isInvalidRole } = this.#known
    const role = requestRoles.get(as)
    if (role === undefined && !isInvalidRole(as)) {
      const reason = otherRoles.has(as)
        ? 'must be a role with "for": "requests"'
        : `is not one of the "roles"${didYouMean(as, requestRoles.keys())}`
      this.#refuse(['as'], reason)
    }
    return role
  }

  /** With the rights of a role, all columns are named, for a later one must not show itself. */
  #checkRights (role: Grant, { table, body, others }: Part, index: number): void {
    const { database, as } = this.#options
    const path = this.#pathOf(index)
    const permissions = permissionsOn(role, database, table)
    try {
      if (permissions.size === 0) throw new Error(`the role "${as}" has no permission on table "${table}"`)
      requirePermissions(permissions, body)
      if (body.lock === true && !permissions.has('update')) throw new Error('"lock" needs the permission update')
    } catch (error) {
      this.#refuse(path, (error as Error).message.replace('the token does not have', `the role "${as}" does not have`)
        .replace('The token does not have', `the role "${as}" does not have`))
    }
    const hidden = others.find((other) => !permissionsOn(role, database, other).has('select'))
    if (hidden !== undefined) this.#refuse(path, `the role "${as}" may not select from table "${hidden}"`)
    this.#requireNames(body, path)
  }

  #requireNames (body: Body, path: Path): void {
    const reason = 'is required with "as": the columns to show'
    const isGrouped = body.verb === 'select' && (body.groupBy !== undefined || body.aggregates !== undefined)
    if (body.verb === 'select' && body.columns === undefined && !isGrouped) this.#refuse([...path, 'columns'], reason)
    if (body.verb !== 'select' && body.returning === '*') {
      this.#refuse([...path, 'returning'], 'must be a list of columns with "as"')
    }
    const requireOf = (include: Include = {}, place: Path): void => {
      for (const [name, member] of Object.entries(include)) {
        const { columns, aggregates, include: inner } = member
        if (columns === undefined && aggregates === undefined) this.#refuse([...place, name, 'columns'], reason)
        requireOf(inner, [...place, name, 'include'])
      }
    }
    if (!isGrouped) requireOf(body.include, [...path, 'include'])
  }
}

const causeOf = ({ details: [cause], message }: ServiceError): Detail => cause ?? { path: '', message }

/** Deeper than JSON that a server stores. */
const MAX_DEPTH = 200

const isDeep = (value: unknown, left = MAX_DEPTH): boolean => typeof value === 'object' && value !== null &&
  (left === 0 || Object.values(value).some((each) => isDeep(each, left - 1)))

/** Whether the filters restrict nothing in any table. */
const selectsAll = (filters: unknown): boolean => isObject(filters) &&
  Object.entries(filters).every(([key, value]) => {
    if (key === '$and') return (value as unknown[]).every(selectsAll)
    if (key === '$or') return (value as unknown[]).some(selectsAll)
    const operators = isObject(value) ? Object.entries(value) : []
    return operators.length > 0 && operators.every(([name, operand]) =>
      name === '$nin' && Array.isArray(operand) && operand.length === 0)
  })

/** A copy with the same parameters and numbers. `replace`: may return what stands in place of a value. */
export function copyTree (tree: unknown, replace: (value: unknown, key: string) => unknown = (value) => value): any {
  if (typeof tree !== 'object' || tree === null || JSON.isRawJSON(tree) || tree instanceof Parameter) return tree
  if (Array.isArray(tree)) return tree.map((each: unknown) => copyTree(each, replace))
  return Object.fromEntries(
    Object.entries(tree).map(([key, each]) => [key, copyTree(replace(each, key), replace)])
  )
}

/** What stands in fields that are parameters, while a body is checked or planned without their values. */
export const STAND_INS: ReadonlyMap<string, unknown> = new Map([['limit', 1], ['offset', 0], ['after', null]])

/** Only fields can be parameters whose form the check of bodies knows. */
const withStandIns = (body: object): unknown => copyTree(body, (value, key) =>
  STAND_INS.has(key) && (value instanceof Parameter || isParameter(value)) ? STAND_INS.get(key) : value)

function partsOf (body: object, table: string | undefined, depth: number): Part[] {
  const bodies = table === undefined ? (body as OperationsBody).operations : [{ ...body, table } as Operation]
  return bodies.map((each) => ({
    table: each.table,
    body: table === undefined ? each : body as BodyInTransaction,
    others: [...new Set(namedTables(each, depth).map((named) => named.table))]
  }))
}
