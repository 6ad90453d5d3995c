/** Requests of the host app without HTTP: the same pipeline and the same errors. */
import { BodySchema, type Body } from '../../schemas/body.ts'
import { getAccess } from '../access/authorize.ts'
import { compileBodySchema, parseBody, type FindBodyError } from '../request/check-body.ts'
import { readConsistency } from '../request/consistency.ts'
import type { Database } from '../databases/database.ts'
import { toCallGrant, type CallGrant } from '../access/host-grant.ts'
import { ServiceError } from '../errors.ts'
import type { PlanLimits } from '../plan/limits.ts'
import type { Plan } from '../plan/plan.ts'
import type { Bigints } from './fields.ts'
import { requireKnown } from './options.ts'
import { readAnswer, toJson } from './to-values.ts'
import { runPipeline } from '../pipeline.ts'

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

/** The same conversion as over HTTP, which also copies the body. `find`: finds its first error. @throws INVALID_JSON, INVALID_BODY */
export function readBody<T> (given: unknown, find: FindBodyError): T {
  const body = parseBody(toJson(given))
  const error = body instanceof ServiceError ? body : find(body)
  if (error !== undefined) throw error
  return body as T
}

const OPTIONS: ReadonlySet<string> = new Set<keyof ExecuteRequest>(['database', 'table', 'body', 'grant', 'bigints', 'consistency'])

/** Returns `data` of the response. @throws ServiceError */
export async function execute ({ databases, limits }: InProcess, request: ExecuteRequest): Promise<unknown> {
  requireKnown(request, OPTIONS, 'execute')
  const { database, table: tableName, body: given, grant: granted, bigints = 'bigint', consistency: asked } = request
  const grant = toCallGrant(granted)
  const access = getAccess(databases, grant, { database, table: tableName })
  const body = readBody<Body>(given, findBodyError)
  const { verb } = body
  const consistency = readConsistency(verb, '"consistency"', asked)
  let plan: Plan | undefined
  const text = await runPipeline({ access, body, limits, consistency, onPlan: (made) => { plan = made } })
  return readAnswer(text, plan as Plan, bigints)
}
