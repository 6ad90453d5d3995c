/** Serializes documents piece by piece, so that a large document does not block the event loop, and compares entity tags. */
import { createHash, type Hash } from 'node:crypto'
import type { LongWork } from '../in-pieces.ts'
import type { Schema } from './schema.ts'

export interface DocumentText {
  readonly bytes: Buffer
  readonly etag: string
}

/** The members of an object, as pieces of JSON text. */
export class Members {
  readonly #pieces: Buffer[] = []
  #bytes = 0

  /** The size of the text, in bytes. */
  get bytes (): number {
    return this.#bytes
  }

  get pieces (): readonly Buffer[] {
    return this.#pieces
  }

  /** Returns the size of the added text, in bytes. */
  add (members: Schema): number {
    return this.#write(JSON.stringify(members).slice(1, -1))
  }

  /** Adds a member that is an object. */
  addObject (key: string, { pieces }: Members): void {
    this.#write(`${JSON.stringify(key)}:{`)
    for (const piece of pieces) this.#push(piece)
    this.#push(Buffer.from('}'))
  }

  #write (text: string): number {
    if (text === '') return 0
    const piece = Buffer.from(this.#pieces.length === 0 ? text : `,${text}`)
    this.#push(piece)
    return piece.length
  }

  #push (piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }
}

/** Writes the document that has these members. */
export function * writeDocument ({ pieces, bytes: length }: Members): LongWork<DocumentText> {
  const bytes = Buffer.allocUnsafeSlow(length + FRAME.length)
  const hash = createHash('sha256')
  let at = 0
  for (const piece of [FRAME.subarray(0, 1), ...pieces, FRAME.subarray(1)]) {
    at += piece.copy(bytes, at)
    hash.update(piece)
    yield piece.length
  }
  return { bytes, etag: toTag(hash) }
}

const FRAME = Buffer.from('{}\n')

/** Creates an entity tag (RFC 9110, section 8.8.3) from the pieces of a representation. */
export function createTag (pieces: Iterable<Uint8Array>): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return toTag(hash)
}

const toTag = (hash: Hash): string => `"${hash.digest('base64url')}"`

/** Returns whether `If-None-Match` contains the current entity tag (RFC 9110, section 13.1.2). */
export function isNotModified (tag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')))
}
