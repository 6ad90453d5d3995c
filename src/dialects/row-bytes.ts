/**
 * Reads the bytes of a row, in which each value follows its length, as in MySQL's text protocol. Other packets have
 * such integers and texts, too. Only this file knows the format ("Protocol::LengthEncodedInteger" in the documentation
 * of MySQL's source code). `readLength` and `afterLength` run for every value of every reply. They return numbers, and
 * V8 inlines them: keeping the positions of values in an array or object for each row made responses of integers 10 to
 * 20 % slower.
 */

/** First bytes that are not the integer itself: NULL for a value of a row, or the number of bytes that follow. */
const [NULL, TWO_BYTES, THREE_BYTES, EIGHT_BYTES] = [0xfb, 0xfc, 0xfd, 0xfe] as const

/**
 * The integer at `at`, which for a value is its length in bytes; -1 for NULL. @throws RangeError beyond the end of
 * `bytes`, Error if no integer can begin with the byte
 */
export function readLength (bytes: Buffer, at: number): number {
  const first = bytes[at] as number
  return first < NULL ? first : first === NULL ? -1 : readLong(bytes, at)
}

/** The position after the integer at `at`. */
export function afterLength (bytes: Buffer, at: number): number {
  const first = bytes[at] as number
  return first <= NULL ? at + 1 : at + (first === TWO_BYTES ? 3 : first === THREE_BYTES ? 4 : 9)
}

/** Reads an integer of eight bytes, rounded above 2^53. */
function readLong (bytes: Buffer, at: number): number {
  switch (bytes.readUInt8(at)) {
    case TWO_BYTES: return bytes.readUInt16LE(at + 1)
    case THREE_BYTES: return bytes.readUIntLE(at + 1, 3)
    case EIGHT_BYTES: return Number(bytes.readBigUInt64LE(at + 1))
    default: throw new Error('the packet lacks a length')
  }
}

/** An integer at `at` that `readLength` rounds, as digits. */
export const readDigits = (bytes: Buffer, at: number): string => String(bytes.readBigUInt64LE(at + 1))

/** The position after the first `count` values of a row that begins at `from`. */
export function skipValues (bytes: Buffer, from: number, count: number): number {
  let at = from
  for (let value = 0; value < count; value++) at = afterLength(bytes, at) + Math.max(0, readLength(bytes, at))
  return at
}

/** A proxy has repeated or lost a part of the row: its values do not end where the row does. */
export const notWhole = (): Error => new Error('the values of a row do not end with it')

/**
 * Copies each value of the row in `bytes` from `from` to `end`, because the driver reuses the bytes. @throws Error if
 * these are not exactly so many values
 */
export function copyValues (bytes: Buffer, from: number, end: number, count: number): Array<Buffer | null> {
  const values = valuesIn(bytes, from, end, count)
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (value instanceof Buffer) values[index] = Buffer.from(value)
  }
  return values
}

/**
 * The values of a row in `bytes` from `from` to `end`, without a copy, for a long row, whose bytes are its own. @throws
 * Error if these are not exactly so many values
 */
export function valuesIn (bytes: Buffer, from: number, end: number, count: number): Array<Buffer | null> {
  const values: Array<Buffer | null> = []
  let at = from
  while (at < end) {
    const length = readLength(bytes, at)
    const start = afterLength(bytes, at)
    at = start + Math.max(0, length)
    values.push(length < 0 ? null : bytes.subarray(start, at))
  }
  if (at !== end || values.length !== count) throw notWhole()
  return values
}

/**
 * Writes the position of each value of a row into `starts`, and then the end of the row. @throws Error if these are not
 * exactly so many values
 */
export function findStarts (bytes: Buffer, from: number, end: number, starts: Uint32Array, count: number): void {
  let value = 0
  let at = from
  for (; at < end; at = afterLength(bytes, at) + Math.max(0, readLength(bytes, at))) starts[value++] = at
  if (at !== end || value !== count) throw notWhole()
  starts[value] = end
}
