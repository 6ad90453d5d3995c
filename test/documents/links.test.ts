/** What the documents name is there, and what is there is named. */
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { DOCUMENTS, readDocument, ROOT } from '../support/markdown.ts'

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
