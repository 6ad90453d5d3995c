/** `GET {prefix}/docs`: a page that shows and changes rows. Its files need no token and load nothing from other hosts. */
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createTag, isNotModified } from '../src/openapi/document-text.ts'
import { loadBundle } from './docs-page/bundle.ts'
import { createHtml } from './docs-page/html.ts'

/** Allows only scripts, styles and requests of this host, and no framing. */
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

interface PageFile { readonly type: string, readonly load: () => Promise<Uint8Array> }

export interface DocsPageOptions {
  /** Whether the documents need no token. */
  readonly isPublic: boolean
}

export default fp(async function docsPage (app: FastifyInstance, { isPublic }: DocsPageOptions) {
  const html = Buffer.from(createHtml(isPublic))
  const bundle = await loadBundle()
  const files: ReadonlyArray<readonly [path: string, file: PageFile]> = [
    ['', { type: 'text/html; charset=utf-8', load: async () => html }],
    ['/page.css', { type: 'text/css; charset=utf-8', load: async () => (await bundle()).style }],
    ['/page.js', { type: 'text/javascript; charset=utf-8', load: async () => (await bundle()).script }]
  ]
  // a separate scope limits the headers to the files of the page
  await app.register(async (pages) => {
    pages.addHook('onRoute', (route) => { route.config = { ...route.config, rowQueryPublic: true } })
    pages.addHook('onSend', async (_request, reply) => { reply.header('cache-control', 'no-cache') })
    await pages.register(helmet, {
      contentSecurityPolicy: { useDefaults: false, directives: POLICY },
      xFrameOptions: { action: 'deny' },
      strictTransportSecurity: false // the operator of the host name decides this
    })
    for (const [path, file] of files) addFile(pages, path, file)
  })
}, { name: 'row-query-docs-page' })

function addFile (pages: FastifyInstance, path: string, { type, load }: PageFile): void {
  pages.get(`/docs${path}`, { schema: { hide: true } }, async (request, reply) => {
    const content = await load()
    const etag = createTag([content])
    reply.header('etag', etag)
    return isNotModified(etag, request.headers['if-none-match']) ? reply.code(NOT_MODIFIED).send() : reply.type(type).send(content)
  })
}
