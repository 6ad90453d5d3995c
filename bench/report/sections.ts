/** Replaces the part of a document between `<!-- benchmark -->` and `<!-- /benchmark -->`. */
import { readFileSync, writeFileSync } from 'node:fs'

const BEGIN = '<!-- benchmark -->'
const END = '<!-- /benchmark -->'

/** Returns the document with another text between the marks. @throws if it has no marks */
export function replaceSection (document: string, section: string): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`there is no ${BEGIN} … ${END}`)
  return `${document.slice(0, begin + BEGIN.length)}\n\n${section.trim()}\n\n${document.slice(end)}`
}

export function writeSection (file: URL, section: string): void {
  writeFileSync(file, replaceSection(readFileSync(file, 'utf8'), section))
}
