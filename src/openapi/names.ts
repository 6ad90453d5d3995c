/** Creates names of schemas and operations that are valid identifiers in the languages of generated clients. */
import { createHash } from 'node:crypto'
import { toTag } from '../http/entity-tag.ts'
import type { LongWork } from '../in-pieces.ts'
import type { Schema } from './value-schema.ts'

/** Joins the words of a text in Pascal case: `order_items` -> `OrderItems`, `2024 täglich` -> `2024Taglich`. */
export function joinWords (text: string): string {
  const words = text.normalize('NFKD').replace(/\p{M}/gu, '')
    .replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .match(/[A-Za-z\d]+/g) ?? []
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('')
}

/** Returns the text in Pascal case, beginning with a letter: `2024_logs` -> `Table2024Logs`. */
export function pascalCase (text: string): string {
  const name = joinWords(text)
  return /^[A-Z]/.test(name) ? name : 'Table' + name
}

export interface Names {
  /** Reserves a name with each of the endings and returns it; adds a number if the name is in use. */
  take (name: string, endings?: readonly string[]): string
}

/** The names of one document. They are case-insensitive, because some generators write one file for each name. */
export function createNames (taken: readonly string[]): Names {
  const used = new Set(taken.map((name) => name.toLowerCase()))
  // the last number of each name, because hundreds of tables with names without Latin letters would get the same name
  const numbers = new Map<string, number>()
  return {
    take (name, endings = ['']) {
      for (let number = numbers.get(name) ?? 1; ; number++) {
        const candidate = number === 1 ? name : `${name}${number}`
        const all = endings.map((ending) => (candidate + ending).toLowerCase())
        if (all.some((each) => used.has(each))) continue
        for (const each of all) used.add(each)
        numbers.set(name, number)
        return candidate
      }
    }
  }
}

// Serializes documents piece by piece, so that a large document does not block the event loop, and compares entity
// tags.

export interface DocumentText {
  readonly bytes: Buffer
  readonly etag: string
}

/** The members of an object, as pieces of JSON text. */
export class Members {
  readonly #pieces: Buffer[] = []
  #bytes = 0

  /** The size of the text, in bytes. */
  get bytes (): number {
    return this.#bytes
  }

  get pieces (): readonly Buffer[] {
    return this.#pieces
  }

  /** Returns the size of the added text, in bytes. */
  add (members: Schema): number {
    return this.#write(JSON.stringify(members).slice(1, -1))
  }

  /** Adds a member that is an object. */
  addObject (key: string, { pieces }: Members): void {
    this.#write(`${JSON.stringify(key)}:{`)
    for (const piece of pieces) this.#push(piece)
    this.#push(Buffer.from('}'))
  }

  #write (text: string): number {
    if (text === '') return 0
    const piece = Buffer.from(this.#pieces.length === 0 ? text : `,${text}`)
    this.#push(piece)
    return piece.length
  }

  #push (piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }
}

/** Writes the document that has these members. */
export function * writeDocument ({ pieces, bytes: length }: Members): LongWork<DocumentText> {
  const bytes = Buffer.allocUnsafeSlow(length + FRAME.length)
  const hash = createHash('sha256')
  let at = 0
  for (const piece of [FRAME.subarray(0, 1), ...pieces, FRAME.subarray(1)]) {
    at += piece.copy(bytes, at)
    hash.update(piece)
    yield piece.length
  }
  return { bytes, etag: toTag(hash) }
}

const FRAME = Buffer.from('{}\n')
