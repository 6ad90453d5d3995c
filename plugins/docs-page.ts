/** `GET {prefix}/docs`: a page that shows the OpenAPI documents and sends requests. Its files need no token and load nothing from other hosts. */
import { readFile } from 'node:fs/promises'
import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createTag, isNotModified } from '../src/openapi/document-text.ts'
import { CSS } from './docs-page/css.ts'
import { createHtml } from './docs-page/html.ts'

/** Allows scripts, styles and requests of this host only, and no framing. */
const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"]
}

const NOT_MODIFIED = 304

const SCRIPTS = ['page.js', 'columns.js', 'reference.js', 'schemas.js']

type PageFile = readonly [path: string, type: string, content: Buffer]

export interface DocsPageOptions {
  /** Whether the documents need no token. */
  readonly isPublic: boolean
}

export default fp(async function docsPage (app: FastifyInstance, { isPublic }: DocsPageOptions) {
  const scripts = SCRIPTS.map(async (name): Promise<PageFile> => [`/${name}`, 'text/javascript; charset=utf-8', await readFile(new URL(`docs-page/${name}`, import.meta.url))])
  const files: readonly PageFile[] = [
    ['', 'text/html; charset=utf-8', Buffer.from(createHtml(isPublic))],
    ['/page.css', 'text/css; charset=utf-8', Buffer.from(CSS)],
    ...await Promise.all(scripts)
  ]
  // A scope of its own limits the headers to the files of the page.
  await app.register(async (pages) => {
    pages.addHook('onRoute', (route) => { route.config = { ...route.config, rowQueryPublic: true } })
    pages.addHook('onSend', async (_request, reply) => { reply.header('cache-control', 'no-cache') })
    await pages.register(helmet, {
      contentSecurityPolicy: { useDefaults: false, directives: POLICY },
      xFrameOptions: { action: 'deny' },
      strictTransportSecurity: false // the operator of the host name decides this
    })
    for (const file of files) addFile(pages, file)
    await pages.register(swagger) // required by the next plugin
    // Only the files in /docs/swagger-ui/static are served: the plugin's own page and document would need no token.
    await pages.register(swaggerUi, { routePrefix: '/docs/swagger-ui', uiHooks: { onRequest: async (_request, reply) => reply.callNotFound() } })
  })
}, { name: 'row-query-docs-page' })

function addFile (pages: FastifyInstance, [path, type, content]: PageFile): void {
  const etag = createTag([content])
  pages.get(`/docs${path}`, { schema: { hide: true } }, async (request, reply) => {
    reply.header('etag', etag)
    return isNotModified(etag, request.headers['if-none-match']) ? reply.code(NOT_MODIFIED).send() : reply.type(type).send(content)
  })
}
