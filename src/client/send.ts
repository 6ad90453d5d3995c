/** Sends a request, reads its response, and repeats requests that may be repeated. */
import { parseSafely } from '../json/exact-json.ts'

// Reads and writes JSON with integers of any size, which `JSON.stringify` refuses.

/** The kinds of JSON values other than numbers, by the names that `Object.prototype.toString` gives them. */
const KINDS = / (Object|Array|String|Boolean|Null)\]$/

/** Parses JSON. `toLarge` converts the digits of integers beyond 2^53. @throws SyntaxError, RangeError */
export function parseJson (text: string, toLarge: (digits: string) => unknown): unknown {
  // JSON.parse is faster, but rounds such integers, and may return wrong keys for those with a backslash
  return /\\|\d{16}/.test(text)
    ? parseSafely(text, (value, source) =>
      Number.isSafeInteger(value) || !/^-?\d+$/.test(source) ? value : toLarge(source)
    )
    : JSON.parse(text)
}

/** Writes JSON, with bigints as integers. @throws RowQueryError INVALID_BODY for values that JSON does not have */
export function writeJson (value: unknown): string {
  // of a value without bigints, neither the id nor the expression below is needed
  let mark: string | undefined
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, given: unknown) {
    // not `given`, because many programs add a toJSON to bigints that converts them to strings
    const original = this[key]
    if (typeof original === 'bigint') {
      mark ??= randomId()
      return `${mark}${original}`
    }
    // JSON.stringify would omit undefined, so that a filter is missing, and write NaN and an invalid Date as null and a
    // Map or a promise as {}
    if (
      (given === null && original !== null) ||
      (typeof given === 'number' ? !Number.isFinite(given) : !KINDS.test(Object.prototype.toString.call(given)))
    ) { throw new RowQueryError('INVALID_BODY', `"${key}" has a value that JSON does not have`) }
    return given
  })
  return mark === undefined ? text : text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}

/**
 * 128 random bits, so that no value can contain the id. Browsers have `crypto.randomUUID` only in pages loaded over
 * HTTPS.
 */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

// Reads a response of the service, and recognizes responses of others.

interface Envelope {
  success?: boolean
  data?: unknown
  error?: { code: unknown; message: string; details?: readonly ErrorDetail[]; committed?: Committed }
}

/** Returns `data` of a successful response, and otherwise the error (not thrown). */
function readResponse ({ status, headers }: Response, text: string, toLarge: (digits: string) => unknown): unknown {
  let envelope: Envelope | undefined
  try {
    envelope = parseJson(text, toLarge) as Envelope
  } catch {} // reported below
  const { success, data, error } = envelope ?? {}
  if (success === true && data instanceof Object) return data
  const after = headers.get('retry-after')
  const isOurs = typeof error?.code === 'string'
  // without its text, which can contain rows
  const message = isOurs
    ? error.message
    : `The response (status ${status}, ${headers.get('content-type')}) is not one of the service`
  return new RowQueryError(isOurs ? error.code as string : 'UNEXPECTED_ANSWER', message, {
    status,
    details: error?.details,
    committed: error?.committed,
    requestId: headers.get('x-request-id') ?? undefined,
    // the header has seconds or a date
    retryAfter: after === null ? undefined : Math.max(0, Number(after) || (Date.parse(after) - Date.now()) / 1000 || 0)
  })
}

/** @throws RowQueryError NO_ANSWER where the connection ends before the rows; the reason of the signal */
export async function * readRows (
  { body }: Response,
  toLarge: (digits: string) => unknown,
  { signal, forget }: {
    readonly signal: AbortSignal | undefined
    /** Called at the end. */
    readonly forget: () => void
  }
): AsyncGenerator<unknown> {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n')
      rest = lines.pop() as string
      for (const line of lines) {
        signal?.throwIfAborted()
        yield parseJson(line, toLarge)
      }
      if (done) break
    }
    // a line without its end; not its text, which is a part of a row
    if (rest !== '') throw new Error('The last line has no end')
  } catch (cause) {
    signal?.throwIfAborted()
    throw connectionFailed(cause)
  } finally {
    forget()
    reader.cancel().catch(() => {})
  }
}

/**
 * Sends a request to the path of these names below the address of the service, and returns `data` of its response, or a
 * generator of the rows of a stream. `as`: what the response is if not JSON, or the request.
 * @throws RowQueryError; the reason of the signal; what the function for the token throws
 */
export type Send = (
  names: readonly string[],
  body: {
    readonly verb?: string
    readonly operations?: ReadonlyArray<{ readonly verb?: string }>
    readonly dryRun?: unknown
  },
  options?: RequestOptions,
  as?: 'rows' | Other
) => Promise<any>

/** A request of another form: an import, whose body is a stream, or the call of a named request. */
export interface Other {
  readonly type?: string
  /** The query string. */
  readonly query: string
  readonly stream?: () => ReadableStream<Uint8Array>
  /** The method of a named request, whose parameters may be called as fields of bodies are. */
  readonly method?: 'GET' | 'POST'
}

export const NDJSON = 'application/x-ndjson'

/** Statuses and codes after which the same request may succeed. */
const TEMPORARY = new Set<unknown>([429, 502, 503, 'NO_ANSWER', 'IDEMPOTENCY_IN_PROGRESS'])

