/** The options of the client and of a request. */

/** The options of sending requests. */
export interface SendOptions {
  /** Additional headers, such as `traceparent`. Those of a request replace those of the client with the same names. */
  headers?: Readonly<Record<string, string>>
  /** Maximum number of repetitions of a request that is a read or has an `Idempotency-Key`; 3 by default. */
  retries?: number
  /** Time limit of a request in milliseconds, including repetitions and the pauses between them; 60,000 by default. */
  timeout?: number
}

export interface ClientOptions extends SendOptions {
  /**
   * Address of the service with its prefix, such as `https://rows.example.com/api`. In a browser it can be relative to
   * the page.
   */
  url: string
  /**
   * The bearer token, or a function that returns it, such as one that renews a JWT. It is called for each attempt.
   * Without a token the header is not sent.
   */
  token?: string | undefined | (() => string | undefined | Promise<string | undefined>)
  /** Used instead of the `fetch` of the runtime. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Type of integers beyond 2^53 in answers: bigints, which is the default, or strings of digits. */
  numbers?: 'bigint' | 'string' | undefined
  /**
   * Sends an `Idempotency-Key` with every write, so that it may be repeated. The database needs the table of `row-query
   * keys`.
   */
  idempotencyKeys?: boolean
  /**
   * Sends reads by the method QUERY (RFC 10008) if the service has it, so that proxies know that they may be repeated.
   * The client asks for it once with OPTIONS.
   */
  query?: boolean
}

/** The options of sending one request. */
export interface RequestOptions extends SendOptions {
  /** Ends the request at once, also while it waits. The promise rejects with the reason of the signal. */
  signal?: AbortSignal | undefined
  /** The `Idempotency-Key` of a write. */
  idempotencyKey?: string | undefined
  /** `primary` reads from the primary, because replicas can lag behind. */
  consistency?: 'primary' | undefined
}

// The error of an unsuccessful request.

/** One cause of an error: where in the body (JSON Pointer, RFC 6901) and why. */
export interface ErrorDetail {
  readonly path: string
  readonly message: string
  /** The line of an import. */
  readonly line?: number
}

/** The rows of an import that are in the table, and the line in which they end. */
export interface Committed { readonly rows: number, readonly line: number }

/** The facts of an error in an answer. */
export interface ErrorFacts {
  readonly status?: number
  readonly details?: readonly ErrorDetail[] | undefined
  readonly requestId?: string | undefined
  readonly retryAfter?: number | undefined
  readonly committed?: Committed | undefined
  readonly cause?: unknown
}

export class RowQueryError extends Error {
  /** A code of the service (docs/errors.md), or one of the client (docs/client.md). */
  declare readonly code: string
  /** The status of the answer; 0 if there is none. */
  declare readonly status: number
  /** The causes that the service names. */
  declare readonly details: readonly ErrorDetail[]
  /** The `x-request-id` of the answer, which is also in the log of the service. */
  declare readonly requestId: string | undefined
  /** Seconds after which the service accepts the request again, if it says so. */
  declare readonly retryAfter: number | undefined
  /** What is in the table after an error of an import in batches. */
  declare readonly committed: Committed | undefined

  constructor (
    code: string,
    message: string,
    { status = 0, details = [], requestId, retryAfter, committed, ...cause }: ErrorFacts = {}
  ) {
    super(message, cause)
    Object.assign(this, { name: 'RowQueryError', code, status, details, requestId, retryAfter, committed })
  }
}

export const connectionFailed = (cause?: unknown): RowQueryError =>
  new RowQueryError('NO_ANSWER', 'The connection failed', { cause })
