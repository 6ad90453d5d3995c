/**
 * The client, `fastify-row-query/client`. It runs wherever `fetch` does, and imports only types from the other rooms.
 */
import type { AnyDatabases, Bigints, Name, Position } from '../in-process/field-types.ts'
import type { FiltersIn, RowWith, TableName } from '../in-process/related.ts'
import type {
  AnyOperation, ExactList, Exactly, ImportFields, LoadResult, OperationResult, Results, RowsFields, SelectFields,
  SelectResult, Streamed, WriteFields
} from '../in-process/requests.ts'
import {
  type ClientOptions, RowQueryError, type RequestOptions, createSend, NDJSON, writeJson, type Send, type Other
} from './send.ts'

export { RowQueryError } from './send.ts'
export type {
  ClientOptions, Committed, ErrorDetail, ErrorFacts, RequestOptions, SendOptions
} from './send.ts'
export type { OperationOf, Reference } from '../in-process/requests.ts'
export type { Column, Filters, Insert, Position, Row, Update } from '../in-process/field-types.ts'

/**
 * Creates a client. `Databases`: database to the interface `DB` that `row-query types` writes. @throws TypeError if
 * `url` is not valid
 */
export function createClient<Databases extends AnyDatabases = AnyDatabases> (
  options: ClientOptions & { numbers: 'string' }
): Client<Databases, 'string'>
export function createClient<Databases extends AnyDatabases = AnyDatabases> (
  options: ClientOptions & { numbers?: 'bigint' | undefined }
): Client<Databases, 'bigint'>
export function createClient (options: ClientOptions): any {
  const send = createSend(options)
  return {
    database: (name: string) => createDatabase(send, name),
    request: async (name: string, parameters: object = {}, { method = 'POST', ...rest }: CallOptions = {}) =>
      await send([REQUESTS, name], parameters, rest, { method, query: method === 'GET' ? queryOf(parameters) : '' })
  }
}

// The fields of each method, and the result that belongs to them.

export interface Client<All extends AnyDatabases = AnyDatabases, N extends Bigints = 'bigint'> {
  /** Returns the methods of a database without sending a request. */
  database<D extends Name<All>>(name: D): DatabaseClient<All[D], N>
  /**
   * Calls a named request, by POST or, for caches, by GET. Returns `data` of the response. @throws RowQueryError, also
   * INVALID_BODY by GET for null and an empty list; the reason of the signal
   */
  request<Result = any>(
    name: string,
    parameters?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ): Promise<Result>
}

/** The options of a call of a named request. */
export interface CallOptions extends RequestOptions {
  /** `POST` by default. */
  method?: 'GET' | 'POST' | undefined
}

/** The additional fields of several operations. */
export interface OperationsFields<X> {
  isolation?: 'repeatableRead' | 'serializable'
  dryRun?: X
}

/** The options of a select. */
export type ReadOptions = Omit<RequestOptions, 'idempotencyKey'>
/** The options of a write. */
export type WriteOptions = Omit<RequestOptions, 'consistency'>

/** The options of an import (docs/imports.md). `timeout` is ten minutes by default, and nothing is repeated. */
export interface LoadOptions extends Omit<WriteOptions, 'retries'>, ImportFields {}

/** The position at which `pages` begins. */
interface Beginning<T> { readonly after?: Position<T> | null }

type Write<Tables, N extends Bigints, V extends keyof WriteFields<any, any>> = <
  T extends Name<Tables>,
  const F extends WriteFields<Tables, T>[V]
>(
  table: T & TableName<Tables>,
  fields: Exactly<F, WriteFields<Tables, T, F>[V]>,
  options?: WriteOptions
) => Promise<Results<Tables, T, F, N>[V]>

/**
 * The methods of a database. Each takes the table, the fields of the request without its verb, and options. It returns
 * `data` of the response.
 * @throws RowQueryError; the reason of the signal
 */
export interface DatabaseClient<Tables, N extends Bigints = 'bigint'> {
  /** Returns rows, or groups with `groupBy` and `aggregates`. */
  select<T extends Name<Tables>, const F extends SelectFields<Tables, T> = {}>(
    table: T,
    fields?: Exactly<F, SelectFields<Tables, T, F>>,
    options?: ReadOptions
  ): Promise<SelectResult<Tables, T, F, N>>
  /** Inserts a row or a list of rows. `onConflict` updates rows that exist. */
  insert: Write<Tables, N, 'insert'>
  /** Updates the rows that the filters select. */
  update: Write<Tables, N, 'update'>
  /** Deletes the rows that the filters select. */
  delete: Write<Tables, N, 'delete'>
  /**
   * Iterates over all rows that the filters select. `limit` is the number of rows of each request, and `after` the
   * position to begin at. `timeout` applies to each request.
   */
  pages<T extends Name<Tables>, const F extends RowsFields<Tables, T> & Beginning<Tables[T]> = {}>(
    table: T,
    fields?: Exactly<F, RowsFields<Tables, T, F> & Beginning<Tables[T]> & FiltersIn<Tables, T, F>>,
    options?: ReadOptions
  ): AsyncGenerator<RowWith<Tables, T, F, N>, void, undefined>
  /**
   * Reads any number of rows, or groups, with one request: the service reads them from the database as the loop takes
   * them. Leaving the loop ends the request, as does the signal. `timeout` applies to the first row. @throws
   * RowQueryError, also between rows, if not all of them arrive
   */
  rows<T extends Name<Tables>, const F extends Streamed<SelectFields<Tables, T>> = {}>(
    table: T,
    fields?: Exactly<F, Streamed<SelectFields<Tables, T, F>>>,
    options?: ReadOptions
  ): AsyncGenerator<SelectResult<Tables, T, F, N>['rows'][number], void, undefined>
  /**
   * Inserts any number of rows: bytes or texts of NDJSON or CSV, or objects. They are read no faster than the service
   * takes them. Needs a runtime whose `fetch` sends streams: Node, Deno, Bun, and Chrome over HTTP/2. @throws
   * RowQueryError, with `committed` if batches are committed one by one; what the source throws
   */
  load<T extends Name<Tables>>(
    table: T & TableName<Tables>,
    source: AsyncIterable<unknown> | Iterable<unknown>,
    options?: LoadOptions
  ): Promise<LoadResult>
  /**
   * Runs operations in one transaction, up to 100 if the service has no other limit: either all of them happen or none.
   * `{ $ref: '/0/id' }` takes a value from an earlier result.
   */
  transaction<const Operations extends ReadonlyArray<AnyOperation<Tables>>, X extends boolean | undefined = undefined>(
    operations: ExactList<Tables, Operations>,
    fields?: OperationsFields<X>,
    options?: RequestOptions
  ): Promise<
    { results: { -readonly [I in keyof Operations]: OperationResult<Tables, Operations[I], N> } } & ([X] extends [
      undefined
    ]
      ? unknown
      : { dryRun?: true })
  >
}

