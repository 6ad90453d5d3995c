/** A request of the app that the service is part of: no HTTP, and otherwise the same way with the same refusals. */
import type { Body } from '../schemas/body.ts'
import { findPlaceRefusal, findVerbRefusal } from './admission.ts'
import { findMistake, parseBody } from './check-body.ts'
import type { Database } from './database.ts'
import { invalidBody, invalidJson, ServiceError, unauthenticated } from './errors.ts'
import { parseExactJson } from './exact-json.ts'
import { createGrant, type GrantOptions } from './grant.ts'
import type { FilterLimits } from './plan/filter-scope.ts'
import { toValues } from './response/to-values.ts'
import { walkAgainIfMoved } from './walk.ts'

export interface InProcess {
  readonly databases: ReadonlyMap<string, Database>
  readonly limits: FilterLimits
}

export interface ExecuteRequest { database: string, table: string, body: unknown, grant: GrantOptions }

/** `data` of the answer. @throws ServiceError */
export async function execute ({ databases, limits }: InProcess, { database: name, table, body: given, grant: granted }: ExecuteRequest): Promise<unknown> {
  if (typeof granted !== 'object' || granted === null) throw unauthenticated('There is no grant')
  const grant = createGrant('in process', granted)
  refuse(findPlaceRefusal({ databases, grant, database: name, table }))
  const body = readBody(given)
  refuse(findVerbRefusal(grant, body.verb))
  const database = databases.get(name) as Database
  const text = await walkAgainIfMoved({ database, table, body, limits })
  const { data } = parseExactJson(String(text)) as { data: object }
  return toValues(data, await database.getTable(table))
}

/** The body as HTTP would have brought it: what reaches a plan is JSON and nothing else, and a copy. */
function readBody (given: unknown): Body {
  const body = parseBody(toJson(given))
  refuse(body instanceof ServiceError ? body : findMistake(body))
  return body as Body
}

function toJson (given: unknown): string {
  try {
    return JSON.stringify(given, toJsonValue)
  } catch (error) {
    throw error instanceof ServiceError ? error : invalidJson('it cannot be written')
  }
}

/** A filter left undefined would be no filter, and one that is not a number would be null: both mean other rows. */
function toJsonValue (key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return JSON.rawJSON(String(value))
  if (typeof value === 'undefined' || typeof value === 'function' || typeof value === 'symbol' || (typeof value === 'number' && !Number.isFinite(value))) {
    throw invalidBody(`"${key}" is ${String(value)}, which JSON does not have`)
  }
  return value
}

function refuse (refusal: ServiceError | undefined): void {
  if (refusal !== undefined) throw refusal
}
