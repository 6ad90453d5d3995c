/** Runs requests of the host app without HTTP, with the same pipeline and the same errors. */
import { BodySchema, type Body } from '../../schemas/body.ts'
import { getAccess } from '../access/authorize.ts'
import type { Grant } from '../access/grant.ts'
import { compileBodySchema, parseBody, type FindBodyError } from '../request/check-body.ts'
import { readConsistency } from '../request/stream-request.ts'
import type { Database } from '../databases/database.ts'
import { toCallGrant, type CallGrant } from '../access/host-grant.ts'
import { ServiceError } from '../errors.ts'
import type { PlanLimits } from '../plan/terms.ts'
import type { Plan } from '../plan/plan.ts'
import type { Bigints } from './fields.ts'
import { requireKnown } from './options.ts'
import { readAnswer, toJson } from './to-values.ts'
import { runPipeline, type PipelineRequest } from '../pipeline.ts'

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

export const findBodyError = compileBodySchema(BodySchema)

/** Converts a body as over HTTP, which also copies it. `find`: finds its first error. @throws INVALID_JSON, INVALID_BODY */
export function readBody<T> (given: unknown, find: FindBodyError): T {
  const body = parseBody(toJson(given))
  const error = body instanceof ServiceError ? body : find(body)
  if (error !== undefined) throw error
  return body as T
}

/** A request whose grant is known. */
export interface RequestAs extends Pick<PipelineRequest, 'client' | 'record' | 'resultLimit'> {
  readonly database: string
  readonly table: string
  /** Returns the checked body. Called if the grant has a permission on the table. @throws INVALID_JSON, INVALID_BODY … */
  readonly readBody: () => Body
  readonly consistency?: { readonly asked: unknown, /** The header or field that asks for it, in messages. */ readonly place: string }
}

/** The answer, and its plan. */
export interface AnsweredAs { readonly answer: string | Buffer, readonly plan: Plan }

/** Runs a request with the rights of a grant. @throws ServiceError */
export async function executeAs (grant: Grant, { databases, limits }: InProcess, { database, table, readBody, consistency, ...options }: RequestAs): Promise<AnsweredAs> {
  const access = getAccess(databases, grant, { database, table })
  const body = readBody()
  const asked = readConsistency(body.verb, consistency?.place ?? '', consistency?.asked)
  let plan: Plan | undefined
  const answer = await runPipeline({ ...options, access, body, limits, consistency: asked, onPlan: (made) => { plan = made } })
  return { answer, plan: plan as Plan }
}

const OPTIONS: ReadonlySet<string> = new Set<keyof ExecuteRequest>(['database', 'table', 'body', 'grant', 'bigints', 'consistency'])

/** Returns `data` of the response. @throws ServiceError */
export async function execute (inProcess: InProcess, request: ExecuteRequest): Promise<unknown> {
  requireKnown(request, OPTIONS, 'execute')
  const { database, table, body, grant, bigints = 'bigint', consistency: asked } = request
  const { answer, plan } = await executeAs(toCallGrant(grant), inProcess, {
    database,
    table,
    readBody: () => readBody<Body>(body, findBodyError),
    consistency: { asked, place: '"consistency"' }
  })
  return readAnswer(answer, plan, bigints)
}
