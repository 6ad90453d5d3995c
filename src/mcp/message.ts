/** JSON-RPC messages (https://www.jsonrpc.org/specification). */
import { clampNumbers, toNumber } from '../request/check-body.ts'
import { isObject, type RawNumber } from '../json/exact-json.ts'

/** The codes of errors that are answered before the implementation of the protocol sees a message. */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600

/** A message for the implementation of the protocol, or the text of its refusal. */
export type ReadMessage = { readonly message: unknown, readonly refused?: undefined } | { readonly refused: string }

/**
 * Makes numbers that the parser kept as text ordinary ones, but not in the arguments of a tool. Changes `message`, but only
 * its upper levels, because a message may be nested as deeply as it is long. Refuses what the implementation would answer
 * wrongly: it would round an `id`.
 */
export function readMessage (message: unknown): ReadMessage {
  if (Array.isArray(message)) return { refused: errorText(INVALID_REQUEST, NO_BATCHES) }
  if (!isObject(message)) return { message }
  const { id, params } = message
  if (JSON.isRawJSON(id)) {
    const number = toNumber(id.rawJSON)
    if (!Number.isSafeInteger(number)) return { refused: errorText(INVALID_REQUEST, BAD_ID, id) }
    message['id'] = number
  }
  clampNumbers(message)
  if (!isObject(params)) return { message }
  clampNumbers(params)
  clampNumbers(params['_meta'])
  return { message }
}

/** The text of an answer to an invalid message. `id`: null if the message has none that is certain. */
export function errorText (code: number, message: string, id: RawNumber | null = null): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id })
}

const NO_BATCHES = 'Invalid Request: send one message at a time; batches are not supported'
const BAD_ID = 'Invalid Request: "id" must be a string or a whole number from -(2^53 - 1) to 2^53 - 1'
