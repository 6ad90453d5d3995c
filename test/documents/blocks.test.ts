/**
 * Every block of code in the documents is run by a test, or the reason is here why none can; what the documents name is
 * there.
 */
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { codeBlocks, DOCUMENTS, readDocument, ROOT } from '../support/markdown.ts'
import { claims } from './claims.ts'

const REQUESTS = /^(sql|json (grant|request \S+ \d+|operations \d+|response))$/

for (const document of DOCUMENTS) {
  t.test(`every block of ${document} is run by a test`, async (t) => {
    const kinds = codeBlocks(readDocument(document)).map(({ kind }) => kind).filter(
      (kind) => document === 'docs/errors.md' || !REQUESTS.test(kind)
    )
    const found = Object.entries(Object.groupBy(kinds, (kind) => kind)).map(
      ([kind, same = []]) => ({ kind, blocks: same.length })
    )
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
    t.match(
      source, new RegExp(`'${kind.split(' ').at(-1)}'|'${kind}'|kind of \\[[^\\]]*'${kind}'`),
      `${test} looks for ${kind} in ${document}`
    )
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
  return Array.from(readDocument(document)
    .matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g), ([, target = '', anchor]) =>
    ({ path: target === '' ? document : normalize(join(dirname(document), target)), anchor }))
}

/** The anchors of the headings of a document, as GitHub makes them. */
function anchorsOf (document: string): Set<string> {
  const headings = Array.from(
    readDocument(document).replaceAll(/^ *```[^]*?^ *```/gm, '').matchAll(/^#+ (.*)$/gm), ([, text = '']) => text
  )
  return new Set(headings.map((text) => text.toLowerCase().replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')))
}

for (const document of documents) {
  t.test(`every file and script in ${document} exists`, async (t) => {
    const links = linksOf(document)
    t.same(links.filter(({ path }) => !existsSync(join(ROOT, path))), [])
    t.same(links.filter(({ path, anchor }) => anchor !== undefined && path.endsWith('.md') &&
      !anchorsOf(path).has(anchor)), [], 'with every heading')
    const paths = Array.from(
      readDocument(document).matchAll(/`((?:src|test|plugins|schemas|docs|\.ci)\/[^`\s]*)`/g), ([, path = '']) => path
    )
    t.same(paths.filter((path) => !existsSync(join(ROOT, path))), [])
    const named = Array.from(
      readDocument(document).matchAll(/npm (?:run (?:-s )?([\w:-]+)|(start|test)\b)/g),
      ([, run, script = '']) => run ?? script
    )
    t.same(named.filter((script) => !Object.hasOwn(scripts, script)), [])
  })
}
