/** A growing buffer into which a response is written from the driver's bytes, without intermediate strings. */

const FIRST_SIZE = 65_536
/** Up to this size the buffer grows fourfold, because unused memory is cheaper than copying. */
const LARGE = 1_048_576

/**
 * For the next responses. With a new buffer for each, V8 would run a full garbage collection ten times a second,
 * because much memory is allocated outside of its heap. Large buffers are not kept.
 */
const spare: Buffer[] = []
const MAX_SPARE = 32
/** Up to so many bytes a loop copies faster. */
const SHORT = 64
const NONE = Buffer.alloc(0)

export class Output {
  /** The approximate maximum size in bytes, which callers must respect. */
  maxBytes = Infinity
  bytes: Buffer = NONE
  length = 0

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

  drop (): void {
    free(this.bytes)
    this.bytes = NONE
    this.length = 0
  }

  /** When the content has been copied. A small buffer is kept for another response. */
  recycle (): void {
    const { bytes } = this
    if (bytes === NONE || bytes.length > LARGE || !keep(bytes)) return this.drop()
    this.bytes = NONE
    this.length = 0
  }

  /** Marks the output as too large, for a value that exceeds the limit. Neither this nor what follows is written. */
  overflow (): void {
    this.length = Infinity
  }

  byte (value: number): void {
    if (this.length === this.bytes.length) this.#grow(1)
    this.bytes[this.length++] = value
  }

  part (part: string | Buffer): void {
    if (typeof part === 'string') return this.text(part)
    if (this.length === Infinity) return
    this.reserve(part.length)
    this.length += part.copy(this.bytes, this.length)
  }

  /** Copies a part of another output. Overflows if it does not fit, because one list may be copied many times. */
  copy (bytes: Buffer, from: number, to: number): void {
    const length = to - from
    if (this.length + length > this.maxBytes) return this.overflow()
    this.reserve(length)
    if (length > SHORT) bytes.copy(this.bytes, this.length, from, to)
    else for (let each = 0; each < length; each++) this.bytes[this.length + each] = bytes[from + each] as number
    this.length += length
  }

  text (text: string): void {
    if (this.length === Infinity) return
    this.reserve(text.length * 3)
    this.length += this.bytes.write(text, this.length)
  }

  /** Empties the output. The buffer goes with it, unless the content is small for it. */
  take (): Buffer {
    const { bytes, length } = this
    if (bytes.length > FIRST_SIZE || length < FIRST_SIZE / 2) {
      const copy = copyOf(bytes, length)
      if (bytes.length > FIRST_SIZE) this.drop()
      this.length = 0
      return copy
    }
    this.bytes = NONE
    this.length = 0
    return bytes.subarray(0, length)
  }

  /** A string if it has no more bytes than `short`. Nothing can be written after it. */
  end (short: number): Buffer | string {
    const { bytes, length } = this
    this.bytes = NONE
    if (bytes.length > LARGE) return bytes.subarray(0, length)
    const written = length <= short ? bytes.toString('utf8', 0, length) : copyOf(bytes, length)
    keep(bytes)
    return written
  }
}

/** Keeps a buffer for other responses. Returns false if enough are kept already. */
function keep (bytes: Buffer): boolean {
  if (spare.length >= MAX_SPARE) return false
  spare.push(bytes)
  return true
}

/** The buffer, which an output has returned, must not be read any more. */
export function giveBack ({ buffer }: Buffer): void {
  if (buffer.byteLength === FIRST_SIZE) keep(Buffer.from(buffer))
}

/** Frees the memory of a large buffer at once, because garbage could take as much memory again as is in use. */
function free ({ buffer }: Buffer): void {
  if (buffer.byteLength > FIRST_SIZE) (buffer as ArrayBuffer).transfer(0)
}

function copyOf (bytes: Buffer, length: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(length)
  bytes.copy(copy, 0, 0, length)
  return copy
}
