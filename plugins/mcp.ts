/** `POST {prefix}/mcp`: the tools for language models, by the Model Context Protocol. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { getGrant } from '../src/access/authorize.ts'
import { HttpClient } from '../src/http/client-connections.ts'
import { MCP_PATH, type McpSettings } from '../src/config/settings.ts'
import { invalidJson, methodNotAllowed, originNotAllowed } from '../src/errors.ts'
import type { InProcess } from '../src/in-process/calls.ts'
import { errorText, PARSE_ERROR, readMessage, createServeMessage } from '../src/mcp/message.ts'
import type { NamedRequests } from '../src/named/call.ts'
import { loadSdk, createTools } from '../src/mcp/tools.ts'
import { sendError, toRefusal } from './errors.ts'
import { shownId } from './response-headers.ts'
import type {} from './auth.ts' // declares the URL of the metadata
import type {} from './telemetry.ts' // declares request.rowQueryRecord

const JSON_TYPE = 'application/json; charset=utf-8'
const INVALID_JSON = invalidJson('').code

export default fp(
  async function mcp (app: FastifyInstance, { databases, limits, named, settings, issuers, origins }: InProcess & {
    readonly named: NamedRequests | undefined
    readonly settings: McpSettings
    /** The issuers of accepted JWTs. */
    readonly issuers: readonly string[]
    /** The origins of pages that CORS allows. */
    readonly origins: readonly string[]
  }) {
    const url = `/${MCP_PATH}`
    const serve = createServeMessage(
      await loadSdk(() => import('@modelcontextprotocol/server')),
      createTools({ databases, limits, named, ...settings })
    )
    const rowQueryResourceMetadata =
      settings.url === undefined || issuers.length === 0
        ? undefined
        : addResourceMetadata(app, { resource: settings.url, path: url, issuers })
    const config = { ...(rowQueryResourceMetadata !== undefined && { rowQueryResourceMetadata }) }

    const checkOrigin = async ({ headers: { origin }, host }: FastifyRequest): Promise<void> => {
      if (origin !== undefined && !origins.includes('*') && !origins.includes(origin) && !isOwn(origin, host)) {
        throw originNotAllowed(origin)
      }
    }

    app.post(
      url,
      { schema: { hide: true }, config, onRequest: checkOrigin, errorHandler: sendParseError },
      async (request, reply) => {
        const read = readMessage(request.body)
        if (read.refused !== undefined) return await reply.code(400).type(JSON_TYPE).send(read.refused)
        const grant = getGrant(request)
        const principal = {
          grant: () => grant,
          client: new HttpClient(reply.raw, grant),
          consistency: request.headers['row-query-consistency'],
          record: request.rowQueryRecord,
          requestId: shownId(request),
          log: request.log
        }
        const { status, type, text } = await serve({ ...read, headers: request.headers, principal })
        reply.code(status)
        if (type !== null) reply.type(type === 'application/json' ? JSON_TYPE : type)
        return await reply.send(text)
      }
    )

    const refuseMethod = async ({ method }: FastifyRequest, reply: FastifyReply): Promise<never> => {
      reply.header('allow', 'POST')
      throw methodNotAllowed(method, 'POST')
    }
    app.route({
      method: app.supportedMethods.filter((method) => method !== 'POST'),
      url,
      schema: { hide: true },
      config,
      onRequest: refuseMethod,
      handler: refuseMethod
    })
  },
  { name: 'row-query-mcp' }
)

/**
 * Whether the page is of the host to which the request was sent. The scheme of the request is unknown behind a proxy
 * that ends TLS.
 */
function isOwn (origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host: given } = new URL(origin)
  const ownUrl = `${protocol}//${host}`
  return given !== '' && URL.canParse(ownUrl) && new URL(ownUrl).host === given
}

/** Answers a body that is not JSON as JSON-RPC requires. Earlier errors have the responses of other requests. */
function sendParseError (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toRefusal(error)
  if (refusal.code !== INVALID_JSON) return sendError(error, request, reply)
  if (request.rowQueryRecord != null) request.rowQueryRecord.refusal = refusal
  return reply.code(refusal.statusCode).type(JSON_TYPE).send(errorText(PARSE_ERROR, `Parse error: ${refusal.message}`))
}

/** Serves the metadata, outside of the prefix and without a token. Returns its URL. */
function addResourceMetadata (app: FastifyInstance, { resource, path, issuers }: {
  /** The URL of the resource, as clients use it. */
  readonly resource: string
  /** The path of the resource after the prefix. */
  readonly path: string
  readonly issuers: readonly string[]
}): string {
  const url = `/.well-known/oauth-protected-resource${app.prefix}${path}`
  const text = JSON.stringify({
    resource,
    authorization_servers: [...new Set(issuers)],
    bearer_methods_supported: ['header']
  })
  outermost(app).get(
    url,
    { schema: { hide: true }, config: { rowQueryPublic: true } },
    async (_request, reply) =>
      // clients in browsers read it before they have a token
      await reply
        .type('application/json; charset=utf-8')
        .header('access-control-allow-origin', '*')
        .header('x-content-type-options', 'nosniff')
        .send(text)
  )
  return new URL(url, resource).href
}

/** The instance without a prefix that contains this one. */
function outermost (app: FastifyInstance): FastifyInstance {
  let outer = app
  while (outer.prefix !== '') outer = Object.getPrototypeOf(outer)
  return outer
}
