/** Runs requests of the host app without HTTP, with the same pipeline and the same errors. */
import { Readable } from 'node:stream'
import type { Body } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grants.ts'
import { getAccess } from '../access/authorize.ts'
import { type Grant, type CallGrant, toCallGrant } from '../access/grant.ts'
import type { Column } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Transaction } from '../dialects/dialect.ts'
import { invalidBody, didYouMean, at, requestNotFound } from '../errors.ts'
import { checkStreamBody, readConsistency } from '../http/stream.ts'
import { type ImportOptions, OPTION_NAMES, readImportOptions, Import } from '../imports/run-import.ts'
import { parseExactJson, type RawNumber } from '../json/exact-json.ts'
import type { NamedRequests } from '../named/call.ts'
import { readObject } from '../named/parameters.ts'
import { handle, type Handled, openStream, type PipelineRequest } from '../pipeline.ts'
import { membersOf } from '../plan/filters/scope.ts'
import { resultColumns, type Member, type Plan } from '../plan/plan.ts'
import type { PlanLimits, RequestLimits } from '../plan/limits.ts'
import { clampNumbers, createBodyCheck, type FindBodyError } from '../request/check-body.ts'
import { copyJson, toJson } from '../request/copy-json.ts'
import type { Bigints } from './field-types.ts'
import type { ImportFields, LoadResult } from './requests.ts'

/**
 * Refuses misspelt options, because `dryrun` would write and `consistancy` would read from a replica. `call`: for the
 * message. @throws INVALID_BODY
 */
export function requireKnown (options: object, names: ReadonlySet<string>, call: string): void {
  const name = Object.keys(options).find((each) => !names.has(each))
  if (name === undefined) return
  const hint = didYouMean(name, names, `; the options are ${[...names].join(', ')}`)
  throw invalidBody(`"${name}" is not an option of ${call}${hint}`)
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

/** As over HTTP; copies the body. `find`: its first error. @throws INVALID_JSON, INVALID_BODY */
export function readBody<T> (given: unknown, find: FindBodyError): T {
  const body = clampNumbers(copyJson(given))
  const error = find(body)
  if (error !== undefined) throw error
  return body as T
}

const CONSISTENCY_FIELD = '"consistency"'

/** Runs a request with the rights of a grant. `source`: as of `readConsistency`. */
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
    readonly consistency?: unknown
  },
  source?: string
): Promise<Handled> {
  const access = getAccess(databases, grant, { database, table })
  const body = readBody()
  const isRead = body.verb === 'select'
  return await handle({ ...options, access, body, limits, consistency: readConsistency(isRead, consistency, source) })
}

const EXECUTE_OPTIONS: ReadonlySet<string> = new Set<keyof ExecuteRequest>([
  'database', 'table', 'body', 'grant', 'bigints', 'consistency'
])

/** Returns `data` of the response. */
export async function execute (inProcess: InProcess, request: ExecuteRequest): Promise<unknown> {
  requireKnown(request, EXECUTE_OPTIONS, 'execute')
  return await executeWith(toCallGrant(request.grant), inProcess, request)
}

export type NamedOptions = Pick<ExecuteRequest, 'grant' | 'bigints' | 'consistency'>

const NAMED_OPTIONS: ReadonlySet<string> = new Set<keyof NamedOptions>(['grant', 'bigints', 'consistency'])

/** Returns `data` of the response. */
export async function requestInProcess (
  named: NamedRequests | undefined,
  name: string,
  parameters: unknown,
  options: NamedOptions
): Promise<unknown> {
  requireKnown(options, NAMED_OPTIONS, 'request')
  const { grant: given, bigints = 'bigint', consistency: asked } = options
  const grant = toCallGrant(given)
  const request = named?.find(name, grant)
  if (named === undefined || request === undefined) throw requestNotFound(name)
  const body = copyJson(parameters)
  const consistency = readConsistency(request.isRead, asked, CONSISTENCY_FIELD)
  return await named.run({ request, grant, given: readObject(request, body), consistency }, ({ response, plan }) =>
    readResponse(response, plan, bigints))
}

type BoundRequest = Omit<ExecuteRequest, 'grant'>

