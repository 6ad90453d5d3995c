/** Estimates the memory that a body takes while its request runs. */

/** Bytes for each byte of a body: itself, its text, the texts of its values, the statement and its packet. */
const PER_BYTE = 6
/** Bytes for each item of a list or object, and for each list and object. Numbers with their text and empty objects are the largest. */
const PER_ITEM = 72
/** Bodies of up to so many bytes are not scanned. */
const SMALL = 16_384
/** Bytes for each byte of a small body; only `[` can take more. */
const PER_BYTE_OF_SMALL = 32

/** 1 for the characters that begin an item. */
const BEGINS = new Uint8Array(256)
for (const character of ',[{') BEGINS[character.charCodeAt(0)] = 1

/** Returns an upper bound for ordinary bodies and an approximate number for the worst, in bytes. Characters in texts also count. */
export function weighBody (bytes: Uint8Array): number {
  if (bytes.length <= SMALL) return bytes.length * PER_BYTE_OF_SMALL
  let items = 0
  for (let at = 0; at < bytes.length; at++) items += BEGINS[bytes[at] as number] as number
  return bytes.length * PER_BYTE + items * PER_ITEM
}
