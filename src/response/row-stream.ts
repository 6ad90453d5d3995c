/** Rows are read from the database as the stream is read. */
import { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Column } from '../catalog/catalog.ts'
import type { PausableSink, RowSource } from '../dialects/dialect.ts'
import { valuesIn } from '../dialects/packets.ts'
import { overloaded, resultTooLarge, withReason } from '../errors.ts'
import { ResponseMemory, UNLIMITED, type ResponseBudget } from './budget.ts'
import { giveBack, Output } from './output.ts'
import { isLongRow, type Values, writeRow } from './json-rows.ts'
import type { StreamRows } from './csv-ndjson-rows.ts'

/** The number of bytes at which rows are passed on, and the milliseconds after which they are passed on anyway. */
const CHUNK = 49_152
const DELAY = 20

/** Maximum memory of a stream, in bytes, without the excess of a large row. */
const MEMORY = 1_048_576

/** How long what was read before an error waits for a reader that does not take it, in milliseconds. */
export const GRACE = 500

class Chunks extends Readable {
  /**
   * The memory of each chunk is used again as soon as an HTTP response has written it. As garbage, the chunks of a long
   * stream would take up to 64 MB before V8 collects them.
   */
  isReused = false

  override pipe<T extends NodeJS.WritableStream> (destination: T, options?: { readonly end?: boolean }): T {
    if (!this.isReused || !(destination instanceof ServerResponse)) return super.pipe(destination, options)
    this.on('data', (chunk: Buffer) => {
      if (!destination.write(chunk, (error) => { if (error == null) giveBack(chunk) })) this.pause()
    })
    destination.on('drain', () => this.resume())
    if (options?.end !== false) this.on('end', () => destination.end())
    return destination
  }
}

export class RowStream implements PausableSink {
  /** Can be read once. It is destroyed if it does not reach its end. */
  readonly readable: Chunks
  readonly #rows: StreamRows
  readonly #output = new Output()
  /** Complete rows in the output, in bytes. */
  #whole = 0
  readonly #memory: ResponseMemory
  readonly #most: number
  readonly #started = Promise.withResolvers<void>()
  #source: RowSource | undefined
  #isPaused = false
  #isDiscarded = false
  /** A long row is being taken, of which a part is in the output. */
  #isTaking = false
  #timer: NodeJS.Timeout | undefined
  #failure: Error | undefined
  readonly maxBytes: number
  /** Rows taken and passed on, and bytes passed on. */
  count = 0
  passed = 0
  bytes = 0
  hasPassed = false
  /** Called after an error of the rows, when the rows before it may not have been read yet. */
  onFailure = (): void => {}
  /** Cuts the stream off, once the rows before an error have been read. */
  onCut = (error: Error): void => { this.readable.destroy(error) }

