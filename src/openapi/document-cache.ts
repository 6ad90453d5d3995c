/** Documents that were made, kept within bounds: one of a large database is megabytes, and every grant may see another. */
import type { DocumentText } from './document-text.ts'

/** The document of a key: kept, being made, or made now. */
export type DocumentCache = (key: string, make: () => Promise<DocumentText>) => Promise<DocumentText>

interface Entry { readonly document: Promise<DocumentText>, bytes: number }

/**
 * `limit`: bytes of all documents together; the newest is kept whatever its size. Those who ask while a document is being made
 * wait for the same one. What was asked for longest ago goes first; what could not be made is made anew.
 */
export function createDocumentCache (limit: number): DocumentCache {
  const entries = new Map<string, Entry>()
  let bytes = 0

  const drop = (key: string, entry: Entry): void => {
    entries.delete(key)
    bytes -= entry.bytes
  }

  const start = (key: string, make: () => Promise<DocumentText>): Entry => {
    const entry: Entry = { document: make(), bytes: 0 }
    entry.document.then((made) => {
      entry.bytes = made.bytes.length
      bytes += entry.bytes
      // those that are being made have no size yet, and somebody waits for them
      for (const [oldest, each] of entries) if (bytes > limit && each !== entry && each.bytes > 0) drop(oldest, each)
    }, () => drop(key, entry))
    return entry
  }

  return (key, make) => {
    const entry = entries.get(key) ?? start(key, make)
    entries.delete(key)
    entries.set(key, entry)
    return entry.document
  }
}
