/** `GET {prefix}/docs`: a page that shows the OpenAPI documents and sends requests. Its files need no token and load nothing from other hosts. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createTag, isNotModified } from '../src/openapi/document-text.ts'
import { CSS, HTML } from './docs-page/html.ts'

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

const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'
const NOT_MODIFIED = 304

/** Only the files of Swagger UI are used. The plugin of the package would serve a document without a token. */
const require = createRequire(import.meta.url)
const swaggerUi = (name: string): Promise<Buffer> => readFile(require.resolve(`@fastify/swagger-ui/static/${name}`))

type PageFile = readonly [path: string, type: string, content: Buffer]

export default fp(async function docsPage (app: FastifyInstance) {
  const files: readonly PageFile[] = [
    ['', 'text/html; charset=utf-8', Buffer.from(HTML)],
    ['/page.css', STYLE, Buffer.from(CSS)],
    ['/page.js', SCRIPT, await readFile(new URL('docs-page/page.js', import.meta.url))],
    ['/swagger-ui.css', STYLE, await swaggerUi('swagger-ui.css')],
    ['/swagger-ui-bundle.js', SCRIPT, await swaggerUi('swagger-ui-bundle.js')]
  ]
  // A scope of its own limits the headers to the files of the page.
  await app.register(async (pages) => {
    await pages.register(helmet, {
      contentSecurityPolicy: { useDefaults: false, directives: POLICY },
      xFrameOptions: { action: 'deny' },
      strictTransportSecurity: false // the operator of the host name decides this
    })
    for (const file of files) addFile(pages, file)
  })
}, { name: 'row-query-docs-page' })

function addFile (pages: FastifyInstance, [path, type, content]: PageFile): void {
  const etag = createTag([content])
  pages.get(`/docs${path}`, { schema: { hide: true }, config: { rowQueryPublic: true } }, async (request, reply) => {
    reply.headers({ etag, 'cache-control': 'no-cache' })
    return isNotModified(etag, request.headers['if-none-match']) ? reply.code(NOT_MODIFIED).send() : reply.type(type).send(content)
  })
}
