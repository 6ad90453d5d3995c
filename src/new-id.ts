/** Names for requests that bring none of their own. */
import { randomBytes } from 'node:crypto'

/** Hex digits of an id of ours: 128 random bits. */
const LENGTH = 32
/** Ids that are made at a time. */
const BATCH = 128
let batch = ''
let used = 0

/** Cut from one long text: `randomUUID` puts each of its texts together of twenty, which takes three times as long. */
export function newId (): string {
  if (used === batch.length) {
    batch = randomBytes(BATCH * LENGTH / 2).toString('hex')
    used = 0
  }
  used += LENGTH
  return batch.slice(used - LENGTH, used)
}
