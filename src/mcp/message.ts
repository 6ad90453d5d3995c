/** JSON-RPC messages (https://www.jsonrpc.org/specification). */
import type { IncomingHttpHeaders } from 'node:http'
import { hasMany, isCrowded, isObject, type RawNumber } from '../json/exact-json.ts'
import { clampNumbers, toNumber } from '../request/check-body.ts'
import { createToolServer, type Sdk, type Tools, wrapArguments } from './tools.ts'
import type { Principal } from './tool.ts'

/** The codes of errors of messages that are refused before the implementation of the protocol sees a message. */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600

/**
 * Makes numbers that the parser kept as text ordinary ones, but not in the arguments of a tool, which `wrapArguments`
 * keeps. Changes `message`, but only its upper levels, because a message may be nested as deeply as it is long.
 * Refuses what the implementation would handle wrongly: it would round an `id`.
 */
export function readMessage (
  message: unknown
): { readonly message: unknown, readonly refused?: undefined } | { readonly refused: string } {
  if (Array.isArray(message)) return { refused: errorText(INVALID_REQUEST, NO_BATCHES) }
  if (!isObject(message)) return { message }
  const { id, params } = message
  // the implementation copies some objects, at 8 microseconds a key
  if (hasManyNames(message)) return { refused: errorText(INVALID_REQUEST, TOO_MANY_NAMES) }
  if (JSON.isRawJSON(id)) {
    const number = toNumber(id.rawJSON)
    if (!Number.isSafeInteger(number)) return { refused: errorText(INVALID_REQUEST, BAD_ID, id) }
    message['id'] = number
  }
  clampNumbers(message)
  if (!isObject(params)) return { message }
  clampNumbers(params)
  clampNumbers(params['_meta'])
  if (isObject(params['arguments'])) params['arguments'] = wrapArguments(params['arguments'])
  return { message }
}

/** The text of a response to an invalid message. `id`: null if the message has none that is certain. */
export function errorText (code: number, message: string, id: RawNumber | null = null): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id })
}

/** Whether a message has many keys, other than in the values of arguments. */
function hasManyNames (message: Readonly<Record<string, unknown>>): boolean {
  if (hasMany(message) || !isObject(message['params']) || hasMany(message['params'])) return isCrowded(message)
  const { params: { arguments: args, ...others }, ...rest } = message as { params: Readonly<Record<string, unknown>> }
  return isCrowded([rest, others]) || (isObject(args) && hasMany(args))
}

const TOO_MANY_NAMES = 'Invalid Request: the message has too many names'
const NO_BATCHES = 'Invalid Request: send one message at a time; batches are not supported'
const BAD_ID = 'Invalid Request: "id" must be a string or a whole number from -(2^53 - 1) to 2^53 - 1'

interface MessageResponse { readonly status: number, readonly type: string | null, readonly text: string }

/** The headers that the protocol reads, without Accept, because clients must accept JSON. */
const NAMES = ['mcp-protocol-version', 'mcp-method', 'mcp-name']
const FIXED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Responds with JSON in all revisions of the protocol, because nothing is sent before a result. */
export function createServeMessage (sdk: Sdk, tools: Tools): (served: {
  /** The parsed message, which is not a list. */
  readonly message: unknown
  readonly headers: IncomingHttpHeaders
  readonly principal: Principal
}) => Promise<MessageResponse> {
  const { createMcpHandler, isLegacyRequest, WebStandardStreamableHTTPServerTransport: Transport } = sdk
  const principals = new WeakMap<Request, Principal>()
  const serverOf = (request: Request) => createToolServer(sdk, tools, () => principals.get(request) as Principal)
  const handler = createMcpHandler(({ requestInfo }) => serverOf(requestInfo as Request), { legacy: 'reject' })

  /** Serves revisions before 2026-07-28. */
  const serveLegacy = async (request: Request, parsedBody: unknown): Promise<Response> => {
    const transport = new Transport({ enableJsonResponse: true })
    const server = serverOf(request)
    await server.connect(transport)
    try {
      return await transport.handleRequest(request, { parsedBody })
    } finally {
      await server.close()
    }
  }

  return async ({ message, headers, principal }) => {
    const sent = NAMES.flatMap((name) => typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [])
    const request = new Request('http://localhost/', {
      method: 'POST',
      headers: { ...FIXED, ...Object.fromEntries(sent) }
    })
    principals.set(request, principal)
    const isLegacy = await isLegacyRequest(request, message).catch(isTooDeep)
    if (isLegacy === undefined) return TOO_DEEP
    const response = await (isLegacy ? serveLegacy(request, message) : handler.fetch(request, { parsedBody: message }))
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }
}

const TOO_DEEP: MessageResponse = {
  status: 400,
  type: 'application/json',
  text: errorText(INVALID_REQUEST, 'Invalid Request: the message is nested too deeply')
}

/** The implementation checks parts of a message by recursion. @throws any other error */
function isTooDeep (error: unknown): undefined {
  if (!(error instanceof RangeError)) throw error
}
