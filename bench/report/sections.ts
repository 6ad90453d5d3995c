/** Replaces the part of a document between `<!-- name -->` and `<!-- /name -->`. */
import { readFileSync, writeFileSync } from 'node:fs'

/** The parts of documents that programs write. */
export type Section = 'benchmark' | 'costs'

/** Returns the document with another text between the marks. @throws Error if it has no marks */
export function replaceSection (document: string, section: string, name: Section): string {
  const [start, stop] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const begin = document.indexOf(start)
  const end = document.indexOf(stop)
  if (begin === -1 || end < begin) throw new Error(`there is no ${start} … ${stop}`)
  return `${document.slice(0, begin + start.length)}\n\n${section.trim()}\n\n${document.slice(end)}`
}

export function writeSection (file: URL, section: string, name: Section): void {
  writeFileSync(file, replaceSection(readFileSync(file, 'utf8'), section, name))
}
