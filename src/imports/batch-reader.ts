/** Batches are read no faster than they are taken: the stream is paused while a complete batch waits. */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { at, bodyIncomplete, bodyTooLarge, invalidBody, requestTimeout, type ServiceError } from '../errors.ts'
import { atLine, type RowParser } from './row-parser.ts'

/** The limits of a batch: its rows, and their size in bytes, which a single row may exceed. */
const MAX_ROWS = 1000
export const MAX_BYTES = 262_144

/** Bytes that are decoded at a time, and how often before other work of the process has its turn. */
const PIECE = 65_536
const PIECES = MAX_BYTES / PIECE
/** Smaller chunks are collected for some milliseconds, because each piece has a cost of its own. */
const SMALL = 16_384
const DELAY = 20

const [LF, CR] = [0x0a, 0x0d] as const

export interface Batch<Row = unknown> {
  readonly rows: Row[]
  /** The first line of each row. */
  readonly lines: number[]
  /** The index of the first row among all. */
  readonly first: number
  /** The line in which the last row ends. */
  lastLine: number
  /** The size of the rows in bytes. */
  size: number
}

export interface BatchLimits {
  /** In bytes. */
  readonly rowSize: number
  /** The most in a batch. */
  readonly rows: number
  /** How long to wait for bytes, in milliseconds. */
  readonly timeout: number
  /** The line of the first row that is passed on; 1 if omitted. */
  readonly fromLine?: number
}

type Waiter<Row> = PromiseWithResolvers<Batch<Row> | undefined>

export class BatchReader<Row = unknown> {
  readonly #stream: Readable
  readonly #parser: RowParser<Row>
  readonly #limits: BatchLimits
  readonly #small = Buffer.allocUnsafeSlow(PIECE)
  #smallLength = 0
  #smallTimer: NodeJS.Timeout | undefined
  /** Bytes that have not been decoded, then text that has not been parsed. */
  #chunk: Buffer = Buffer.alloc(0)
  #text = ''
  #position = 0
  #isAscii = true
  /** The size of the row that is being read. */
  #rowSize = 0
  #count = 0
  #batch: Batch<Row>
  #waiter: Waiter<Row> | undefined
  #timer: NodeJS.Timeout | undefined
  #hasEnded = false
  /** Bytes are left that can be decoded. */
  #isResting = false
  #isParsed = false
  #isFirst = true
  #failure: { readonly error: unknown } | undefined
  /** Thrown when the text before it has been parsed. */
  #isInvalid = false
  /** Bytes that have been read. */
  bytes = 0
  onBytes: (bytes: Buffer) => void = () => {}

