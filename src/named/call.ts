import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Body, OperationsBody } from '../../schemas/body.ts'
import { accessTo } from '../access/authorize.ts'
import { type Grant, permissionsOn } from '../access/grant.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { ReadOptions } from '../dialects/dialect.ts'
import { at, brokenRequest, invalidBody, isServiceError, type ServiceError, withReason } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import type { Keyed } from '../idempotency/run-once.ts'
import { handle } from '../pipeline.ts'
import type { Plan } from '../plan/plan.ts'
import type { RequestLimits } from '../plan/limits.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { runOperations } from '../verbs/operations.ts'
import { bodyOf, type FieldValue, findEmptied } from './bodies.ts'
import type { NamedRequest } from './definition.ts'
import { attempt, findMisfit, planWithoutValues } from './fit.ts'
import { type Given, Parameters, readField, type Supplied } from './parameters.ts'
import { type Call, PlansOfCall } from './plans.ts'
import { describeMisfit, toOwnRights, toRightsOfRole } from './refusals.ts'

export interface NamedCall extends ReadOptions, Keyed {
  readonly request: NamedRequest
  readonly grant: Grant
  readonly given: Given
  readonly resultLimit?: number | undefined
  readonly record?: RequestRecord | null | undefined
}

/** `plan`: of a request to one table. */
interface NamedResponse { readonly response: string | Buffer, readonly plan?: Plan }

type Log = Pick<FastifyBaseLogger, 'error' | 'warn' | 'info'>

const [OF_READS, OF_WRITES] = [['GET', 'HEAD', 'POST'], ['POST']] as const

export const methodsOf = ({ isRead }: NamedRequest): readonly string[] => isRead ? OF_READS : OF_WRITES

interface Using {
  /** The command line has only their catalogs. */
  readonly databases: ReadonlyMap<string, Database>
  readonly limits: RequestLimits
}

/** The named requests of a registration, which are replaced together with its tokens and roles. */
export class NamedRequests {
  readonly #using: Using
  #requests: ReadonlyMap<string, NamedRequest>

  /** What does not fit the catalogs that were read last, by the names of requests. */
  readonly #misfits = new Map<string, string>()
  #log: Log | undefined

  constructor (using: Using, requests: ReadonlyMap<string, NamedRequest>) {
    this.#using = using
    this.#requests = requests
  }

  /** Calls that run end as they began. */
  use (requests: ReadonlyMap<string, NamedRequest>): void {
    this.#requests = requests
    for (const { name, catalog } of this.#using.databases.values()) {
      if (catalog !== undefined) this.#startToCompare(name, catalog)
    }
  }

