/**
 * Finds texts of SQLite that are not valid in the encoding of their file. Node replaces invalid bytes of UTF-8 with U+FFFD,
 * and SQLite makes a character beyond U+FFFF of an invalid pair of UTF-16. Valid texts can contain these characters too, so
 * that only the stored bytes show the difference. They are read by the same statement, because nothing else finds a row of
 * any select again.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { TextDecoder } from 'node:util'
import { NOT_TEXT } from '../../types/column-type.ts'
import type { Row } from './protocol.ts'

/** An encoding as TextDecoder names it, and whether a text may stand for an invalid one. */
export interface Encoding { readonly name: string, readonly isSuspect: (text: string) => boolean }

const isPaired = (text: string): boolean => /[\ud800-\udfff\ufffd]/.test(text)
const ENCODINGS = new Map<string, Encoding>([
  ['UTF-8', { name: 'utf-8', isSuspect: (text) => text.includes('\ufffd') }],
  ['UTF-16le', { name: 'utf-16le', isSuspect: isPaired }],
  ['UTF-16be', { name: 'utf-16be', isSuspect: isPaired }]
])

export function encodingOf (database: DatabaseSync): Encoding {
  const { encoding } = database.prepare('pragma encoding').get() as { encoding: string }
  return ENCODINGS.get(encoding) as Encoding
}

/** A select, whose columns have names that the service has given them. */
interface Select { readonly sql: string, readonly parameters: readonly SQLInputValue[] }

/** Checks the texts in the rows of a select that is running. */
export class TextCheck {
  readonly #database: DatabaseSync
  readonly #encoding: Encoding
  readonly #select: Select
  /** The bytes of the rows, read in the snapshot of the select from the first suspect row on. */
  #bytes: Iterator<object> | undefined
  /** The number of rows of the select, and of those whose bytes have been read. */
  #count = 0
  #read = 0

  constructor (database: DatabaseSync, encoding: Encoding, select: Select) {
    this.#database = database
    this.#encoding = encoding
    this.#select = select
  }

  /** Returns the values of the next row, with NOT_TEXT in place of invalid texts. */
  check (row: object): Row {
    const values = Object.values(row) as Row
    this.#count++
    const isSuspect = (value: Row[number]): boolean => typeof value === 'string' && this.#encoding.isSuspect(value)
    if (!values.some(isSuspect)) return values
    const bytes = this.#bytesOf(row)
    return values.map((value, index) => isSuspect(value) && !this.#isValid(bytes[index] as Uint8Array) ? NOT_TEXT : value)
  }

  #bytesOf (row: object): unknown[] {
    this.#bytes ??= this.#readBytes(Object.keys(row))
    for (;;) {
      const { value } = this.#bytes.next()
      if (++this.#read === this.#count) return Object.values(value as object)
    }
  }

  #readBytes (names: readonly string[]): Iterator<object> {
    const { sql, parameters } = this.#select
    const columns = names.map((name) => `cast(${name} as blob) as ${name}`)
    return this.#database.prepare(`select ${columns.join()} from (${sql})`).iterate(...parameters)
  }

  #isValid (bytes: Uint8Array): boolean {
    try {
      new TextDecoder(this.#encoding.name, { fatal: true }).decode(bytes)
      return true
    } catch {
      return false
    }
  }

  end (): void {
    this.#bytes?.return?.()
  }
}
