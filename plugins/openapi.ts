/**
 * `GET {prefix}/openapi.json` and `GET {prefix}/{database}/openapi.json`: the OpenAPI documents, each with an entity
 * tag.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { databaseNotFound } from '../src/errors.ts'
import { getGrant } from '../src/access/authorize.ts'
import { seesDatabase, type Grant } from '../src/access/grant.ts'
import { isNotModified } from '../src/http/entity-tag.ts'
import type { DocumentText } from '../src/openapi/names.ts'
import { createDocuments, type DocumentsOptions } from '../src/openapi/documents.ts'
import { EVERYTHING } from '../src/openapi/visible.ts'

const NOT_MODIFIED = 304

export interface OpenapiOptions {
  readonly described: DocumentsOptions
  /** Whether the documents need no token and show everything. Otherwise they show what the token may do. */
  readonly isPublic: boolean
}

export default fp(
  async function openapi (app: FastifyInstance, { described, isPublic }: OpenapiOptions): Promise<void> {
    const { databases } = described
    const documents = createDocuments(described)
    const grantOf = (request: FastifyRequest): Grant => (isPublic ? EVERYTHING : getGrant(request))
    const options = { schema: { hide: true }, config: { rowQueryPublic: isPublic } }

    const send = (document: DocumentText, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
      reply
        .header('etag', document.etag)
        .header('vary', 'authorization')
        .header('cache-control', isPublic ? 'no-cache' : 'private, no-cache')
      if (isNotModified(document.etag, request.headers['if-none-match'])) return reply.code(NOT_MODIFIED).send()
      return reply.type('application/json; charset=utf-8').send(document.bytes)
    }

    app.get('/openapi.json', options, async (request, reply) =>
      send(await documents.ofInterface(grantOf(request)), request, reply)
    )

    app.get<{ Params: { database: string } }>('/:database/openapi.json', options, async (request, reply) => {
      const { database: name } = request.params
      const database = databases.get(name)
      // a database without permissions appears not to exist, as on the path of a table
      if (database === undefined || !seesDatabase(grantOf(request), name)) throw databaseNotFound(name)
      return send(await documents.ofDatabase(database, grantOf(request)), request, reply)
    })
  },
  { name: 'row-query-openapi' }
)
