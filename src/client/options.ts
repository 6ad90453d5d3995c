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
  /** Address of the service with its prefix, such as `https://rows.example.com/api`. In a browser it can be relative to the page. */
  url: string
  /** The bearer token, or a function that returns it, such as one that renews a JWT. It is called for each attempt. Without a token the header is not sent. */
  token?: string | undefined | (() => string | undefined | Promise<string | undefined>)
  /** Used instead of the `fetch` of the runtime. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Type of integers beyond 2^53 in answers: bigints, which is the default, or strings of digits. */
  numbers?: 'bigint' | 'string' | undefined
  /** Sends an `Idempotency-Key` with every write, so that it may be repeated. The database needs the table of `row-query keys`. */
  idempotencyKeys?: boolean
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
