/** Serves one message of the Streamable HTTP transport, without sessions. */
import type { IncomingHttpHeaders } from 'node:http'
import { errorText, INVALID_REQUEST } from './message.ts'
import { createToolServer, type Sdk } from './sdk.ts'
import type { Caller } from './tool.ts'
import type { Tools } from './tools.ts'

export interface ServedMessage {
  /** The parsed message, which is not a list. */
  readonly message: unknown
  readonly headers: IncomingHttpHeaders
  readonly caller: Caller
}

export interface MessageAnswer { readonly status: number, readonly type: string | null, readonly text: string }

export type ServeMessage = (served: ServedMessage) => Promise<MessageAnswer>

/** The headers that the protocol reads, without Accept, because clients must accept JSON. */
const NAMES = ['mcp-protocol-version', 'mcp-method', 'mcp-name']
const FIXED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Answers with JSON in all revisions of the protocol, because nothing is sent before a result. */
export function createServeMessage (sdk: Sdk, tools: Tools): ServeMessage {
  const { createMcpHandler, isLegacyRequest, WebStandardStreamableHTTPServerTransport: Transport } = sdk
  const callers = new WeakMap<Request, Caller>()
  const serverOf = (request: Request) => createToolServer(sdk, tools, () => callers.get(request) as Caller)
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

  return async ({ message, headers, caller }) => {
    const given = NAMES.flatMap((name) => typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [])
    const request = new Request('http://localhost/', { method: 'POST', headers: { ...FIXED, ...Object.fromEntries(given) } })
    callers.set(request, caller)
    const isLegacy = await isLegacyRequest(request, message).catch(isTooDeep)
    if (isLegacy === undefined) return TOO_DEEP
    const response = await (isLegacy ? serveLegacy(request, message) : handler.fetch(request, { parsedBody: message }))
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }
}

const TOO_DEEP: MessageAnswer = { status: 400, type: 'application/json', text: errorText(INVALID_REQUEST, 'Invalid Request: the message is nested too deeply') }

/** The implementation checks parts of a message by recursion. @throws any other error */
function isTooDeep (error: unknown): undefined {
  if (!(error instanceof RangeError)) throw error
}
