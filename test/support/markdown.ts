/** Reads the project's documents, to hold them to what they describe. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface CodeBlock {
  /** What stands behind the fence: `sh`, `json config`. */
  readonly kind: string
  readonly text: string
}

export function readDocument (path: string): string {
  return readFileSync(ROOT + path, 'utf8')
}

/** The fenced blocks of a document, those in lists too. */
export function codeBlocks (document: string): CodeBlock[] {
  return Array.from(document.matchAll(/^( *)```([^\n]*)\n([^]*?)^\1```$/gm), ([, , kind = '', text = '']) => ({ kind, text }))
}

/** Cells of the rows of every table with these headings. */
export function tableRows (document: string, ...headings: string[]): string[][] {
  const cells = (line: string) => line.slice(1, -1).split('|').map((cell) => cell.trim())
  return document.split('\n\n').flatMap((part) => {
    const [head = '', , ...rows] = part.trim().split('\n')
    return head.startsWith('|') && cells(head).join() === headings.join() ? rows.map(cells) : []
  })
}
