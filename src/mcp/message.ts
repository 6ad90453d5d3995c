/** JSON-RPC messages (https://www.jsonrpc.org/specification). */
import { clampNumbers } from '../request/check-body.ts'
import { isObject } from '../json/exact-json.ts'

/** The codes of errors that are answered before the implementation of the protocol sees a message. */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600

/**
 * Makes numbers that the parser kept as text ordinary ones, such as `id`, but not in the arguments of a tool. Changes `message`, but only its upper levels,
 * because a message may be nested as deeply as it is long.
 */
export function toMessage (message: unknown): unknown {
  clampNumbers(message)
  const { params } = Object(message) as { params?: unknown }
  if (!isObject(params)) return message
  clampNumbers(params)
  clampNumbers(params['_meta'])
  return message
}

/** The text of an answer to an invalid message. */
export function errorText (code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null })
}

export const NO_BATCHES = 'Invalid Request: send one message at a time; batches are not supported'
