/** Reads an answer of the service, and recognizes answers of others. */
import { RowQueryError, type ErrorDetail } from './errors.ts'
import { parseJson } from './json.ts'

interface Envelope { success?: boolean, data?: unknown, error?: { code: unknown, message: string, details?: readonly ErrorDetail[] } }

/** Returns `data` of a successful answer, and otherwise the error (not thrown). */
export function readAnswer ({ status, headers }: Response, text: string, toLarge: (digits: string) => unknown): unknown {
  let answer: Envelope | undefined
  try {
    answer = parseJson(text, toLarge) as Envelope
  } catch {} // reported below
  const { success, data, error } = answer ?? {}
  if (success === true && data instanceof Object) return data
  const after = headers.get('retry-after')
  const isOurs = typeof error?.code === 'string'
  // without its text, which can contain rows
  const message = isOurs ? error.message : `The answer (status ${status}, ${headers.get('content-type')}) is not one of the service`
  return new RowQueryError(isOurs ? error.code as string : 'UNEXPECTED_ANSWER', message, {
    status,
    details: error?.details,
    requestId: headers.get('x-request-id') ?? undefined,
    // the header has seconds or a date
    retryAfter: after === null ? undefined : Math.max(0, Number(after) || (Date.parse(after) - Date.now()) / 1000 || 0)
  })
}
