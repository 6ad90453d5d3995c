/** Entity tags (RFC 9110, section 8.8.3). */
import { createHash, type Hash } from 'node:crypto'

/** Creates the tag of a representation from its pieces. */
export function createTag (pieces: Iterable<Uint8Array>): string {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return toTag(hash)
}

/** The tag of the representation that was hashed. */
export const toTag = (hash: Hash): string => `"${hash.digest('base64url')}"`

/** Returns whether `If-None-Match` contains the current entity tag (RFC 9110, section 13.1.2). */
export function isNotModified (tag: string, ifNoneMatch = ''): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')))
}
