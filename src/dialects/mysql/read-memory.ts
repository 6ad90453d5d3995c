import { connect, type Socket } from 'node:net'
import { KEEP_ALIVE, type Host } from './session-settings.ts'

/** The maximum size of one read, in bytes. */
const BLOCK = 65_536
/** The minimum free space for a read, in bytes: smaller reads would take more system calls. */
const MIN_READ = 16_384
/** The number of cached blocks. If more are needed at a time, the others are left to the garbage collector. */
const MAX_CACHED = 4

/**
 * The memory into which the replies on a connection are read, reused for each reply. Node would allocate 64 KB for
 * each read and leave it to the garbage collector, so that the memory would seldom be in the processor's cache.
 *
 * While a reply arrives, only data before the last read is overwritten, and only if the reader allows it (`advance`),
 * because mysql2 keeps the beginning of a packet until its end has arrived.
 */
export class ReadMemory {
  readonly #cached: Buffer[] = []
  #block: Buffer = Buffer.alloc(0)
  /** The indexes in the reply of the current block, of that of the last read, and of the first one still needed. */
  #number = -1
  #lastRead = 0
  #oldest = 0
  #used = 0
  #isFree = true

  /** Allows overwriting everything that was read. */
  free (): void {
    this.#isFree = true
  }

  /**
   * Allows overwriting everything before the last read, which contains the beginning of an unfinished packet. Its block
   * is not the current one if rows have waited, because Node asks for the memory of the next read at once.
   */
  advance (): void {
    this.#oldest = this.#lastRead
  }

  /** Creates a socket for mysql2 that reads into this memory, and emits `data` like any other. */
  connect (host: Host): Socket {
    const callback = (length: number, bytes: Uint8Array): boolean => {
      // before `data` is emitted, because its listener frees the memory at the end of the reply
      this.#isFree = false
      this.#lastRead = this.#number
      this.#used += length
      socket.emit('data', bytes.subarray(0, length))
      return true
    }
    const socket = connect({
      ...host,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE,
      onread: { buffer: () => this.#next(), callback }
    })
    return socket
  }

  /** Returns the memory for the next read. */
  #next (): Buffer {
    if (this.#isFree) {
      this.#oldest = 0
      this.#begin(0)
    } else if (BLOCK - this.#used < MIN_READ) this.#begin(this.#number + 1)
    return this.#used === 0 ? this.#block : this.#block.subarray(this.#used)
  }

  #begin (number: number): void {
    const index = number % MAX_CACHED
    const isCached = number - this.#oldest < MAX_CACHED
    this.#block = isCached ? this.#cached[index] ??= Buffer.allocUnsafeSlow(BLOCK) : Buffer.allocUnsafeSlow(BLOCK)
    this.#number = number
    this.#used = 0
    this.#isFree = false
  }
}
