/** Sends a request, reads its answer, and repeats requests that may be repeated. */
import { readAnswer } from './answer.ts'
import { connectionFailed, RowQueryError } from './errors.ts'
import { randomId, writeJson } from './json.ts'
import type { ClientOptions, RequestOptions } from './options.ts'
import { readRows } from './rows.ts'

/** The body of one request, or of several operations. */
export interface ClientBody { readonly verb?: string, readonly operations?: ReadonlyArray<{ readonly verb?: string }>, readonly dryRun?: unknown }

/**
 * Sends a request to the path of these names below the address of the service, and returns `data` of its answer, or a generator of the rows of
 * a stream.
 * @throws RowQueryError; the reason of the signal; what the function for the token throws
 */
export type Send = (names: readonly string[], body: ClientBody, options?: RequestOptions, isStream?: boolean) => Promise<any>

const NDJSON = 'application/x-ndjson'

/** Statuses and codes after which the same request may succeed. */
const TEMPORARY = new Set<unknown>([429, 502, 503, 'NO_ANSWER', 'IDEMPOTENCY_IN_PROGRESS'])

/** @throws TypeError if the address is not valid */
export function createSend ({ url, token, fetch: given, numbers, idempotencyKeys, ...usual }: ClientOptions): Send {
  const { href } = new URL(url, (globalThis as { location?: { href: string } }).location?.href)
  if (/[?#@]/.test(href)) throw new TypeError('"url" has a user, query or fragment')

  const toLarge = numbers === 'string' ? String : BigInt

  return async (names, body, options, isStream) => {
    const { retries = 3, timeout = 60_000, headers, signal: aborted, idempotencyKey, consistency } = { ...usual, ...options }
    const isRead = (body.operations ?? [body]).every(({ verb }) => verb === 'select')
    // the service refuses keys of dry runs
    const key = isRead || body.dryRun === true ? undefined : idempotencyKey ?? (idempotencyKeys === true ? randomId() : undefined)
    let isReading = false
    const address = href.replace(/\/*$/, '') + names.map(encodeSegment).join('')
    const text = writeJson(body)

    const attempt = async (): Promise<unknown> => {
      const bearer = typeof token === 'function' ? await token() : token
      const sent = createHeaders({ ...usual.headers, ...headers }, {
        authorization: bearer === undefined ? bearer : `Bearer ${bearer}`,
        'content-type': 'application/json',
        accept: isStream === true ? NDJSON : undefined,
        'idempotency-key': key,
        'row-query-consistency': consistency
      })
      try {
        // does not follow redirects, because the token must not be sent to another host
        const response = await (given ?? fetch)(address, { method: 'POST', redirect: 'manual', headers: sent, body: text, signal })
        if (isStream !== true || !response.ok) return readAnswer(response, await response.text(), toLarge)
        isReading = response.headers.get('content-type')?.startsWith(NDJSON) === true
        if (isReading) return readRows(response, toLarge, { signal: aborted, forget })
        // a proxy that speaks HTTP/1.0 gets JSON, which has no end that shows that it is whole
        await response.body?.cancel()
        return readAnswer(response, '', toLarge)
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
        if (!(isRead || key !== undefined) || count >= retries || !(TEMPORARY.has(result.status) || TEMPORARY.has(result.code)) || performance.now() + pause > end) throw result
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
    const timer = setTimeout(() => controller.abort(new RowQueryError('TIMEOUT', `No answer within ${time} ms`)), time)
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

/** Replaces the runtime's error, whose message would contain the value, which can be the token. @throws RowQueryError INVALID_HEADER */
function createHeaders (given: Readonly<Record<string, string>>, own: Readonly<Record<string, string | undefined>>): Headers {
  try {
    const headers = new Headers(given)
    for (const [name, value] of Object.entries(own)) if (value !== undefined) headers.set(name, value)
    return headers
  } catch {
    throw new RowQueryError('INVALID_HEADER', 'The token or a header has an invalid character')
  }
}
