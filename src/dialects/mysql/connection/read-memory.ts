/**
 * The memory that the answers on a connection are read into, reused for each answer. Node would allocate 64 KB for each read and leave it
 * to the garbage collector, so that the memory is seldom in the processor's cache.
 *
 * While an answer arrives, only what came before the last read is overwritten, and only where its reader says so (`advance`): mysql2 keeps the
 * beginning of a packet until its end has arrived.
 */
import { connect, type Socket } from 'node:net'
import { KEEP_ALIVE, type Host } from '../options.ts'

/** The maximum size of one read, in bytes. */
const BLOCK = 65_536
/** A block with less room is full: smaller reads would take more system calls. */
const LEAST = 16_384
/** Blocks that are kept. Where more are needed at a time, the others are left to the garbage collector. */
const MAX_KEPT = 4

export class ReadMemory {
  readonly #kept: Buffer[] = []
  #block: Buffer = Buffer.alloc(0)
  /** The index of the block in the answer, and that of the first one that is still needed. */
  #number = -1
  #oldest = 0
  #used = 0
  #isFree = true

  /** Allows to overwrite everything that was read. */
  free (): void {
    this.#isFree = true
  }

  /** Allows to overwrite what was read before the last read: everything in it has been copied, and the beginning of an unfinished packet is in the last one. */
  advance (): void {
    this.#oldest = this.#number
  }

  /** Creates a socket for mysql2 that reads into this memory, and emits `data` like any other. */
  connect (host: Host): Socket {
    const callback = (length: number, bytes: Uint8Array): boolean => {
      // before `data` is emitted: its listener frees the memory at the end of the answer
      this.#isFree = false
      this.#used += length
      socket.emit('data', bytes.subarray(0, length))
      return true
    }
    const socket = connect({ ...host, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE, onread: { buffer: () => this.#next(), callback } })
    return socket
  }

  /** Returns the memory for the next read. */
  #next (): Buffer {
    if (this.#isFree) {
      this.#oldest = 0
      this.#begin(0)
    } else if (BLOCK - this.#used < LEAST) this.#begin(this.#number + 1)
    return this.#used === 0 ? this.#block : this.#block.subarray(this.#used)
  }

  #begin (number: number): void {
    const place = number % MAX_KEPT
    const isKept = number - this.#oldest < MAX_KEPT
    this.#block = isKept ? this.#kept[place] ??= Buffer.allocUnsafeSlow(BLOCK) : Buffer.allocUnsafeSlow(BLOCK)
    this.#number = number
    this.#used = 0
    this.#isFree = false
  }
}
