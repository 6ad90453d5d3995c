/** Runs streams of the host app without HTTP. */
import { getAccess } from '../access/authorize.ts'
import { toCallGrant } from '../access/host-grant.ts'
import { ServiceError } from '../errors.ts'
import { openStream } from '../pipeline.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { parseBody } from '../request/check-body.ts'
import { readConsistency } from '../request/stream-request.ts'
import { checkStreamBody } from '../request/stream-request.ts'
import type { ExecuteRequest, InProcess } from './execute.ts'
import { createRowReader, toJson } from './to-values.ts'

export interface InProcessStreams extends InProcess {
  readonly limits: InProcess['limits'] & { readonly streamRows?: number | undefined }
}

/** Returns the rows of a select one by one. The database is read as they are taken; leaving the loop ends the statement. @throws ServiceError, also between rows */
export async function * streamInProcess ({ databases, limits }: InProcessStreams, { database, table, body: given, grant: granted, bigints = 'bigint', consistency: asked }: ExecuteRequest): AsyncGenerator<unknown, void, undefined> {
  const access = getAccess(databases, toCallGrant(granted), { database, table })
  const parsed = parseBody(toJson(given))
  if (parsed instanceof ServiceError) throw parsed
  const { body, limit } = checkStreamBody(parsed, limits.streamRows)
  const consistency = readConsistency('select', '"consistency"', asked)
  let plan: SelectPlan | undefined
  const { readable } = await openStream({ access, body, limit, limits, consistency, format: 'ndjson', onPlan: (made) => { plan = made } })
  try {
    const readRow = createRowReader(plan as SelectPlan, bigints)
    // each chunk consists of whole lines
    for await (const chunk of readable) for (const line of String(chunk).split('\n')) if (line !== '') yield readRow(line)
  } finally {
    readable.destroy()
  }
}
