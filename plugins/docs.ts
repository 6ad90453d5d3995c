/** The OpenAPI documents, each with an entity tag, and the page that is built on them. */
import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { getDatabase, getGrant } from '../src/access/authorize.ts'
import type { Grant } from '../src/access/grant.ts'
import { createTag, isNotModified, varyBy } from '../src/http/query-method.ts'
import type { NamedRequests } from '../src/named/call.ts'
import { REQUESTS_PATH } from '../src/named/definition.ts'
import { createDocuments, type DocumentsOptions } from '../src/openapi/documents.ts'
import type { DocumentText } from '../src/openapi/database-document.ts'
import { EVERYTHING } from '../src/openapi/visible.ts'

// Loads the program and the style of the page, whose sources are in `page/`.

interface Bundle { readonly script: Uint8Array, readonly style: Uint8Array }

/** Whether this is the package, which contains the bundle; the repository has only the sources. */
const IS_BUILT = !import.meta.url.endsWith('.ts')

/**
 * Returns a function that returns the bundle. In the package the bundle is read at once, so that a missing file stops
 * the start. In the repository, esbuild, which the package does not have, creates it on the first request.
 */
async function loadBundle (): Promise<() => Promise<Bundle>> {
  if (!IS_BUILT) return bundleOnce
  const read = async (name: string): Promise<Uint8Array> => await readFile(new URL(`../page/${name}`, import.meta.url))
  const [script, style] = await Promise.all([read('main.js'), read('main.css')])
  return async () => ({ script, style })
}

let made: Promise<Bundle> | undefined

async function bundleOnce (): Promise<Bundle> {
  // not a literal, because the compiler would include build/ in the package
  const { bundlePage } = (await import(new URL('../build/bundle-page.ts', import.meta.url).href)) as {
    bundlePage: () => Promise<Bundle>
  }
  return await (made ??= bundlePage())
}

/**
 * The static page. It contains nothing about any database. Paths are relative to `{prefix}/docs`. If the documents are
 * public, the page opens them without a token.
 */
const createHtml = (isPublic: boolean): string => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Row Query</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="docs/page.css">
</head>
<body data-documents="${isPublic ? 'public' : 'private'}">
  <noscript>This page needs JavaScript.</noscript>
  <script src="docs/page.js" type="module"></script>
</body>
</html>
`

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

/**
 * `GET {prefix}/docs`: a page that shows and changes rows. Its files need no token, and load nothing of others.
 * `isPublic`: whether the documents need no token.
 */
export const docsPage = fp(async function docsPage (app: FastifyInstance, { isPublic }: { isPublic: boolean }) {
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
    await pages.register(import('@fastify/helmet'), {
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
    const etag = createTag(content)
    reply.header('etag', etag)
    return isNotModified(etag, request.headers['if-none-match'])
      ? reply.code(NOT_MODIFIED).send()
      : reply.type(type).send(content)
  })
}

/**
 * `GET {prefix}/openapi.json` and `GET {prefix}/{database}/openapi.json`. `isPublic`: whether they need no token and
 * show everything. Otherwise they show what the token may do.
 */
export const openapi = fp(
  async function openapi (
    app: FastifyInstance,
    { described, isPublic, named }: {
      described: DocumentsOptions
      isPublic: boolean
      named: NamedRequests | undefined
    }
  ): Promise<void> {
    const { databases } = described
    const documents = createDocuments(described)
    const grantOf = (request: FastifyRequest): Grant => (isPublic ? EVERYTHING : getGrant(request))
    const options = { schema: { hide: true }, config: { rowQueryPublic: isPublic } }

    const send = (document: DocumentText, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
      varyBy(reply, 'Authorization')
      reply
        .header('etag', document.etag)
        .header('cache-control', isPublic ? 'no-cache' : 'private, no-cache')
      if (isNotModified(document.etag, request.headers['if-none-match'])) return reply.code(NOT_MODIFIED).send()
      return reply.type('application/json; charset=utf-8').send(document.bytes)
    }

    app.get('/openapi.json', options, async (request, reply) =>
      send(await documents.ofInterface(grantOf(request)), request, reply)
    )

    if (named !== undefined) {
      app.get(`/${REQUESTS_PATH}/openapi.json`, options, async (request, reply) =>
        send(await documents.ofNamed(named, grantOf(request)), request, reply)
      )
    }

    app.get<{ Params: { database: string } }>('/:database/openapi.json', options, async (request, reply) => {
      const database = getDatabase(databases, grantOf(request), request.params.database)
      return send(await documents.ofDatabase(database, grantOf(request)), request, reply)
    })
  },
  { name: 'row-query-openapi' }
)
