/** How much memory a body takes while its request runs. */

/** Bytes for each byte of a body: itself, its text, the texts of its values, the statement and what is sent to the database. */
const PER_BYTE = 6
/** Bytes for each item of a list or an object, and for each list and object. The largest are numbers with their text, and empty objects. */
const PER_ITEM = 72
/** Bodies of up to so many bytes are not looked at. */
const SMALL = 16_384
/** Bytes for each of their bytes. More than that is only possible for `[`. */
const PER_BYTE_OF_SMALL = 32

/** 1 for the characters of which each begins an item. */
const BEGINS = new Uint8Array(256)
for (const character of ',[{') BEGINS[character.charCodeAt(0)] = 1

/** Returns an upper bound for ordinary bodies and about the right number for the worst, in bytes. Characters in texts count as well. */
export function weighBody (bytes: Uint8Array): number {
  if (bytes.length <= SMALL) return bytes.length * PER_BYTE_OF_SMALL
  let items = 0
  for (let at = 0; at < bytes.length; at++) items += BEGINS[bytes[at] as number] as number
  return bytes.length * PER_BYTE + items * PER_ITEM
}
