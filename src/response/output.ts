/** One growing buffer: an answer is written into it once, from the driver's bytes, without strings in between. */

const FIRST_SIZE = 1024
/** Up to here it is cheaper to ask for too much than to copy often: memory that is not touched costs nothing. */
const LARGE = 1_048_576

export class Output {
  bytes = Buffer.allocUnsafe(FIRST_SIZE)
  length = 0

  /** Makes room for so many bytes more. */
  reserve (count: number): void {
    if (this.length + count > this.bytes.length) this.#grow(count)
  }

  #grow (count: number): void {
    const factor = this.bytes.length < LARGE ? 4 : 2
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * factor, this.length + count))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** One byte, for which there is room. */
  byte (value: number): void {
    this.bytes[this.length++] = value
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
