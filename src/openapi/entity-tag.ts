/** Entity tags (RFC 9110, section 8.8.3): whether a client has already what it asks for. */
import { createHash } from 'node:crypto'

/** Made of the representation itself, in pieces. */
export function createTag (pieces: Iterable<Buffer>): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return `"${hash.digest('base64url')}"`
}

/** The value of `If-None-Match` against the tag of what there is (section 13.1.2). */
export function isKnown (tag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((known) => ['*', tag].includes(known.trim().replace(/^W\//, '')))
}