  /** Logs which requests do not fit their tables, now and after each reading of a catalog. */
  watch (log: Log): void {
    this.#log = log
    for (const { name, watch } of this.#using.databases.values()) {
      watch((catalog) => { this.#startToCompare(name, catalog) })
    }
  }

  #startToCompare (database: string, catalog: Catalog): void {
    this.#compare(database, catalog).catch((error: unknown) => {
      this.#log?.error({ err: error, database }, 'the named requests could not be compared with the tables')
    })
  }

  /** Other requests may run between two of them. */
  async #compare (database: string, catalog: Catalog): Promise<void> {
    for (const request of this.#requests.values()) {
      if (request.database !== database) continue
      const misfit = findMisfit(request, { catalog, limits: this.#using.limits })
      const [before, reason] = [this.#misfits.get(request.name), misfit && describeMisfit(request, misfit)]
      if (reason === undefined) this.#misfits.delete(request.name)
      else this.#misfits.set(request.name, reason)
      const line = { request: request.name, database }
      if (reason !== undefined && reason !== before) {
        this.#log?.warn({ ...line, reason }, 'a named request does not fit')
      }
      if (reason === undefined && before !== undefined) this.#log?.info(line, 'a named request fits again')
      await nextTurn()
    }
  }

  get limits (): RequestLimits {
    return this.#using.limits
  }

  /**
   * The plans without values, for documents; undefined if the request does not fit its tables, or these are not known
   * yet. `caller`: with whose rights a request without a role runs.
   */
  plansOf (request: NamedRequest, caller: Grant): Plan[] | undefined {
    const { databases, limits } = this.#using
    const catalog = databases.get(request.database)?.catalog
    if (catalog === undefined) return undefined
    const plans = attempt(() => planWithoutValues(request, { catalog, limits }, request.role ?? caller))
    return isServiceError(plans) ? undefined : plans
  }

  find (name: string, grant: Grant): NamedRequest | undefined {
    const request = this.#requests.get(name)
    return request !== undefined && mayCall(request, grant) ? request : undefined
  }

  callable (grant: Grant): NamedRequest[] {
    return [...this.#requests.values()].filter((request) => mayCall(request, grant))
  }

  /** Returns what `use` makes of the response. @throws what `use` throws */
  run<T> (called: NamedCall, use: (response: NamedResponse) => T | Promise<T>): Promise<T> {
    const { name, role } = called.request
    const mayFit = role === undefined || !this.#misfits.has(name)
    return mayFit ? this.#run(called, use) : this.#runIfFits(called, use)
  }

  /** What does not fit is broken whatever a call gives, also without the parameter that does not. */
  async #runIfFits<T> (called: NamedCall, use: (response: NamedResponse) => T | Promise<T>): Promise<T> {
    const { request, given } = called
    const { databases, limits } = this.#using
    bindCall(request, given, limits)
    const database = databases.get(request.database) as Database
    const catalog = await database.look().catch(() => database.catalog)
    const misfit = catalog && findMisfit(request, { catalog, limits })
    if (misfit === undefined || catalog?.missing !== undefined) return await this.#run(called, use)
    throw withReason(brokenRequest(), describeMisfit(request, misfit))
  }

  #run<T> (called: NamedCall, use: (response: NamedResponse) => T | Promise<T>): Promise<T> {
    const { request, grant: caller, given, consistency, client, record, key, onReplay, resultLimit } = called
    const { databases, limits } = this.#using
    const { table } = request
    const database = databases.get(request.database) as Database
    const call = bindCall(request, given, limits)
    const { body } = call
    const grant = grantOf(request, caller)
    const named = new PlansOfCall(call, limits)
    // literals, because each field that is added to a copy costs memory
    const running: Promise<NamedResponse> = table === undefined
      ? runOperations({
        grant,
        database,
        body: body as OperationsBody,
        limits,
        named,
        consistency,
        client,
        record,
        key,
        onReplay,
        resultLimit
      }).then((response) => ({ response }))
      : handle({
        access: accessTo(database, grant, table),
        body: body as Body,
        limits,
        named,
        consistency,
        client,
        record,
        key,
        onReplay,
        resultLimit
      })
    return running.then(use, (error: unknown) => {
      throw isServiceError(error) ? this.#convert(error, request) : error
    })
  }

  #convert (error: ServiceError, request: NamedRequest): ServiceError {
    if (request.role === undefined) return toOwnRights(request, error)
    const { databases, limits } = this.#using
    return toRightsOfRole(request, error, () => {
      const catalog = databases.get(request.database)?.catalog
      return catalog && findMisfit(request, { catalog, limits })
    })
  }
}

/** The grant names the request or, without a role, holds a permission on each of its tables. */
export function mayCall ({ name, role, database, tables }: NamedRequest, grant: Grant): boolean {
  if (role !== undefined) return grant.requests === 'all' || grant.requests?.has(name) === true
  return tables.every((table) => permissionsOn(grant, database, table).size > 0)
}

/** Grants with the rights of roles, which keep the tables as they see them. */
const grants = new WeakMap<Grant, WeakMap<Grant, Grant>>()

/** The rights of a call. */
export function grantOf ({ role }: NamedRequest, caller: Grant): Grant {
  if (role === undefined) return caller
  const { name, owner, claims } = caller
  return getOrCreate(
    getOrCreate(grants, caller, () => new WeakMap<Grant, Grant>()),
    role,
    () => ({ ...role, name, owner, claims, tables: new WeakMap() })
  )
}

/**
 * And what stands for the parameters. @throws INVALID_VALUE, LIMIT_OUT_OF_RANGE and INVALID_BODY for what is wrong
 * without a column
 */
export function bindCall (
  request: NamedRequest,
  { values, isText }: Given,
  { offset }: RequestLimits
): Call & { readonly body: NamedRequest['body'] } {
  const { list, optional } = request
  const omitted = optional.size === 0 ? optional : new Set([...optional].filter((name) => !Object.hasOwn(values, name)))
  const supplied = list.map(({ name, default: otherwise }): Supplied | undefined => Object.hasOwn(values, name)
    ? { value: values[name], isText, isDefault: false }
    : otherwise && { value: otherwise.value, isText: false, isDefault: true })
  const fields = request.fields.length === 0
    ? NO_FIELDS
    : request.fields.flatMap((field): FieldValue[] => {
      const { declared, place } = field
      const sent = supplied[declared.index]
      return sent === undefined ? [] : [{ place, value: readField(place.field, declared, sent, offset) }]
    })
  const body = bodyOf(request, omitted, fields)
  const emptied = omitted.size === 0 ? undefined : findEmptied(request, body)
  if (emptied !== undefined) {
    const error = invalidBody('The update has no column left: give at least one of its parameters')
    throw request.role === undefined ? at(`/body${emptied}`, error) : error
  }
  return { body, request, omitted, supplied, parameters: new Parameters(request, supplied), fields }
}

const NO_FIELDS: readonly FieldValue[] = []
