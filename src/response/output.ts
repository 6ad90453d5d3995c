/** One growing buffer: an answer is written into it once, from the driver's bytes, without strings in between. */

const FIRST_SIZE = 65_536
/** Up to here it is cheaper to ask for too much than to copy often: memory that is not touched costs nothing. */
const LARGE = 1_048_576

/**
 * Buffers that wait for the next answer: V8 collects everything whenever so much was allocated outside of its heap, which new
 * ones for each answer would come to ten times a second. There are as many as statements ran at the same time, and none that is large.
 */
const spare: Buffer[] = []
const MAX_SPARE = 32
const NONE = Buffer.alloc(0)

export class Output {
  /** Bytes that may be written, about; it is for those who write to keep to it. */
  limit = Infinity
  bytes: Buffer = NONE
  length = 0

  /** Makes room for so many bytes more. */
  reserve (count: number): void {
    if (this.length + count > this.bytes.length) this.#grow(count)
  }

  #grow (count: number): void {
    if (this.bytes === NONE) this.bytes = spare.pop() ?? Buffer.allocUnsafeSlow(FIRST_SIZE)
    if (this.length + count <= this.bytes.length) return
    const factor = this.bytes.length < LARGE ? 4 : 2
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * factor, this.length + count))
    this.bytes.copy(larger, 0, 0, this.length)
    free(this.bytes)
    this.bytes = larger
  }

  /** Nothing of it is needed any more, and nothing more can be written. */
  drop (): void {
    free(this.bytes)
    this.bytes = NONE
    this.length = 0
  }

  /** Notes that a value is not even begun, since it has more bytes than the limit leaves. */
  overflow (): void {
    this.length = Infinity
  }

  /** One byte, for which there is room. */
  byte (value: number): void {
    this.bytes[this.length++] = value
  }

  text (text: string): void {
    this.reserve(text.length * 3)
    this.length += this.bytes.write(text, this.length)
  }

  /** What was written, as a string where it has no more bytes than `short`. Nothing can be written after it. */
  end (short: number): Buffer | string {
    const { bytes, length } = this
    this.bytes = NONE
    if (bytes.length > LARGE) return bytes.subarray(0, length)
    const written = length <= short ? bytes.toString('utf8', 0, length) : copyOf(bytes, length)
    if (spare.length < MAX_SPARE) spare.push(bytes)
    return written
  }
}

/** Gives the memory of a large buffer back at once: what waits for the garbage collector may be as much again as what is in use. */
function free ({ buffer }: Buffer): void {
  if (buffer.byteLength > FIRST_SIZE) (buffer as ArrayBuffer).transfer(0)
}

function copyOf (bytes: Buffer, length: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(length)
  bytes.copy(copy, 0, 0, length)
  return copy
}
