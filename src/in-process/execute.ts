/** Requests of the host app without HTTP: the same pipeline and the same errors. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { BodySchema, type Body } from '../../schemas/body.ts'
import { GrantSchema } from '../../schemas/grant.ts'
import { getAccess } from '../access/authorize.ts'
import { compileBodySchema, parseBody } from '../request/check-body.ts'
import { readConsistency } from '../request/consistency.ts'
import type { Database } from '../databases/database.ts'
import { orThrow } from '../config-errors.ts'
import { unauthenticated } from '../errors.ts'
import { createGrant, type Grant, type GrantOptions } from '../access/grant.ts'
import type { PlanLimits } from '../plan/filters/scope.ts'
import type { Plan } from '../plan/plan.ts'
import type { Bigints } from './fields.ts'
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
  grant: GrantOptions
  /** Type of integers beyond 2^53 in the result; `bigint` if omitted. */
  bigints?: Bigints
  consistency?: unknown
}

/** Grants are validated strictly: a misspelt `databases` would allow access to all databases. */
const grants = TypeCompiler.Compile(GrantSchema)

const findBodyError = compileBodySchema(BodySchema)

/** @throws UNAUTHENTICATED */
export function readGrant (granted: GrantOptions): Grant {
  if (!grants.Check(granted)) throw unauthenticated('The grant must have "permissions" and may have "databases", as in the configuration of a token')
  return orThrow(() => createGrant('in process', granted), ({ message }) => unauthenticated(`The grant is not valid: ${message}`))
}

/** The same conversion as over HTTP, which also copies the body. @throws INVALID_JSON, INVALID_BODY */
export function readBody (given: unknown): Body {
  const body = parseBody(toJson(given))
  const error = findBodyError(body)
  if (error !== undefined) throw error
  return body as Body
}

/** Returns `data` of the response. @throws ServiceError */
export async function execute ({ databases, limits }: InProcess, { database, table: tableName, body: given, grant: granted, bigints = 'bigint', consistency: asked }: ExecuteRequest): Promise<unknown> {
  const grant = readGrant(granted)
  const access = getAccess(databases, grant, { database, table: tableName })
  const body = readBody(given)
  const { verb } = body
  const consistency = readConsistency(verb, '"consistency"', asked)
  let plan: Plan | undefined
  const text = await runPipeline({ access, body, limits, consistency, onPlan: (made) => { plan = made } })
  return readAnswer(text, plan as Plan, bigints)
}
