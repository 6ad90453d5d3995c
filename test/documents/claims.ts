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

export const claims: Claim[] = [
  { document: 'README.md', kind: 'sh', blocks: 8, test: 'test/readme.test.ts' },
  { document: 'README.md', kind: 'json', blocks: 1, test: 'test/readme.test.ts' },
  { document: 'docs/requests.md', kind: 'sh', blocks: 9, test: 'test/readme.test.ts' },
  { document: 'docs/requests.md', kind: 'json', blocks: 7, test: 'test/readme.test.ts' },
  { document: 'README.md', kind: 'sql account', blocks: 1, test: 'test/readme.test.ts' },
  { document: 'README.md', kind: 'js', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'README.md', kind: 'ts client', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'CONTRIBUTING.md', kind: 'sh', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/client.md', kind: 'sh', blocks: 1, test: 'test/clients/documents.test.ts' },
  { document: 'docs/client.md', kind: 'ts', blocks: 11, test: 'test/clients/documents.test.ts' },
  { document: 'docs/deployment.md', kind: 'sh setup', blocks: 1, test: 'test/build/container.test.ts' },
  { document: 'docs/deployment.md', kind: 'sh first', blocks: 1, test: 'test/build/container.test.ts' },
  { document: 'docs/deployment.md', kind: 'json', blocks: 1, test: 'test/build/container.test.ts' },
  {
    document: 'docs/deployment.md',
    kind: 'sh',
    blocks: 3,
    because: 'they need Docker; test/build/container.test.ts ' +
    'runs the commands of the Dockerfile'
  },
  { document: 'docs/clients.md', kind: 'sh', blocks: 9, test: 'test/clients/documents.test.ts' },
  { document: 'docs/clients.md', kind: 'ts', blocks: 5, test: 'test/clients/documents.test.ts' },
  { document: 'docs/clients.md', kind: 'js', blocks: 1, test: 'test/clients/documents.test.ts' },
  { document: 'docs/openapi.md', kind: 'ts', blocks: 1, test: 'test/clients/documents.test.ts' },
  {
    document: 'docs/clients.md', kind: 'python', blocks: 1, because: 'it needs Java for OpenAPI Generator, and Python'
  },
  { document: 'docs/clients.md', kind: 'go', blocks: 1, because: 'it needs Java for OpenAPI Generator, and Go' },
  { document: 'docs/clients.md', kind: 'java', blocks: 1, because: 'it needs Java' },
  { document: 'docs/configuration.md', kind: 'json config', blocks: 1, test: 'test/config/documented.test.ts' },
  { document: 'docs/configuration.md', kind: 'json secrets', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/configuration.md', kind: 'sql account', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/configuration.md', kind: 'sh', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/configuration.md', kind: 'text errors', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/configuration.md', kind: 'text account', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/configuration.md', kind: 'text grants', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/errors.md', kind: 'json request', blocks: 1, test: 'test/errors.test.ts' },
  { document: 'docs/errors.md', kind: 'json response', blocks: 1, test: 'test/errors.test.ts' },
  { document: 'CONTRIBUTING.md', kind: 'ts test', blocks: 1, test: 'test/http/select.test.ts' },
  { document: 'docs/imports.md', kind: 'sh', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/imports.md', kind: 'sh command', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/imports.md', kind: 'python import', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/imports.md', kind: 'js import', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/searching.md', kind: 'json match', blocks: 1, test: 'test/documents/requests.test.ts' },
  { document: 'docs/searching.md', kind: 'json at', blocks: 1, test: 'test/documents/requests.test.ts' },
  { document: 'docs/searching.md', kind: 'json column', blocks: 1, test: 'test/documents/requests.test.ts' },
  { document: 'docs/searching.md', kind: 'json case', blocks: 1, test: 'test/documents/requests.test.ts' },
  { document: 'docs/exports.md', kind: 'sh', blocks: 3, test: 'test/documents/programs.test.ts' },
  { document: 'docs/exports.md', kind: 'python export', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/exports.md', kind: 'python pandas', blocks: 1, because: 'it needs pandas' },
  { document: 'docs/exports.md', kind: 'sql duckdb', blocks: 1, because: 'it needs DuckDB' },
  { document: 'docs/grants.md', kind: 'json token', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/jwt.md', kind: 'json jwt', blocks: 1, test: 'test/grants/claims.test.ts' },
  { document: 'docs/host-grants.md', kind: 'js users', blocks: 1, test: 'test/http/host-grants.test.ts' },
  { document: 'docs/host-grants.md', kind: 'ts signature', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/mcp.md', kind: 'json mcp', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/mcp.md', kind: 'json stdio', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/mcp.md', kind: 'json http', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/mcp.md', kind: 'json vscode', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/named-requests.md', kind: 'json config', blocks: 1, test: 'test/config/named-requests.test.ts' },
  { document: 'docs/named-requests.md', kind: 'js page', blocks: 1, test: 'test/config/named-requests.test.ts' },
  { document: 'docs/monitoring.md', kind: 'js health', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/monitoring.md', kind: 'js metrics', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/deployment.md', kind: 'yaml kubernetes', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/monitoring.md', kind: 'yaml scrape', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/monitoring.md', kind: 'yaml alerts', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/deployment.md', kind: 'sh flags', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/plugin.md', kind: 'js', blocks: 1, test: 'test/build/package.test.ts' },
  { document: 'docs/plugin.md', kind: 'ts', blocks: 1, test: 'test/build/package.test.ts' },
  { document: 'docs/plugin.md', kind: 'js jwt', blocks: 1, test: 'test/http/host-grants.test.ts' },
  { document: 'docs/plugin.md', kind: 'js session', blocks: 1, test: 'test/http/host-grants.test.ts' },
  { document: 'docs/plugin.md', kind: 'js as', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/plugin.md', kind: 'js stream', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/plugin.md', kind: 'ts execute', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/reading.md', kind: 'js readAll', blocks: 1, test: 'test/documents/requests.test.ts' },
  { document: 'docs/reading.md', kind: 'json aggregates', blocks: 2, test: 'test/documents/requests.test.ts' },
  { document: 'docs/reading.md', kind: 'sql local days', blocks: 1, test: 'test/documents/requests.test.ts' },
  { document: 'docs/reading.md', kind: 'sh', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/internals/testing.md', kind: 'sh', blocks: 2, test: 'test/documents/programs.test.ts' },
  {
    document: 'docs/internals/testing.md',
    kind: 'text fuzz',
    blocks: 1,
    because: 'it is what a run printed before ' +
    'the bug was fixed'
  },
  { document: 'docs/deployment.md', kind: 'sh check', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/deployment.md', kind: 'sh documents', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/transactions.md', kind: 'js transaction', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/transactions.md', kind: 'js onWrite', blocks: 1, test: 'test/documents/programs.test.ts' }
]
