/** A bounded cache of documents, because that of a large database has megabytes and every grant can have its own. */
import { hash } from 'node:crypto'
import { isServiceError, resultTooLarge } from '../errors.ts'
import type { DocumentText } from './document-text.ts'

/** Returns the document of the key; calls `make` if it is neither cached nor being made. */
export type DocumentCache = (key: string, make: () => Promise<DocumentText>) => Promise<DocumentText>

const { code: TOO_LARGE } = resultTooLarge('')
/** Memory of a refusal, in bytes, about. */
const REFUSAL_SIZE = 8192

interface Entry { readonly document: Promise<DocumentText>, bytes: number }

/**
 * `limit`: bytes of all documents together; the newest document is kept whatever its size. Concurrent calls with one key share one
 * `make`. The least recently used document is removed first. A failed `make` is not
 * cached, unless the document is too large: finding that out takes as long as making one.
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
    const keep = (size: number): void => {
      entry.bytes = size
      bytes += size
      // documents that are still being made have no size yet and stay
      for (const [oldest, each] of entries) if (bytes > limit && each !== entry && each.bytes > 0) drop(oldest, each)
    }
    entry.document.then((made) => keep(made.bytes.length), (error: Error) => {
      if (isServiceError(error) && error.code === TOO_LARGE) keep(REFUSAL_SIZE)
      else drop(key, entry)
    })
    return entry
  }

  return (name, make) => {
    // for some grants, the key contains the names of all columns
    const key = hash('sha256', name)
    const entry = entries.get(key) ?? start(key, make)
    entries.delete(key)
    entries.set(key, entry)
    return entry.document
  }
}
