/** Sends requests to the service, with the token of the tab. */
import { parseJson, memberOf, type Json, type JsonObject } from './json.ts'

export interface Failure {
  readonly code: string
  readonly message: string
  readonly details: ReadonlyArray<{ readonly path: string, readonly message: string }>
}

/** The answer to a request for rows: `data` of a successful one, otherwise the failure. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly data?: JsonObject
  readonly failure?: Failure
  readonly requestId: string | null
  /** Milliseconds. */
  readonly took: number
}

export interface Service {
  /** The prefix, `/api`. */
  readonly base: string
  /** GET of a document. @throws LoadError */
  load (path: string): Promise<any>
  /** POST of a body. It never throws, except if the signal aborts. */
  send (path: string, body: string, signal?: AbortSignal): Promise<Answer>
  /** POST of a select of the page itself, such as for the names beside keys, which `onSent` is not told. */
  look (path: string, body: string, signal?: AbortSignal): Promise<Answer>
  /** POST of a select whose answer may be CSV: its text, unless the service answers in JSON. @throws if the answer is cut off */
  stream (path: string, body: string): Promise<Blob | Answer>
}

/** A request that was answered; one that was aborted was not. */
export interface Sent {
  readonly path: string
  readonly body: string
  readonly status: number
  readonly accept: string
}

export class LoadError extends Error {
  readonly status: number

  constructor (status: number, message: string) {
    super(message)
    this.status = status
  }
}

const UNREACHABLE = 'The service cannot be reached'
const JSON_TYPE = 'application/json'
export const CSV = 'text/csv'

export function createService (base: string, token: string, onSent: (sent: Sent) => void): Service {
  const authorization: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }

  const post = async (path: string, body: string, accept: string, signal?: AbortSignal): Promise<Response> =>
    await fetch(base + path, { method: 'POST', headers: { ...authorization, accept, 'content-type': JSON_TYPE }, body, signal: signal ?? null })

  const failed = (message: string, began: number): Answer => ({ status: 0, text: '', failure: { code: 'NO_ANSWER', message, details: [] }, requestId: null, took: performance.now() - began })

  const read = async (response: Response, began: number): Promise<Answer> => {
    const text = await response.text()
    const shared = { status: response.status, text, requestId: response.headers.get('x-request-id'), took: performance.now() - began }
    try {
      const answer = parseJson(text)
      if (memberOf(answer, 'success') === true) return { ...shared, data: memberOf(answer, 'data') as JsonObject }
      return { ...shared, failure: readFailure(memberOf(answer, 'error') as JsonObject) }
    } catch {
      return { ...shared, failure: { code: 'NO_ANSWER', message: `The answer with status ${response.status} is not one of the service`, details: [] } }
    }
  }

  const ask = async (path: string, body: string, signal?: AbortSignal): Promise<Answer> => {
    const began = performance.now()
    try {
      return await read(await post(path, body, JSON_TYPE, signal), began)
    } catch (error) {
      if (signal?.aborted === true) throw error
      return failed(UNREACHABLE, began)
    }
  }

  return {
    base,
    async load (path) {
      const response = await fetch(base + path, { headers: authorization }).catch(() => { throw new LoadError(0, UNREACHABLE) })
      const body = await response.json().catch(() => undefined)
      if (response.ok && body !== undefined) return body
      throw new LoadError(response.status, body?.error?.message ?? `The answer with status ${response.status} is not one of the service`)
    },
    async send (path, body, signal) {
      const answer = await ask(path, body, signal)
      onSent({ path, body, status: answer.status, accept: JSON_TYPE })
      return answer
    },
    look: ask,
    async stream (path, body) {
      const began = performance.now()
      const response = await post(path, body, CSV).catch(() => undefined)
      onSent({ path, body, status: response?.status ?? 0, accept: CSV })
      if (response === undefined) return failed(UNREACHABLE, began)
      if (response.headers.get('content-type')?.startsWith(CSV) !== true) return await read(response, began)
      return await response.blob().catch(() => { throw new Error('The rows ended before the last one: the file is not complete') })
    }
  }
}

function readFailure (error: JsonObject): Failure {
  const details = (error['details'] ?? []) as ReadonlyArray<Readonly<Record<'path' | 'message', string>>>
  return { code: String(error['code'] as Json), message: String(error['message'] as Json), details }
}
