/** The part of a document that a run writes: what stands between `<!-- benchmark -->` and `<!-- /benchmark -->`. */
import { readFileSync, writeFileSync } from 'node:fs'

const BEGIN = '<!-- benchmark -->'
const END = '<!-- /benchmark -->'

/** The document with another text between its marks. @throws where it has none */
export function replaceSection (document: string, section: string): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`there is no ${BEGIN} … ${END}`)
  return `${document.slice(0, begin + BEGIN.length)}\n\n${section.trim()}\n\n${document.slice(end)}`
}

export function writeSection (file: URL, section: string): void {
  writeFileSync(file, replaceSection(readFileSync(file, 'utf8'), section))
}