/** @throws TypeError if the address is not valid */
export function createSend (
  { url, token, fetch: given, numbers, idempotencyKeys, query = false, ...usual }: ClientOptions
): Send {
  const { href } = new URL(url, (globalThis as { location?: { href: string } }).location?.href)
  if (/[?#@]/.test(href)) throw new TypeError('"url" has a user, query or fragment')

  let hasQuery: boolean | undefined = query ? undefined : false

  const toLarge = numbers === 'string' ? String : BigInt

  return async (names, body, options, as) => {
    const isStream = as === 'rows'
    const target = isStream ? undefined : as
    const stream = target?.stream
    const named = target?.method
    const {
      retries = 3,
      timeout = stream === undefined ? 60_000 : 600_000,
      headers,
      signal: aborted,
      idempotencyKey,
      consistency
    } = { ...usual, ...options }
    const isRead = named === undefined
      ? (body.operations ?? [body]).every(({ verb }) => verb === 'select')
      : named === 'GET'
    // the service refuses keys of dry runs
    const key =
      isRead || (body.dryRun === true && named === undefined)
        ? undefined
        : (idempotencyKey ?? (idempotencyKeys === true && stream === undefined ? randomId() : undefined))
    let isReading = false
    const address = href.replace(/\/*$/, '') + names.map(encodeSegment).join('') + (target?.query ?? '')
    const text = named === 'GET' ? undefined : writeJson(body)

    const attempt = async (): Promise<unknown> => {
      const bearer = typeof token === 'function' ? await token() : token
      const sent = createHeaders({ ...usual.headers, ...headers }, {
        authorization: bearer === undefined ? bearer : `Bearer ${bearer}`,
        'content-type': text === undefined ? undefined : target?.type ?? 'application/json',
        accept: isStream ? NDJSON : undefined,
        'idempotency-key': key,
        'row-query-consistency': consistency
      })
      try {
        // does not follow redirects, because the token must not be sent to another host
        const init = { redirect: 'manual', headers: sent, signal } as const
        if (isRead && named === undefined && hasQuery === undefined) {
          const { headers } = await (given ?? fetch)(address, { ...init, method: 'OPTIONS' })
          hasQuery = headers.get('accept-query')?.includes('application/json') === true
        }
        const method = named ?? (isRead && hasQuery === true ? 'QUERY' : 'POST')
        const response = await (given ?? fetch)(
          address,
          stream === undefined
            ? { ...init, method, body: text ?? null }
            : { ...init, method, body: stream(), duplex: 'half' } as RequestInit
        )
        if (!isStream || !response.ok) return readResponse(response, await response.text(), toLarge)
        isReading = response.headers.get('content-type')?.startsWith(NDJSON) === true
        if (isReading) return readRows(response, toLarge, { signal: aborted, forget })
        // a proxy that speaks HTTP/1.0 gets JSON, which has no end that shows that it is whole
        await response.body?.cancel()
        return readResponse(response, '', toLarge)
      } catch (cause) {
        return connectionFailed(cause)
      }
    }

    let pauseTimer: ReturnType<typeof setTimeout> | undefined
    const repeat = async (): Promise<unknown> => {
      for (let count = 0; ; count++) {
        const result = await attempt()
        if (!(result instanceof RowQueryError)) return result
        signal.throwIfAborted()
        // the longest pause doubles from 200 ms to ten seconds; the random part separates clients that failed together
        const pause = (result.retryAfter ?? 0) * 1000 + Math.random() * Math.min(10_000, 200 * 2 ** count)
        if (
          // the rows of an import are gone
          stream !== undefined ||
          !(isRead || key !== undefined) ||
          count >= retries ||
          !(TEMPORARY.has(result.status) || TEMPORARY.has(result.code)) ||
          performance.now() + pause > end
        ) { throw result }
        await new Promise((resolve) => { pauseTimer = setTimeout(resolve, pause) })
      }
    }

    aborted?.throwIfAborted()
    const controller = new AbortController()
    const { signal } = controller
    const ended = new Promise((_resolve, reject) => { signal.onabort = () => reject(signal.reason) })
    const abort = (): void => controller.abort(aborted?.reason)
    const forget = (): void => aborted?.removeEventListener('abort', abort)
    aborted?.addEventListener('abort', abort)
    // a longer timer would expire at once
    const time = Math.min(timeout, 2 ** 31 - 1)
    const end = performance.now() + time
    const timer = setTimeout(
      () => controller.abort(new RowQueryError('TIMEOUT', `No response within ${time} ms`)), time
    )
    try {
      // ends at once, because a pause, and possibly the functions for the token and for fetch, do not use the signal
      return await Promise.race([ended, repeat()])
    } finally {
      clearTimeout(timer)
      clearTimeout(pauseTimer)
      // the signal also ends the reading of a stream
      if (!isReading) forget()
    }
  }
}

/** Refuses `.` and `..`, which would change the path even if percent-encoded. @throws RowQueryError INVALID_NAME */
function encodeSegment (name: string): string {
  if (/^\.{0,2}$/.test(name) || !name.isWellFormed()) throw new RowQueryError('INVALID_NAME', `"${name}" is not a name`)
  return `/${encodeURIComponent(name)}`
}

/**
 * Replaces the runtime's error, whose message would contain the value, which can be the token. @throws RowQueryError
 * INVALID_HEADER
 */
function createHeaders (
  headersSent: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string | undefined>>
): Headers {
  try {
    const headers = new Headers(headersSent)
    for (const [name, value] of Object.entries(own)) if (value !== undefined) headers.set(name, value)
    return headers
  } catch {
    throw new RowQueryError('INVALID_HEADER', 'The token or a header has an invalid character')
  }
}

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
  /** Type of integers beyond 2^53 in responses: bigints, which is the default, or strings of digits. */
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

/** The facts of an error in a response. */
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
  /** The status of the response; 0 if there is none. */
  declare readonly status: number
  /** The causes that the service names. */
  declare readonly details: readonly ErrorDetail[]
  /** The `x-request-id` of the response, which is also in the log of the service. */
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

const connectionFailed = (cause?: unknown): RowQueryError =>
  new RowQueryError('NO_ANSWER', 'The connection failed', { cause })
