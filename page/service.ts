/** Sends requests to the service, with the token of the tab. */
import { parseJson, memberOf, type JsonObject } from './json.ts'

export interface Failure {
  readonly code: string
  readonly message: string
  /** `line`: of a file, from 1. */
  readonly details: ReadonlyArray<{ readonly path: string, readonly message: string, readonly line?: number }>
  /** The rows of a file that are in the table all the same, and the line in which they end. */
  readonly committed?: { readonly rows: number, readonly line: number } | undefined
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
  /** GET of a named request: `query` has its parameters, `body` as an object. It never throws. */
  get (path: string, query: string, body: string): Promise<Answer>
  /** POST of a select of the page itself, such as for the names beside keys, which `onSent` is not told. */
  look (path: string, body: string, signal?: AbortSignal): Promise<Answer>
  /** POST of a select whose answer may be CSV: its text, unless the service answers in JSON. @throws if the answer is cut off */
  stream (path: string, body: string): Promise<Blob | Answer>
  /** POST of a CSV file. It never throws, except if the signal aborts. `onProgress`: bytes that were sent. */
  upload (path: string, file: File, options: { readonly signal: AbortSignal, readonly onProgress: (sent: number) => void }): Promise<Answer>
}

/** A request that was answered; one that was aborted was not. */
export interface Sent {
  readonly path: string
  readonly body: string
  readonly status: number
  readonly accept: string
  /** The name of the file whose bytes were the body. */
  readonly file?: string | undefined
}

export class LoadError extends Error {
  readonly status: number

  constructor (status: number, message: string) {
    super(message)
    this.status = status
  }
}

const UNREACHABLE = 'The service cannot be reached'
const REQUEST_ID = 'x-request-id'
const JSON_TYPE = 'application/json'
export const CSV = 'text/csv'

export function createService (base: string, token: string, onSent: (sent: Sent) => void): Service {
  const authorization: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }

  const post = async (path: string, body: string, accept: string, signal?: AbortSignal): Promise<Response> =>
    await fetch(base + path, { method: 'POST', headers: { ...authorization, accept, 'content-type': JSON_TYPE }, body, signal: signal ?? null })

  const failed = (message: string, began: number): Answer => ({ status: 0, text: '', failure: { code: 'NO_ANSWER', message, details: [] }, requestId: null, took: performance.now() - began })

  const read = (given: { readonly status: number, readonly text: string, readonly requestId: string | null }, began: number): Answer => {
    const shared = { ...given, took: performance.now() - began }
    try {
      const answer = parseJson(given.text)
      if (memberOf(answer, 'success') === true) return { ...shared, data: memberOf(answer, 'data') as JsonObject }
      return { ...shared, failure: readFailure(memberOf(answer, 'error') as JsonObject) }
    } catch {
      return { ...shared, failure: { code: 'NO_ANSWER', message: `The answer with status ${given.status} is not one of the service`, details: [] } }
    }
  }
  const readResponse = async (response: Response, began: number): Promise<Answer> =>
    read({ status: response.status, text: await response.text(), requestId: response.headers.get(REQUEST_ID) }, began)

  const ask = async (path: string, body: string, signal?: AbortSignal): Promise<Answer> => {
    const began = performance.now()
    try {
      return await readResponse(await post(path, body, JSON_TYPE, signal), began)
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
    async get (path, query, body) {
      const began = performance.now()
      // a cached answer is asked for again
      const answer = await fetch(base + path + query, { headers: { ...authorization, accept: JSON_TYPE }, cache: 'no-cache' })
        .then(async (response) => await readResponse(response, began)).catch(() => failed(UNREACHABLE, began))
      onSent({ path, body, status: answer.status, accept: JSON_TYPE })
      return answer
    },
    look: ask,
    async stream (path, body) {
      const began = performance.now()
      const response = await post(path, body, CSV).catch(() => undefined)
      onSent({ path, body, status: response?.status ?? 0, accept: CSV })
      if (response === undefined) return failed(UNREACHABLE, began)
      if (response.headers.get('content-type')?.startsWith(CSV) !== true) return await readResponse(response, began)
      return await response.blob().catch(() => { throw new Error('The rows ended before the last one: the file is not complete') })
    },
    async upload (path, file, { signal, onProgress }) {
      const began = performance.now()
      const answer = await new Promise<Answer>((resolve, reject) => {
        // `fetch` does not tell how much of a body it has sent
        const request = new XMLHttpRequest()
        request.open('POST', base + path)
        for (const [name, value] of Object.entries({ ...authorization, accept: JSON_TYPE, 'content-type': CSV })) request.setRequestHeader(name, value)
        request.upload.onprogress = ({ loaded }) => onProgress(loaded)
        request.onload = () => resolve(read({ status: request.status, text: request.responseText, requestId: request.getResponseHeader(REQUEST_ID) }, began))
        request.onerror = () => resolve(failed(UNREACHABLE, began))
        request.onabort = () => reject(signal.reason)
        signal.addEventListener('abort', () => request.abort())
        request.send(file)
      })
      onSent({ path, body: '', status: answer.status, accept: JSON_TYPE, file: file.name })
      return answer
    }
  }
}

function readFailure (error: JsonObject): Failure {
  const { code, message, details, committed } = error as unknown as Failure
  return { code: String(code), message: String(message), details: details ?? [], committed }
}
