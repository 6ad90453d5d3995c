/** What happens to a request once it is known who asks and what: the one way through the rooms. */
import type { Body } from '../schemas/body.ts'
import { authorize, type Access } from './access/authorize.ts'
import { isSameTable } from './databases/broken-definitions.ts'
import type { Table } from './catalog/catalog.ts'
import type { Database } from './databases/database.ts'
import { SchemaMoved, type ExecuteOptions } from './dialects/dialect.ts'
import { brokenDefinition, databaseUnavailable, withReason, type ServiceError } from './errors.ts'
import { createPlan } from './plan/create-plan.ts'
import type { FilterLimits } from './plan/filters/scope.ts'
import { compileQuery } from './sql/compile.ts'
import { respond } from './response/summary.ts'
import type { RequestRecord } from './telemetry/record.ts'

export interface Walk extends ExecuteOptions {
  readonly access: Access
  readonly body: Body
  readonly limits: FilterLimits
  /** Where it is noted how far it came, and when. */
  readonly record?: RequestRecord | null | undefined
  /** Told of the table that each attempt is planned for; the last one is that of the answer. */
  readonly onTable?: (table: Table) => void
}

/**
 * The text of the answer. Where the database's tables turn out to have changed: once more, after reading them again.
 * `before` is then the table as it was at the first time.
 * @throws every refusal of the contract from the 403 of the verb on
 */
export async function walk (request: Walk, before?: Table): Promise<string | Buffer> {
  const { access, body, limits, record } = request
  const { database } = access
  const found = authorize(access, body.verb)
  const table = found instanceof Promise ? await found : found
  record?.begin(table)
  request.onTable?.(table)
  const plan = createPlan(body, table, limits)
  record?.planned()
  const query = compileQuery(plan, database.dialect.engine, database.statements)
  record?.compiled()
  try {
    const result = await database.dialect.execute(query, plan, request)
    record?.executed(result)
    return respond(plan, result)
  } catch (error) {
    if (!(error instanceof SchemaMoved)) throw error
    if (before !== undefined) throw refusalOf(database, error, before, table)
    return await walkAgain(request, table, error)
  }
}

/**
 * A column that was dropped is now refused by name. A write that would still be possible is left to the client to send
 * again, unless what it lacks is not of this table: then it fails each time.
 */
async function walkAgain (request: Walk, before: Table, moved: SchemaMoved): Promise<string | Buffer> {
  const { access, body, limits } = request
  const { database } = access
  if (database.broken.has(before, moved.reason)) throw withReason(brokenDefinition(), moved.reason)
  await database.refresh()
  if (body.verb === 'select') return await walk(request, before)
  const table = await authorize(access, body.verb)
  createPlan(body, table, limits)
  throw moved.isElsewhere ? refusalOf(database, moved, before, table) : databaseUnavailable()
}

/** The error is the same although the catalog was read again. Where that has not changed the table either, a definition is broken. */
function refusalOf (database: Database, { reason }: SchemaMoved, before: Table, table: Table): ServiceError {
  if (!isSameTable(before, table)) return databaseUnavailable()
  database.broken.note(table, reason)
  return withReason(brokenDefinition(), reason)
}
