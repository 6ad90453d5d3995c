/** Finds the end of an HTTP answer and its status. A load generator needs nothing else, and should cost little. */

const CR = 0x0d
const LF = 0x0a
const HEAD_END = Buffer.from('\r\n\r\n')

export class AnswerReader {
  /** The status of the last complete answer. */
  status = 0

  #head: Buffer | undefined
  #inBody = false
  #chunked = false
  /** Remaining bytes of the body, or of the current chunk including its line end. */
  #left = 0
  #sizeLine = ''
  #lastChunk = false

  /** Takes bytes; true if the answer is complete. One answer at a time, without pipelining. */
  read (bytes: Buffer): boolean {
    const body = this.#inBody ? bytes : this.#readHead(bytes)
    if (body === undefined) return false
    const complete = this.#chunked ? this.#readChunks(body) : this.#readBody(body)
    this.#inBody = !complete
    return complete
  }

  /** Reads what follows the complete headers. */
  #readHead (bytes: Buffer): Buffer | undefined {
    const all = this.#head === undefined ? bytes : Buffer.concat([this.#head, bytes])
    const end = all.indexOf(HEAD_END)
    this.#head = end === -1 ? all : undefined
    if (end === -1) return undefined
    const head = all.toString('latin1', 0, end)
    this.status = Number(head.slice(9, 12))
    this.#chunked = /\r\ntransfer-encoding: *chunked/i.test(head)
    this.#left = this.#chunked ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    this.#lastChunk = false
    return all.subarray(end + HEAD_END.length)
  }

  #readBody (bytes: Buffer): boolean {
    this.#left -= bytes.length
    return this.#left <= 0
  }

  /** Trailers are not supported: an empty line must follow the last chunk. */
  #readChunks (bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length;) {
      const skipped = Math.min(this.#left, bytes.length - at)
      this.#left -= skipped
      at += skipped
      if (at < bytes.length && this.#readSizeLine(bytes[at++] as number)) return true
    }
    return false
  }

  /** True at the end of the line after the last chunk. */
  #readSizeLine (byte: number): boolean {
    if (byte !== LF) {
      if (byte !== CR) this.#sizeLine += String.fromCharCode(byte)
      return false
    }
    if (this.#lastChunk) return true
    const size = parseInt(this.#sizeLine, 16)
    this.#sizeLine = ''
    this.#lastChunk = size === 0
    this.#left = size === 0 ? 0 : size + '\r\n'.length
    return false
  }
}
