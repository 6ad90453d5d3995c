/** Imports of the host app without HTTP. */
import { Readable } from 'node:stream'
import { getAccess } from '../access/authorize.ts'
import { type CallGrant, toCallGrant } from '../access/host-grant.ts'
import type { Database } from '../databases/database.ts'
import type { Transaction } from '../dialects/dialect.ts'
import { at, invalidBody } from '../errors.ts'
import { type ImportFormat, type ImportOptions, readImportOptions } from '../imports/import-options.ts'
import { Import } from '../imports/run-import.ts'
import type { RequestLimits } from '../plan/write-options.ts'
import { requireKnown } from './calls.ts'
import { toJson } from './to-values.ts'

/** A request for an import. Its options are those of the query string over HTTP. */
export interface LoadRequest {
  database: string
  table: string
  grant: CallGrant
  /** The format of bytes and texts; rows as objects need none. */
  format?: ImportFormat
  onConflict?: readonly string[]
  set?: readonly string[]
  dryRun?: boolean
  transaction?: 'whole' | 'batch'
  separator?: ',' | ';' | 'tab'
}

/** A request within a transaction, which decides what is committed. */
export type TransactionLoadRequest =
  Omit<LoadRequest, 'database' | 'dryRun' | 'transaction'> & { transaction?: 'whole' }

/** The numbers of rows of an import. */
export interface LoadResult { inserted: number, updated: number, unchanged: number, dryRun?: true }

/** The options within a transaction. */
export const LOAD_OPTIONS: ReadonlySet<string> = new Set<keyof LoadRequest>([
  'table', 'grant', 'format', 'onConflict', 'set', 'dryRun', 'transaction', 'separator'
])
const OPTIONS: ReadonlySet<string> = new Set([...LOAD_OPTIONS, 'database'])

/** How long to wait for rows, in milliseconds; the time limit of the import applies before. */
const PATIENCE = 2 ** 31 - 1

/**
 * Inserts the rows of a source of bytes, texts or objects. @throws ServiceError; what the source throws; StaleAttempt
 * within a transaction
 */
export async function loadInProcess (
  { databases, limits, ...context }: {
    readonly databases: ReadonlyMap<string, Database>
    readonly limits: RequestLimits
    /** The transaction that is open, if one is. */
    readonly within?: Transaction
    readonly isOfHook?: boolean
  },
  request: LoadRequest,
  source: AsyncIterable<unknown> | Iterable<unknown>
): Promise<LoadResult> {
  requireKnown(request, OPTIONS, 'load')
  const { database, table, grant, format = 'ndjson', onConflict, set, dryRun, transaction, separator } = request
  const access = getAccess(databases, toCallGrant(grant), { database, table })
  const query = Object.entries({
    onConflict: onConflict?.join(),
    set: set?.join(),
    dryRun: dryRun === true ? 'true' : undefined,
    transaction,
    separator
  }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const options = readImportOptions(format, query)
  if (context.within !== undefined) requireWhole(options)
  const running = await Import.begin({ ...context, access, options, limits, bodyTimeout: PATIENCE })
  const stream = Readable.from(toBytes(source), { objectMode: false })
  try {
    const response = await running.run(() => stream)
    return (JSON.parse(response.toString()) as { readonly data: LoadResult }).data
  } finally {
    stream.destroy()
  }
}

/** @throws INVALID_BODY for options that only the whole transaction can have */
function requireWhole ({ transaction, dryRun }: ImportOptions): void {
  const name = transaction === 'batch' ? 'transaction: batch' : dryRun ? 'dryRun' : undefined
  if (name === undefined) return
  throw at('', invalidBody(`"${name}" is not allowed in a transaction, which commits or rolls back the whole`))
}

/** Objects become lines of NDJSON. */
async function * toBytes (source: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<Uint8Array | string> {
  for await (const part of source) {
    yield typeof part === 'string' || part instanceof Uint8Array ? part : `${toJson(part)}\n`
  }
}
