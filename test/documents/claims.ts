/** Which test runs the blocks of a document, or why none can. */

export interface Claim {
  document: string
  /** The first line of the blocks, without the backquotes. */
  kind: string
  /** How many such blocks the document has: a further one needs a test. */
  blocks: number
  /** The test that runs them. */
  test?: string
  /** Why no test runs them. */
  because?: string
}

const PROGRAMS = 'test/documents/programs.test.ts'
const FILES = 'test/documents/files.test.ts'
const REQUESTS = 'test/documents/requests.test.ts'
const CLIENTS = 'test/clients/documents.test.ts'
const README = 'test/readme.test.ts'
const CONTAINER = 'test/build/container.test.ts'
const HOST_GRANTS = 'test/http/host-grants.test.ts'
const PACKAGE = 'test/build/package.test.ts'

/** The test or the reason, and before it how many blocks there are, if there are several. */
type By = string | readonly [blocks: number, by: string]

const documents: Readonly<Record<string, Readonly<Record<string, By>>>> = {
  'CONTRIBUTING.md': { sh: PROGRAMS, 'ts test': 'test/http/select.test.ts' },
  'README.md': { sh: [8, README], json: README, 'sql account': README, js: PROGRAMS, 'ts client': PROGRAMS },
  'docs/client.md': { sh: CLIENTS, ts: [11, CLIENTS] },
  'docs/clients.md': {
    sh: [9, CLIENTS],
    ts: [5, CLIENTS],
    js: CLIENTS,
    python: 'it needs Java for OpenAPI Generator, and Python',
    go: 'it needs Java for OpenAPI Generator, and Go',
    java: 'it needs Java'
  },
  'docs/configuration.md': {
    'json config': 'test/config/documented.test.ts',
    'json secrets': FILES,
    'sql account': FILES,
    sh: PROGRAMS,
    'text errors': PROGRAMS,
    'text account': PROGRAMS,
    'text grants': PROGRAMS
  },
  'docs/deployment.md': {
    'sh setup': CONTAINER,
    'sh first': CONTAINER,
    json: CONTAINER,
    sh: [3, 'they need Docker; test/build/container.test.ts runs the commands of the Dockerfile'],
    'yaml kubernetes': FILES,
    'sh flags': PROGRAMS,
    'sh check': PROGRAMS,
    'sh documents': PROGRAMS
  },
  'docs/errors.md': { 'json request': 'test/errors.test.ts', 'json response': 'test/errors.test.ts' },
  'docs/exports.md': {
    sh: [3, PROGRAMS],
    'python export': PROGRAMS,
    'python pandas': 'it needs pandas',
    'sql duckdb': 'it needs DuckDB'
  },
  'docs/grants.md': { 'json token': FILES },
  'docs/host-grants.md': { 'js users': HOST_GRANTS, 'ts signature': PROGRAMS },
  'docs/imports.md': { sh: PROGRAMS, 'sh command': PROGRAMS, 'python import': PROGRAMS, 'js import': PROGRAMS },
  'docs/internals/testing.md': { sh: [2, PROGRAMS], 'text fuzz': 'it is what a run printed before the bug was fixed' },
  'docs/jwt.md': { 'json jwt': 'test/grants/claims.test.ts' },
  'docs/mcp.md': { 'json mcp': FILES, 'json stdio': FILES, 'json http': FILES, 'json vscode': FILES },
  'docs/monitoring.md': { 'js health': PROGRAMS, 'js metrics': PROGRAMS, 'yaml scrape': FILES, 'yaml alerts': FILES },
  'docs/named-requests.md': {
    'json config': 'test/config/named-requests.test.ts',
    'js page': 'test/config/named-requests.test.ts'
  },
  'docs/openapi.md': { ts: CLIENTS },
  'docs/plugin.md': {
    js: PACKAGE,
    ts: PACKAGE,
    'js jwt': HOST_GRANTS,
    'js session': HOST_GRANTS,
    'js as': PROGRAMS,
    'js stream': PROGRAMS,
    'ts execute': PROGRAMS
  },
  'docs/reading.md': {
    'js readAll': REQUESTS,
    'json aggregates': [2, REQUESTS],
    'sql local days': REQUESTS,
    sh: PROGRAMS
  },
  'docs/requests.md': { sh: [9, README], json: [7, README] },
  'docs/searching.md': { 'json match': REQUESTS, 'json at': REQUESTS, 'json column': REQUESTS, 'json case': REQUESTS },
  'docs/transactions.md': { 'js transaction': PROGRAMS, 'js onWrite': PROGRAMS }
}

export const claims: readonly Claim[] = Object.entries(documents).flatMap(([document, kinds]) =>
  Object.entries(kinds).map(([kind, entry]): Claim => {
    const [blocks, by] = typeof entry === 'string' ? [1, entry] : entry
    return { document, kind, blocks, ...by.startsWith('test/') ? { test: by } : { because: by } }
  }))