  /**
   * `maxBytes`: of a row; more than `most` rows are an error. @throws OVERLOADED if there is no memory for it
   */
  constructor ({ rows, maxBytes, most = Infinity, budget = UNLIMITED }: {
    readonly rows: StreamRows
    readonly maxBytes: number
    readonly most?: number | undefined
    readonly budget?: ResponseBudget
  }) {
    // a row that never fits is too large, not a reason to send the request again
    this.maxBytes = Math.min(maxBytes, budget.largest)
    this.#rows = rows
    this.#most = most
    this.#memory = new ResponseMemory(budget)
    if (!this.#memory.extend(0, MEMORY)) throw overloaded()
    this.#output.maxBytes = this.maxBytes
    this.readable = new Chunks({
      highWaterMark: 1, // one chunk
      read: () => this.#read(),
      destroy: (error, done) => {
        this.#close()
        done(error)
      }
    })
    this.readable.on('error', () => {}) // the reader gets the error as well
  }

  /**
   * Makes it use the memory of what an HTTP response has written again. Nobody else may keep what the response gets, as
   * hooks of a host app may do.
   */
  reuseMemory (): void {
    this.readable.isReused = true
  }

  /** Resolves with the first row. */
  get started (): Promise<void> {
    return this.#started.promise
  }

  /** Why the rows did not reach their end. */
  get failure (): Error | undefined {
    return this.#failure
  }

  from (source: RowSource): void {
    this.#source = source
    // an earlier run may have discarded its rows, such as one on a replica that has other columns
    this.#isDiscarded = this.readable.destroyed || this.#failure !== undefined
  }

  begin (columns: readonly Column[]): void {
    this.giveUp()
    this.#rows.begin(columns)
  }

  giveUp (): void {
    this.#stopTimer()
    this.count = this.#whole = this.#output.length = 0
  }

  get full (): boolean {
    return this.#isDiscarded
  }

  discard (): void {
    this.#isDiscarded = true
  }

  overflow (): void {
    this.#output.overflow()
  }

  textRow (bytes: Buffer, from: number, to: number, count: number): Promise<void> | undefined {
    if (this.#isDiscarded) return undefined
    if (isLongRow(to - from)) return this.row(valuesIn(bytes, from, to, count))
    this.#before()
    this.#rows.textRow(this.#output, bytes, from, to)
    this.#after()
    return undefined
  }

  row (values: Values): Promise<void> | undefined {
    if (this.#isDiscarded) return undefined
    this.#before()
    const isOver = (): boolean => this.#isDiscarded || !this.#hasRoom()
    const taking = writeRow(this.#rows.values(this.#output, values), values, isOver)
    if (taking === undefined) this.#after()
    this.#isTaking = taking !== undefined
    return taking?.then(() => {
      this.#isTaking = false
      if (!this.#isDiscarded) this.#after()
    })
  }

  #hasRoom (): boolean {
    const { length } = this.#output
    return length <= this.maxBytes && (length <= this.#memory.taken || this.#memory.extend(length, this.maxBytes))
  }

  #before (): void {
    if (this.count === 0) this.#rows.writeHead(this.#output)
    if (this.count >= this.#most) {
      throw withReason(resultTooLarge(`there are more than ${this.#most} rows; send a "limit"`), 'STREAM_ROWS')
    }
  }

  #after (): void {
    const isChunk = this.#output.length >= CHUNK
    // before the limits are checked, because it may make the rows longer
    if (isChunk && this.#output.length <= this.maxBytes) this.#rows.endChunk(this.#output)
    const { length } = this.#output
    if (length > this.maxBytes) {
      throw resultTooLarge(`a row would be larger than ${this.maxBytes} bytes; request fewer columns`)
    }
    if (length > this.#memory.taken && !this.#memory.extend(length, this.maxBytes)) throw overloaded()
    this.#whole = length
    if (++this.count === 1) {
      this.#source?.started()
      this.#started.resolve()
    }
    if (isChunk) {
      // only now: between two rows, the driver may have the beginning of a row
      this.#source?.forget()
      this.#push()
    } else this.#timer ??= setTimeout(() => this.#onTime(), DELAY)
  }

  #onTime (): void {
    this.#timer = undefined
    if (!this.#isPaused && !this.#isDiscarded && !this.#isTaking) this.#pass()
  }

  #pass (): void {
    if (this.#whole === 0) return
    this.#output.length = this.#whole
    this.#rows.endChunk(this.#output)
    this.#push()
  }

  /** Makes the database wait if the reader has not taken the previous rows. */
  #push (): void {
    const chunk = this.#output.take()
    this.#whole = 0
    this.bytes += chunk.length
    this.passed = this.count
    this.hasPassed = true
    if (this.readable.push(chunk) || this.#isDiscarded) return
    this.#isPaused = true
    this.#source?.pause()
  }

  #read (): void {
    if (this.#failure !== undefined) return this.#cutSoon()
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#whole > 0) this.#timer ??= setTimeout(() => this.#onTime(), DELAY)
    this.#source?.resume()
  }

  /** There are no more rows. A stream that has failed before does not look whole for that. */
  end (): void {
    if (this.readable.destroyed || this.#failure !== undefined) return
    if (this.count === 0) {
      this.#rows.writeHead(this.#output)
      this.#whole = this.#output.length
    }
    this.#finish()
    this.readable.push(null)
  }

  /** Ends the rows with an error, after passing the previous ones on. */
  fail (error: Error): void {
    if (this.readable.destroyed || this.#failure !== undefined) return
    this.#failure = error
    // nothing has been read, or all of it is read again
    if (this.count === 0) {
      this.readable.destroy(error)
      return
    }
    this.#source?.stop()
    this.#finish()
    this.onFailure()
    if (this.readable.readableLength === 0) this.#cutSoon()
  }

  /** When no more rows come. Rows that are left to be read then belong to the reader. */
  releaseMemory (): void {
    this.#memory.release()
  }

  drop (): void {
    this.readable.destroy()
  }

  #finish (): void {
    this.#isDiscarded = true
    this.#pass()
    this.#stopTimer()
    this.#output.drop()
  }

  /** Later, so that a reader that has asked for more gets the present rows first. */
  #cutSoon (): void {
    setImmediate(() => this.onCut(this.#failure as Error))
  }

  #stopTimer (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #close (): void {
    this.#isDiscarded = true
    this.#stopTimer()
    this.#output.drop()
    this.#memory.release()
    this.#source?.stop()
  }
}
