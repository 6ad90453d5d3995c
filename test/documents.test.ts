/** What the documents name is there, and what is there is named. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { readDocument, ROOT } from './support/markdown.ts'

const documents = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'plugins/README.md', 'examples/README.md', ...filesIn('docs').filter((path) => path.endsWith('.md'))]
const { scripts } = JSON.parse(readDocument('package.json'))

function filesIn (folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
}

/** Files that a document links to, from the root of the project. */
function linksOf (document: string): string[] {
  const targets = Array.from(readDocument(document).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g), ([, target = '']) => target)
  return targets.map((target) => normalize(join(dirname(document), target)))
}

for (const document of documents) {
  t.test(`every file and script in ${document} exists`, async (t) => {
    t.same(linksOf(document).filter((path) => !existsSync(join(ROOT, path))), [])
    const paths = Array.from(readDocument(document).matchAll(/`((?:src|test|plugins|schemas|docs|\.ci)\/[^`\s]*)`/g), ([, path = '']) => path)
    t.same(paths.filter((path) => !existsSync(join(ROOT, path))), [])
    const named = Array.from(readDocument(document).matchAll(/npm (?:run (?:-s )?([\w:-]+)|(start|test)\b)/g), ([, run, script = '']) => run ?? script)
    t.same(named.filter((script) => !Object.hasOwn(scripts, script)), [])
  })
}