  constructor (stream: Readable, parser: RowParser<Row>, limits: BatchLimits) {
    this.#stream = stream
    this.#parser = parser
    this.#limits = limits
    this.#batch = this.#newBatch()
    stream.on('data', this.#onData).on('end', this.#onEnd).on('error', this.fail).on('close', this.#onClose)
    stream.pause()
  }

  /**
   * Undefined after the last batch. @throws INVALID_BODY, INVALID_JSON, BODY_TOO_LARGE, REQUEST_TIMEOUT; the reason of
   * `fail`
   */
  next (): Promise<Batch<Row> | undefined> {
    const waiter: Waiter<Row> = this.#waiter = Promise.withResolvers()
    this.#proceed()
    if (this.#waiter !== undefined) this.#timer = setTimeout(() => this.fail(requestTimeout()), this.#limits.timeout)
    return waiter.promise
  }

  /** The stream stays as it is. */
  readonly fail = (error: unknown): void => {
    if (this.#failure !== undefined) return
    this.#failure = { error }
    this.#detach()
    this.#settle((waiter) => waiter.reject(error))
  }

  /** Postpones the time limit: bytes have arrived that are not decompressed yet. */
  noteProgress (): void {
    this.#timer?.refresh()
  }

  #detach (): void {
    const stream = this.#stream
    stream.off('data', this.#onData).off('end', this.#onEnd).off('error', this.fail).off('close', this.#onClose)
    stream.on('error', () => {})
    stream.pause()
    clearTimeout(this.#smallTimer)
    this.#smallTimer = undefined
    this.#chunk = Buffer.alloc(0)
    this.#text = ''
  }

  #settle (use: (waiter: Waiter<Row>) => void): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const waiter = this.#waiter
    this.#waiter = undefined
    if (waiter === undefined) return
    this.#stream.pause()
    use(waiter)
  }

  readonly #onData = (data: Buffer | string): void => {
    const chunk = typeof data === 'string' ? Buffer.from(data) : data
    this.bytes += chunk.length
    this.onBytes(chunk)
    this.#timer?.refresh()
    if (chunk.length >= SMALL || this.#smallLength + chunk.length > PIECE) {
      this.#takeSmall()
      this.#append(chunk)
      this.#proceed()
      return
    }
    chunk.copy(this.#small, this.#smallLength)
    this.#smallLength += chunk.length
    this.#smallTimer ??= setTimeout(this.#flush, DELAY)
  }

  readonly #flush = (): void => {
    this.#takeSmall()
    this.#proceed()
  }

  #takeSmall (): void {
    clearTimeout(this.#smallTimer)
    this.#smallTimer = undefined
    if (this.#smallLength === 0) return
    this.#append(Buffer.from(this.#small.subarray(0, this.#smallLength)))
    this.#smallLength = 0
  }

  #append (chunk: Buffer): void {
    this.#chunk = this.#chunk.length === 0 ? chunk : Buffer.concat([this.#chunk, chunk])
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    this.#flush()
  }

  readonly #onClose = (): void => {
    if (!this.#hasEnded) this.fail(bodyIncomplete())
  }

  #proceed (): void {
    if (this.#isResting) return
    this.#advance()
    if (this.#waiter === undefined) return
    if (this.#isResting) {
      this.#stream.pause()
      setImmediate(() => {
        this.#isResting = false
        this.#proceed()
      })
    } else this.#stream.resume()
  }

  /** Parses until a batch that somebody waits for is complete, or more bytes are needed. */
  #advance (): void {
    if (this.#waiter === undefined) return
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      return this.#settle((waiter) => waiter.reject(error))
    }
    try {
      const batch = this.#parseBatch()
      if (batch !== undefined) this.#settle((waiter) => waiter.resolve(batch))
      else if (this.#isParsed && this.#batch.rows.length === 0) this.#settle((waiter) => waiter.resolve(undefined))
    } catch (error) {
      this.fail(error)
    }
  }

  #parseBatch (): Batch<Row> | undefined {
    const parser = this.#parser
    for (let pieces = 0; ; pieces++) {
      while (this.#position < this.#text.length) {
        const from = this.#position
        this.#position = parser.read(this.#text, from)
        this.#rowSize += this.#isAscii
          ? this.#position - from
          : Buffer.byteLength(this.#text.slice(from, this.#position))
        if (this.#rowSize > this.#limits.rowSize) throw this.#tooLarge('A row', this.#limits.rowSize, 'bytes')
        if (parser.row === undefined) {
          if (parser.isBetween) this.#rowSize = 0
          continue
        }
        const full = this.#addRow(parser.row)
        if (full !== undefined) return full
      }
      if (this.#isInvalid) throw this.#notUtf8(this.#chunk)
      this.#isResting = pieces === PIECES && this.#chunk.length > 0
      if (this.#isResting) return undefined
      if (this.#decode()) continue
      if (!this.#hasEnded) return undefined
      return this.#endText()
    }
  }

  #endText (): Batch<Row> | undefined {
    const parser = this.#parser
    if (this.#chunk.length > 0) throw this.#notUtf8(this.#chunk)
    if (!this.#isParsed) {
      this.#isParsed = true
      parser.end()
      if (parser.row !== undefined) {
        const full = this.#addRow(parser.row)
        if (full !== undefined) return full
      }
    }
    return this.#batch.rows.length === 0 ? undefined : this.#takeBatch()
  }

  /** Returns the batch if it is complete; a row that does not fit begins the next one. */
  #addRow (row: Row): Batch<Row> | undefined {
    const { rowLine, lastLine } = this.#parser
    const size = this.#rowSize
    this.#rowSize = 0
    if (rowLine < (this.#limits.fromLine ?? 1)) return undefined
    if (this.#count >= this.#limits.rows) throw this.#tooLarge('The body', this.#limits.rows, 'rows')
    const isFull = this.#batch.rows.length > 0 && this.#batch.size + size > MAX_BYTES
    const full = isFull ? this.#takeBatch() : undefined
    const batch = this.#batch
    batch.rows.push(row)
    batch.lines.push(rowLine)
    batch.lastLine = lastLine
    batch.size += size
    this.#count++
    return full ?? (batch.rows.length >= MAX_ROWS ? this.#takeBatch() : undefined)
  }

  #newBatch (): Batch<Row> {
    return { rows: [], lines: [], first: this.#count, lastLine: 0, size: 0 }
  }

  #takeBatch (): Batch<Row> {
    const batch = this.#batch
    this.#batch = this.#newBatch()
    return batch
  }

  #tooLarge (what: string, most: number, unit: string): ServiceError {
    const error = bodyTooLarge()
    error.message = `${what} has more than ${most} ${unit}`
    return atLine(error, this.#parser.rowLine)
  }

  /** `bytes`: of the line. */
  #notUtf8 (bytes: Buffer): ServiceError {
    return atLine(invalidBody(`The body is not UTF-8: ${describeByte(bytes)}`), this.#parser.line)
  }

  /** Returns whether there is text. @throws INVALID_BODY for a file of another kind */
  #decode (): boolean {
    this.#text = ''
    this.#position = 0
    const chunk = this.#chunk
    if (chunk.length === 0) return false
    if (this.#isFirst) {
      if (chunk.length < BEGINNING && !this.#hasEnded) return false
      const kind = findKind(chunk)
      if (kind !== undefined) throw at('', invalidBody(`The body is ${kind}`))
    }
    let end = Math.min(PIECE, chunk.length)
    end -= incompleteAt(chunk, end)
    let piece = chunk.subarray(0, end)
    if (!isUtf8(piece)) {
      this.#isInvalid = true
      end = validLines(piece)
      piece = chunk.subarray(0, end)
    }
    this.#chunk = chunk.subarray(end)
    if (end === 0) return this.#isInvalid
    const text = piece.toString()
    this.#isAscii = text.length === end
    this.#text = this.#isFirst && text.startsWith('\ufeff') ? text.slice(1) : text
    this.#isFirst = false
    return true
  }
}

/** Bytes before `end` that begin a character which ends behind it. */
function incompleteAt (bytes: Buffer, end: number): number {
  for (let back = 1; back <= 3 && back <= end; back++) {
    const byte = bytes[end - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** The length of the lines before the first one that is not UTF-8. */
function validLines (bytes: Buffer): number {
  let start = 0
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== LF && bytes[index] !== CR) continue
    if (!isUtf8(bytes.subarray(start, index))) return start
    start = index + 1
  }
  return start
}

// What a file is that is no text in UTF-8, and what to do about it.

const SAVE = 'in a spreadsheet, save it as "CSV UTF-8"'
const UTF_16 = `text in UTF-16: save it in UTF-8; ${SAVE}`
const WORKBOOK = `a workbook: ${SAVE}`

/** The first bytes of files that people send in place of a text. */
const BEGINNINGS: ReadonlyArray<readonly [bytes: readonly number[], kind: string]> = [
  [[0x50, 0x4b, 0x03, 0x04], `an XLSX or ZIP file: ${SAVE}, or unpack it`],
  [[0xd0, 0xcf, 0x11, 0xe0], WORKBOOK],
  [[0x25, 0x50, 0x44, 0x46], 'a PDF'],
  [[0x1f, 0x8b], 'compressed with gzip: send Content-Encoding: gzip, or unpack it'],
  [[0xff, 0xfe], UTF_16],
  [[0xfe, 0xff], UTF_16]
]

/** Bytes that `findKind` looks at. */
const BEGINNING = 4

/** What a file is that begins with these bytes; undefined for what may be text in UTF-8. */
function findKind (bytes: Buffer): string | undefined {
  const kind = BEGINNINGS.find(([beginning]) => beginning.every((byte, index) => bytes[index] === byte))
  if (kind !== undefined) return kind[1]
  // every second byte of a text in UTF-16 without a mark is zero
  const zeros = [...bytes.subarray(0, BEGINNING)].map((byte) => byte === 0 ? '0' : 'x').join('')
  return zeros === '0x0x' || zeros === 'x0x0' ? UTF_16 : undefined
}

/** The first byte that is not UTF-8, and the character that it is in the encoding of older files. */
function describeByte (bytes: Buffer): string {
  const rest = new TextDecoder().decode(bytes)
  const good = Buffer.byteLength(rest.slice(0, rest.indexOf('\ufffd')))
  const byte = bytes[good] as number
  const hex = byte.toString(16).toUpperCase()
  return `it has the byte ${hex}, which is "${LATIN.decode(Uint8Array.of(byte))}" in Windows and Latin-1 files; ${SAVE}`
}

const LATIN = new TextDecoder('windows-1252')
