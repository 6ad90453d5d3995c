/** `GET {prefix}/docs`: a page to look at the documents and to try requests. All of it comes from here, and none of it needs a token. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createTag, isNotModified } from '../src/openapi/document-text.ts'
import { CSS, HTML } from './docs-page/html.ts'

/** Scripts and styles of our own only, requests to this host only, and in no frame of another page. */
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

/** Its plugin is not used: it would serve a document to whoever asks. What it ships of Swagger UI is. */
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
  // in a scope of their own: no other answer needs these headers
  await app.register(async (pages) => {
    await pages.register(helmet, {
      contentSecurityPolicy: { useDefaults: false, directives: POLICY },
      xFrameOptions: { action: 'deny' },
      strictTransportSecurity: false // is for who has the name of the host to decide
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
