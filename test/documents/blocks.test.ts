/** Every block of code in the documents is run by a test, or the reason is here why none can; what the documents name is there. */
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { codeBlocks, DOCUMENTS, readDocument, ROOT } from '../support/markdown.ts'

interface Claim {
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

const REQUESTS = /^(sql|json (grant|request \S+ \d+|operations \d+|answer))$/

const claims: Claim[] = [
  { document: 'README.md', kind: 'sh', blocks: 15, test: 'test/readme.test.ts' },
  { document: 'README.md', kind: 'json', blocks: 7, test: 'test/readme.test.ts' },
  { document: 'README.md', kind: 'sql account', blocks: 1, test: 'test/readme.test.ts' },
  { document: 'README.md', kind: 'js', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'README.md', kind: 'ts client', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'CONTRIBUTING.md', kind: 'sh', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/client.md', kind: 'sh', blocks: 1, test: 'test/clients/documents.test.ts' },
  { document: 'docs/client.md', kind: 'ts', blocks: 10, test: 'test/clients/documents.test.ts' },
  { document: 'docs/container.md', kind: 'sh setup', blocks: 1, test: 'test/build/container.test.ts' },
  { document: 'docs/container.md', kind: 'sh first', blocks: 1, test: 'test/build/container.test.ts' },
  { document: 'docs/container.md', kind: 'json', blocks: 1, test: 'test/build/container.test.ts' },
  { document: 'docs/container.md', kind: 'sh', blocks: 3, because: 'they need Docker; test/build/container.test.ts runs the commands of the Dockerfile' },
  { document: 'docs/clients.md', kind: 'sh', blocks: 4, test: 'test/clients/documents.test.ts' },
  { document: 'docs/clients-typescript.md', kind: 'sh', blocks: 5, test: 'test/clients/documents.test.ts' },
  { document: 'docs/clients-typescript.md', kind: 'ts', blocks: 5, test: 'test/clients/documents.test.ts' },
  { document: 'docs/clients-typescript.md', kind: 'js', blocks: 1, test: 'test/clients/documents.test.ts' },
  { document: 'docs/openapi.md', kind: 'ts', blocks: 1, test: 'test/clients/documents.test.ts' },
  { document: 'docs/clients.md', kind: 'python', blocks: 1, because: 'it needs Java for OpenAPI Generator, and Python' },
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
  { document: 'docs/errors.md', kind: 'json answer', blocks: 1, test: 'test/errors.test.ts' },
  { document: 'CONTRIBUTING.md', kind: 'ts test', blocks: 1, test: 'test/http/select.test.ts' },
  { document: 'docs/imports.md', kind: 'sh', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/imports.md', kind: 'sh command', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/imports.md', kind: 'python import', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/imports.md', kind: 'js import', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/searching.md', kind: 'json match', blocks: 1, test: 'test/http/match.test.ts' },
  { document: 'docs/searching.md', kind: 'json at', blocks: 1, test: 'test/http/json-paths.test.ts' },
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
  { document: 'docs/operations.md', kind: 'js health', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/operations.md', kind: 'js metrics', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/operations.md', kind: 'yaml kubernetes', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/operations.md', kind: 'yaml scrape', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/operations.md', kind: 'yaml alerts', blocks: 1, test: 'test/documents/files.test.ts' },
  { document: 'docs/operations.md', kind: 'sh', blocks: 1, test: 'test/documents/programs.test.ts' },
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
  { document: 'docs/testing.md', kind: 'sh', blocks: 2, test: 'test/documents/programs.test.ts' },
  { document: 'docs/testing.md', kind: 'text fuzz', blocks: 1, because: 'it is what a run printed before the bug was fixed' },
  { document: 'docs/upgrading.md', kind: 'sh check', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/upgrading.md', kind: 'sh documents', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/transactions.md', kind: 'js transaction', blocks: 1, test: 'test/documents/programs.test.ts' },
  { document: 'docs/transactions.md', kind: 'js onWrite', blocks: 1, test: 'test/documents/programs.test.ts' }
]

for (const document of DOCUMENTS) {
  t.test(`every block of ${document} is run by a test`, async (t) => {
    const kinds = codeBlocks(readDocument(document)).map(({ kind }) => kind).filter((kind) => document === 'docs/errors.md' || !REQUESTS.test(kind))
    const found = Object.entries(Object.groupBy(kinds, (kind) => kind)).map(([kind, same = []]) => ({ kind, blocks: same.length }))
    const claimed = claims.filter((claim) => claim.document === document).map(({ kind, blocks }) => ({ kind, blocks }))
    const inOrder = (one: { kind: string }, other: { kind: string }): number => one.kind < other.kind ? -1 : 1
    t.same(found.toSorted(inOrder), claimed.toSorted(inOrder), 'add a test that runs the block, and say here which one')
  })
}

t.test('each test that is named reads the document and the kind of block', async (t) => {
  for (const { document, kind, blocks, test, because } of claims) {
    t.ok(blocks > 0 && (test === undefined) !== (because === undefined), `${document} ${kind}: a test or a reason`)
    if (test === undefined) continue
    const path = join(ROOT, test)
    const source = existsSync(path) ? readDocument(test) : ''
    t.ok(source.includes(document), `${test} reads ${document}`)
    t.match(source, new RegExp(`'${kind.split(' ').at(-1)}'|'${kind}'|kind of \\[[^\\]]*'${kind}'`), `${test} looks for ${kind} in ${document}`)
  }
})

t.test('every fence of code is closed and found', async (t) => {
  for (const document of DOCUMENTS) {
    const fences = readDocument(document).match(/^ *```/gm) ?? []
    t.equal(fences.length, 2 * codeBlocks(readDocument(document)).length, document)
  }
})

// files, headings and scripts

const documents = [...DOCUMENTS, 'CHANGELOG.md']
const { scripts } = JSON.parse(readDocument('package.json'))

interface Link { path: string, anchor: string | undefined }

/** Files of the project that a document links to, from the root of the project, with the heading in them. */
function linksOf (document: string): Link[] {
  return Array.from(readDocument(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g), ([, target = '', anchor]) =>
    ({ path: target === '' ? document : normalize(join(dirname(document), target)), anchor }))
}

/** The anchors of the headings of a document, as GitHub makes them. */
function anchorsOf (document: string): Set<string> {
  const headings = Array.from(readDocument(document).replaceAll(/^ *```[^]*?^ *```/gm, '').matchAll(/^#+ (.*)$/gm), ([, text = '']) => text)
  return new Set(headings.map((text) => text.toLowerCase().replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')))
}

for (const document of documents) {
  t.test(`every file and script in ${document} exists`, async (t) => {
    const links = linksOf(document)
    t.same(links.filter(({ path }) => !existsSync(join(ROOT, path))), [])
    t.same(links.filter(({ path, anchor }) => anchor !== undefined && path.endsWith('.md') && !anchorsOf(path).has(anchor)), [], 'with every heading')
    const paths = Array.from(readDocument(document).matchAll(/`((?:src|test|plugins|schemas|docs|\.ci)\/[^`\s]*)`/g), ([, path = '']) => path)
    t.same(paths.filter((path) => !existsSync(join(ROOT, path))), [])
    const named = Array.from(readDocument(document).matchAll(/npm (?:run (?:-s )?([\w:-]+)|(start|test)\b)/g), ([, run, script = '']) => run ?? script)
    t.same(named.filter((script) => !Object.hasOwn(scripts, script)), [])
  })
}
