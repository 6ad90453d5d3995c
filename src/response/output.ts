/** One growing buffer: an answer is written into it once, from the driver's bytes, without strings in between. */

const FIRST_SIZE = 1024
/** Below this a loop copies faster than a call into the platform. */
const SHORT = 100

export class Output {
  bytes = Buffer.allocUnsafe(FIRST_SIZE)
  length = 0

  /** Makes room for so many bytes more. */
  reserve (count: number): void {
    if (this.length + count > this.bytes.length) this.#grow(count)
  }

  #grow (count: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + count))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** One byte, for which there is room. */
  byte (value: number): void {
    this.bytes[this.length++] = value
  }

  /** A part of another buffer. */
  copy (source: Buffer, start: number, end: number): void {
    this.reserve(end - start)
    if (end - start > SHORT) {
      source.copy(this.bytes, this.length, start, end)
      this.length += end - start
      return
    }
    const { bytes } = this
    let { length } = this
    for (let index = start; index < end; index++) bytes[length++] = source[index] as number
    this.length = length
  }

  text (text: string): void {
    this.reserve(text.length * 3)
    this.length += this.bytes.write(text, this.length)
  }

  /** What was written. */
  toBuffer (): Buffer {
    return this.bytes.subarray(0, this.length)
  }
}