async function executeWith (grant: Grant, inProcess: InProcess, request: BoundRequest): Promise<unknown> {
  const { database, table, body, bigints = 'bigint', consistency } = request
  const { response, plan } = await executeAs(grant, inProcess, {
    database,
    table,
    readBody: () => readBody<Body>(body, createBodyCheck(inProcess.limits)),
    consistency
  }, CONSISTENCY_FIELD)
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
  const { body, limit } = checkStreamBody(clampNumbers(copyJson(given)), limits)
  const consistency = readConsistency(true, asked, CONSISTENCY_FIELD)
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

export interface LoadRequest extends ImportFields {
  database: string
  table: string
  grant: CallGrant
}

/** A request within a transaction, which decides what is committed. */
export type TransactionLoadRequest =
  Omit<LoadRequest, 'database' | 'dryRun' | 'transaction'> & { transaction?: 'whole' }

export const LOAD_OPTIONS: ReadonlySet<string> = new Set<keyof LoadRequest>([
  'table', 'grant', 'format', ...OPTION_NAMES
])
const LOAD_FIELDS: ReadonlySet<string> = new Set([...LOAD_OPTIONS, 'database'])

/** `source`: of bytes, texts or objects. @throws what the source throws; StaleAttempt within a transaction */
export async function loadInProcess (
  { databases, limits, ...context }: {
    readonly databases: ReadonlyMap<string, Database>
    readonly limits: RequestLimits
    /** The open transaction. */
    readonly within?: Transaction
    readonly isOfHook?: boolean
  },
  request: LoadRequest,
  source: AsyncIterable<unknown> | Iterable<unknown>
): Promise<LoadResult> {
  requireKnown(request, LOAD_FIELDS, 'load')
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
  const running = await Import.begin({ ...context, access, options, limits })
  const stream = Readable.from(toBytes(source), { objectMode: false })
  try {
    const response = await running.run(() => stream)
    return (JSON.parse(response.toString()) as { readonly data: LoadResult }).data
  } finally {
    stream.destroy()
  }
}

/** @throws INVALID_BODY for options of the whole transaction */
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

// Converts bodies to JSON text and responses to JavaScript values, without rounding integers.

type Values = Record<string, unknown>

/** `data` of the response to a plan, or to several. */
export function readResponse (response: string | Buffer, plan: Plan | undefined, bigints: Bigints): unknown {
  const { data } = parseExactJson(String(response)) as { data: Values }
  const rows = plan === undefined ? NO_NAMES : namesOf(plan)
  // `next` is a position, which has values of columns, or an offset
  convertRow(data, { columns: new Map(), members: new Map([['rows', rows], ['next', rows]]) }, bigints)
  return data
}

/** Creates a function that reads a row of a plan from its JSON text. */
function createRowReader (plan: Plan, bigints: Bigints): (text: string) => Values {
  const names = namesOf(plan)
  return (text) => {
    const row = parseExactJson(text) as Values
    convertRow(row, names, bigints)
    return row
  }
}

const NO_NAMES: RowNames = { columns: new Map(), members: new Map() }

const namesOf = (plan: Plan): RowNames => ({
  columns: resultColumns(plan),
  members: namesOfMembers(membersOf(plan))
})

/** The columns and members behind the names in a row. */
interface RowNames {
  readonly columns: ReadonlyMap<string, Column>
  readonly members: ReadonlyMap<string, RowNames>
}

const namesOfMembers = (members: readonly Member[]): RowNames['members'] =>
  new Map(members.map((member) => [member.name, {
    columns: new Map(member.columns.map((column) => [column.name, column])),
    members: namesOfMembers(member.kind === 'computed' ? [] : member.members)
  }]))

/**
 * Converts the numbers of a row. Integers that a double cannot represent become bigints or strings of digits if the
 * column is an integer or JSON column, or the name is none of a column, such as `id`; every other number becomes the
 * nearest double, which is exact for FLOAT and DOUBLE.
 */
function convertRow (row: Values, { columns, members }: RowNames, bigints: Bigints): void {
  for (const [name, value] of Object.entries(row)) {
    const member = members.get(name)
    if (member === undefined) {
      const type = columns.get(name)?.type
      const isExact = type === undefined || type.wholeNumbers !== undefined || type.structured === true
      convert(row, name, value, isExact ? bigints : undefined)
    } else {
      for (const related of [value].flat() as Array<Values | null>) {
        if (related !== null) convertRow(related, member, bigints)
      }
    }
  }
}

/** Replaces numbers that were parsed as text, at any depth of a JSON value. */
function convert (holder: object, key: string, value: unknown, large: Bigints | undefined): void {
  if (JSON.isRawJSON(value)) {
    // not an assignment, because the key can be `__proto__`
    Object.defineProperty(holder, key, {
      value: toNumber(value, large),
      writable: true,
      enumerable: true,
      configurable: true
    })
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) convert(value, name, item, large)
  }
}

/** `large`: the type of integers that a double cannot represent; undefined for the nearest double. */
export function toNumber ({ rawJSON }: RawNumber, large: Bigints | undefined): number | bigint | string {
  const number = Number(rawJSON)
  if (large === undefined || Number.isSafeInteger(number) || !/^-?\d+$/.test(rawJSON)) return number
  return large === 'string' ? rawJSON : BigInt(rawJSON)
}
