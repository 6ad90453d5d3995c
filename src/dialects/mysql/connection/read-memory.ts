/**
 * Memory that the answers on a connection are read into, used again for each answer. Node would allocate 64 KB for each read and leave it
 * to the garbage collector; the processor then seldom has at hand what is written to next.
 *
 * While an answer is coming in nothing of it is written over, as mysql2 keeps the beginning of a packet until its end has come.
 */
import { connect, type Socket } from 'node:net'
import { KEEP_ALIVE, type Host } from '../options.ts'

/** What one read can bring at most, in bytes. */
const BLOCK = 65_536
/** A block with less room than this is full: reading less at a time would take more calls to the system. */
const LEAST = 16_384
/** Blocks that are kept for the next answer. Those of longer answers are left to the garbage collector. */
const MAX_KEPT = 4

export class ReadMemory {
  readonly #kept: Buffer[] = []
  #block: Buffer = Buffer.alloc(0)
  /** Which block of the answer it is. */
  #number = -1
  #used = 0
  #isFree = true

  /** Nothing of what was read is needed any more. */
  free (): void {
    this.#isFree = true
  }

  /** A connection for mysql2 that reads into this memory, and brings what it has read as any other does. */
  connect (host: Host): Socket {
    const callback = (length: number, bytes: Uint8Array): boolean => {
      // before anybody is told: who has seen the end of the answer frees the memory
      this.#isFree = false
      this.#used += length
      socket.emit('data', bytes.subarray(0, length))
      return true
    }
    const socket = connect({ ...host, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE, onread: { buffer: () => this.#next(), callback } })
    return socket
  }

  /** Where the next bytes go. */
  #next (): Buffer {
    if (this.#isFree) this.#begin(0)
    else if (BLOCK - this.#used < LEAST) this.#begin(this.#number + 1)
    return this.#used === 0 ? this.#block : this.#block.subarray(this.#used)
  }

  #begin (number: number): void {
    this.#block = this.#kept[number] ?? Buffer.allocUnsafeSlow(BLOCK)
    if (number < MAX_KEPT) this.#kept[number] = this.#block
    this.#number = number
    this.#used = 0
    this.#isFree = false
  }
}
