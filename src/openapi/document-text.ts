/** Serializes documents piece by piece, so that a large document does not block the event loop, and compares entity tags. */
import { createHash } from 'node:crypto'
import type { Schema } from './schema.ts'

export interface DocumentText {
  readonly bytes: Buffer
  readonly etag: string
}

export interface DocumentWriter {
  /** Begins an object under a key of the current object, which is the document at first. */
  open (key: string): void
  /** Adds members to the current object. */
  add (members: Schema): void
  /** Ends the current object. */
  close (): void
  end (): DocumentText
}

export function createDocumentWriter (): DocumentWriter {
  const pieces: Buffer[] = []
  let isEmpty = true
  const write = (text: string): void => {
    pieces.push(Buffer.from(text))
  }
  const separator = (): string => isEmpty ? '' : ','
  write('{')
  return {
    open (key) {
      write(`${separator()}${JSON.stringify(key)}:{`)
      isEmpty = true
    },
    add (members) {
      const text = JSON.stringify(members).slice(1, -1)
      if (text === '') return
      write(separator() + text)
      isEmpty = false
    },
    close () {
      write('}')
      isEmpty = false
    },
    end () {
      write('}\n')
      return { bytes: Buffer.concat(pieces), etag: createTag(pieces) }
    }
  }
}

/** Creates an entity tag (RFC 9110, section 8.8.3) from the pieces of a representation. */
export function createTag (pieces: Iterable<Uint8Array>): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return `"${hash.digest('base64url')}"`
}

/** Returns whether `If-None-Match` contains the current entity tag (RFC 9110, section 13.1.2). */
export function isNotModified (tag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')))
}
