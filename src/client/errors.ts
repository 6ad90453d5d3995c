/** The error of an unsuccessful request. */

/** One cause of an error: where in the body (JSON Pointer, RFC 6901) and why. */
export interface ErrorDetail { readonly path: string, readonly message: string }

/** The facts of an error in an answer. */
export interface ErrorFacts {
  readonly status?: number
  readonly details?: readonly ErrorDetail[] | undefined
  readonly requestId?: string | undefined
  readonly retryAfter?: number | undefined
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

  constructor (code: string, message: string, { status = 0, details = [], requestId, retryAfter, ...cause }: ErrorFacts = {}) {
    super(message, cause)
    Object.assign(this, { name: 'RowQueryError', code, status, details, requestId, retryAfter })
  }
}

export const connectionFailed = (cause?: unknown): RowQueryError => new RowQueryError('NO_ANSWER', 'The connection failed', { cause })