// Named requests.

const REQUESTS = 'requests'

/** The query string of parameters; a list gives its name once for each value. @throws RowQueryError INVALID_BODY */
function queryOf (parameters: object): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => {
    const values: unknown[] = Array.isArray(value) ? value : [value]
    if (values.length === 0 || values.includes(null)) {
      throw new RowQueryError('INVALID_BODY', `"${name}" has a value that a query string does not have`)
    }
    return values.map((each) => [name, typeof each === 'string' ? each : writeJson(each)] as const)
  })
  return toQuery(pairs)
}

const toQuery = (pairs: ReadonlyArray<readonly [string, string]>): string => pairs.length === 0
  ? ''
  : `?${pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`

// The methods of a database.

function createDatabase (send: Send, name: string): DatabaseClient<any, any> {
  // the verb comes last, so that the fields cannot override it
  const method =
    (verb: string) =>
      (table: string, fields?: object, options?: RequestOptions): Promise<any> =>
        send([name, table], { ...fields, verb }, options)
  const select = method('select')
  return {
    select,
    insert: method('insert'),
    update: method('update'),
    delete: method('delete'),
    async * pages (table: string, fields?: { after?: unknown }, options?: RequestOptions): AsyncGenerator<any> {
      let after = fields?.after ?? null
      do {
        const { rows, next } = await select(table, { ...fields, after }, options)
        // without progress, the loop would not end
        if (
          !Array.isArray(rows) ||
          (next !== null && !(rows.length > 0 && next instanceof Object && writeJson(next) !== writeJson(after)))
        ) {
          throw new RowQueryError('UNEXPECTED_ANSWER', 'Not the next page')
        }
        yield * rows
        after = next
      } while (after !== null)
    },
    async * rows (table: string, fields?: object, options?: RequestOptions): AsyncGenerator<any> {
      yield * await send([name, table], { ...fields, verb: 'select' }, options, 'rows')
    },
    async load (table: string, source: AsyncIterable<unknown>, options: LoadOptions = {}): Promise<any> {
      const { format, onConflict, set, dryRun, transaction, separator, ...rest } = options
      const query = { onConflict, set, dryRun: dryRun === true || undefined, transaction, separator }
      const upload = new SourceUpload(source, format === 'csv' ? 'text/csv' : NDJSON, query)
      return await send([name, table], { verb: 'insert' }, rest, upload).catch((error: unknown) => {
        throw upload.failure === undefined ? error : upload.failure.error
      }).finally(() => { upload.leave().catch(() => {}) })
    },
    transaction: (operations: readonly object[], fields?: object, options?: RequestOptions): Promise<any> =>
      send([name], { ...fields, operations }, options)
  }
}

// The body of an import: a stream of the bytes that a source of rows gives.

/** Texts and rows are sent together up to so many characters, or for so many milliseconds. */
const SIZE = 65_536
const DELAY = 1000

type Iteration = AsyncIterator<unknown> | Iterator<unknown>

class SourceUpload implements Other {
  readonly #source: AsyncIterable<unknown> | Iterable<unknown>
  readonly type: string
  readonly query: string
  #parts: Iteration | undefined
  /** What the source has thrown. */
  failure: { readonly error: unknown } | undefined

  constructor (source: AsyncIterable<unknown> | Iterable<unknown>, type: string, options: object) {
    this.#source = source
    this.type = type
    this.query = toQuery(Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as const]))
  }

  readonly stream = (): ReadableStream<Uint8Array> => {
    const source = this.#source as AsyncIterable<unknown> & Iterable<unknown>
    const parts: Iteration = this.#parts = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]()
    const encoder = new TextEncoder()
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          // a source that does not wait would keep the response from being read
          await new Promise((resolve) => setTimeout(resolve))
          let text = ''
          const end = performance.now() + DELAY
          let part
          do {
            part = await parts.next()
            if (part.done === true || part.value instanceof Uint8Array) break
            text += typeof part.value === 'string' ? part.value : `${writeJson(part.value)}\n`
          } while (text === '' || (text.length < SIZE && performance.now() < end))
          if (text !== '') controller.enqueue(encoder.encode(text))
          if (part.done === true) controller.close()
          else if (part.value instanceof Uint8Array) controller.enqueue(part.value)
        } catch (error) {
          this.failure = { error }
          throw error
        }
      },
      cancel: () => this.leave()
    })
  }

  /** Leaves the source, which ends the body. */
  async leave (): Promise<void> {
    await this.#parts?.return?.()
  }
}
