/** Runs requests of the host app without HTTP, with the same pipeline and the same errors. */
import type { Body } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grants.ts'
import { getAccess } from '../access/authorize.ts'
import type { Grant } from '../access/grant.ts'
import { type CallGrant, toCallGrant } from '../access/host-grant.ts'
import type { Database } from '../databases/database.ts'
import { invalidBody, ServiceError, didYouMean } from '../errors.ts'
import { checkStreamBody, readConsistency } from '../http/stream.ts'
import { handle, type Handled, openStream, type PipelineRequest } from '../pipeline.ts'
import type { PlanLimits } from '../plan/write-options.ts'
import { createBodyCheck, type FindBodyError, parseBody } from '../request/check-body.ts'
import type { Bigints } from './field-types.ts'
import { createRowReader, readResponse, toJson } from './to-values.ts'

/**
 * Refuses misspelt options, because `dryrun` would write and `consistancy` would read from a replica. `call`: for the
 * message. @throws INVALID_BODY
 */
export function requireKnown (given: object, known: ReadonlySet<string>, call: string): void {
  for (const name of Object.keys(given)) if (!known.has(name)) throw refuse(name, known, call)
}

function refuse (name: string, known: ReadonlySet<string>, call: string): Error {
  const hint = didYouMean(name, known, `; the options are ${[...known].join(', ')}`)
  return invalidBody(`"${name}" is not an option of ${call}${hint}`)
}

export interface InProcess {
  readonly databases: ReadonlyMap<string, Database>
  readonly limits: PlanLimits
}

export interface ExecuteRequest {
  database: string
  table: string
  body: unknown
  grant: CallGrant
  /** Type of integers beyond 2^53 in the result; `bigint` if omitted. */
  bigints?: Bigints
  consistency?: unknown
}

/**
 * Converts a body as over HTTP, which also copies it. `find`: finds its first error. @throws INVALID_JSON, INVALID_BODY
 */
export function readBody<T> (given: unknown, find: FindBodyError): T {
  const body = parseBody(toJson(given))
  const error = body instanceof ServiceError ? body : find(body)
  if (error !== undefined) throw error
  return body as T
}

/** Runs a request with the rights of a grant. @throws ServiceError */
export async function executeAs (
  grant: Grant,
  { databases, limits }: InProcess,
  { database, table, readBody, consistency, ...options }: Pick<PipelineRequest, 'client' | 'record' | 'resultLimit'> & {
    readonly database: string
    readonly table: string
    /**
     * Returns the checked body. Called if the grant has a permission on the table. @throws INVALID_JSON, INVALID_BODY …
     */
    readonly readBody: () => Body
    readonly consistency?: {
      readonly asked: unknown
      /** The header or field that asks for it, in messages. */ readonly source: string
    }
  }
): Promise<Handled> {
  const access = getAccess(databases, grant, { database, table })
  const body = readBody()
  const asked = readConsistency(body.verb, consistency?.source ?? '', consistency?.asked)
  return await handle({ ...options, access, body, limits, consistency: asked })
}

const OPTIONS: ReadonlySet<string> = new Set<keyof ExecuteRequest>([
  'database',
  'table',
  'body',
  'grant',
  'bigints',
  'consistency'
])

/** Returns `data` of the response. @throws ServiceError */
export async function execute (inProcess: InProcess, request: ExecuteRequest): Promise<unknown> {
  requireKnown(request, OPTIONS, 'execute')
  return await executeWith(toCallGrant(request.grant), inProcess, request)
}

type BoundRequest = Omit<ExecuteRequest, 'grant'>

async function executeWith (grant: Grant, inProcess: InProcess, request: BoundRequest): Promise<unknown> {
  const { database, table, body, bigints = 'bigint', consistency: asked } = request
  const { response, plan } = await executeAs(grant, inProcess, {
    database,
    table,
    readBody: () => readBody<Body>(body, createBodyCheck(inProcess.limits.depth)),
    consistency: { asked, source: '"consistency"' }
  })
  return readResponse(response, plan, bigints)
}

type StreamInProcess = InProcess & {
  readonly limits: InProcess['limits'] & { readonly streamRows?: number | undefined }
}

/**
 * Returns the rows of a select one by one. The database is read as they are taken; leaving the loop ends the statement.
 * @throws ServiceError, also between rows
 */
export async function * streamInProcess (
  inProcess: StreamInProcess,
  { grant, ...request }: ExecuteRequest
): AsyncGenerator<unknown, void, undefined> {
  yield * streamWith(toCallGrant(grant), inProcess, request)
}

async function * streamWith (
  grant: Grant,
  { databases, limits }: StreamInProcess,
  { database, table, body: given, bigints = 'bigint', consistency: asked }: BoundRequest
): AsyncGenerator<unknown, void, undefined> {
  const access = getAccess(databases, grant, { database, table })
  const parsed = parseBody(toJson(given))
  if (parsed instanceof ServiceError) throw parsed
  const { body, limit } = checkStreamBody(parsed, limits)
  const consistency = readConsistency('select', '"consistency"', asked)
  const opened = await openStream({ access, body, limit, limits, consistency, format: 'ndjson' })
  const { plan, stream: { readable } } = opened
  try {
    const readRow = createRowReader(plan, bigints)
    // each chunk consists of whole lines
    for await (const chunk of readable) {
      for (const line of String(chunk).split('\n')) if (line !== '') yield readRow(line)
    }
  } finally {
    readable.destroy()
  }
}

type BoundOptions = Pick<ExecuteRequest, 'bigints' | 'consistency'>

const BOUND_OPTIONS: ReadonlySet<string> = new Set<keyof BoundOptions>(['bigints', 'consistency'])

/** A call of a bound grant: the table, and the fields of the body without its verb. */
type BoundCall<Result> = (database: string, table: string, fields?: object, options?: BoundOptions) => Result

/** The calls with one grant, which is checked and copied once. @throws InvalidGrant */
export function bindGrant (inProcess: StreamInProcess, given: CallGrant) {
  const grant = toCallGrant(given)
  // the verb comes last, so that the fields cannot override it
  const toRequest = (verb: Verb, ...[database, table, fields, options = {}]: Parameters<BoundCall<unknown>>) => {
    requireKnown(options, BOUND_OPTIONS, verb)
    return { ...options, database, table, body: { ...fields, verb } }
  }
  const call = (verb: Verb): BoundCall<Promise<any>> =>
    async (...args) => await executeWith(grant, inProcess, toRequest(verb, ...args))
  const stream: BoundCall<AsyncGenerator<any, void, undefined>> = async function * (...args) {
    yield * streamWith(grant, inProcess, toRequest('select', ...args))
  }
  return { select: call('select'), insert: call('insert'), update: call('update'), delete: call('delete'), stream }
}
