/** Reads the project's documents, to test their contents. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The documents for users and contributors, from the root of the project. */
export const DOCUMENTS = [
  'README.md', 'CONTRIBUTING.md', 'examples/README.md', 'plugins/README.md', 'src/README.md', 'bench/README.md',
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md')).sort()
    .map((name) => `docs/${name}`)
]

export interface CodeBlock {
  /** The info string: `sh`, `json config`. */
  readonly kind: string
  readonly text: string
}

export function readDocument (path: string): string {
  return readFileSync(ROOT + path, 'utf8')
}

/** Returns the fenced code blocks of a document, including those in lists, without their indentation. */
export function codeBlocks (document: string): CodeBlock[] {
  return Array.from(document.matchAll(/^( *)```([^\n]*)\n([^]*?)^\1```$/gm), (
    [, indentation = '', kind = '', text = '']
  ) => ({ kind, text: text.replaceAll(new RegExp(`^${indentation}`, 'gm'), '') }))
}

/** The text of the only block of a kind in a document. @throws if it has none or several */
export function blockOf (document: string, kind: string): string {
  const [block, ...others] = codeBlocks(readDocument(document)).filter((each) => each.kind === kind)
  if (block === undefined || others.length > 0) throw new Error(`${document} has not one block ${kind}`)
  return block.text
}

/** Returns the cells of the rows of all tables with these headings. */
export function tableRows (document: string, ...headings: string[]): string[][] {
  const cells = (line: string) => line.slice(1, -1).split('|').map((cell) => cell.trim())
  return document.split('\n\n').flatMap((part) => {
    const [head = '', , ...rows] = part.trim().split('\n')
    return head.startsWith('|') && cells(head).join() === headings.join() ? rows.map(cells) : []
  })
}
