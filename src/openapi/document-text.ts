/** A document as it is sent: made piece by piece, so that no piece takes long, whatever the size of the whole. */
import { createHash } from 'node:crypto'
import type { Schema } from './schema.ts'

export interface DocumentText {
  readonly bytes: Buffer
  readonly etag: string
}

export interface DocumentWriter {
  /** Begins an object under a key of the one that is open; the document itself to begin with. */
  open (key: string): void
  /** Adds members to the object that is open. */
  add (members: Schema): void
  /** Ends the object that is open. */
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

/** Made of the representation itself, in pieces. */
export function createTag (pieces: Iterable<Buffer>): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return `"${hash.digest('base64url')}"`
}

/** The value of `If-None-Match` against the tag of what there is (section 13.1.2). */
export function isNotModified (tag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((known) => ['*', tag].includes(known.trim().replace(/^W\//, '')))
}
