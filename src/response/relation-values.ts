/** The values by which rows are related to those of another table. */
import { StaleCatalog } from '../dialects/dialect.ts'
import { readLength, afterLength } from '../dialects/mysql/connection/packets.ts'
import type { ListMember } from '../plan/plan.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { NOT_TEXT, RELATED_TEXT, ValueRefused, type DriverValue, type Value } from '../types/column-type.ts'
import type { Column } from '../catalog/catalog.ts'
import { writeValue } from './encode-row.ts'

/** The value id if no row is related. */
export const UNRELATED = -1

/** Memory of different values of `on`, in bytes, about, without their texts. */
const VALUES_SIZE = 256
/** Memory of a character of the values, in bytes, at most: it is in the key and in the parameters. */
const CHARACTER_SIZE = 4

/** The number of digits that a double represents exactly. */
const SAFE_DIGITS = 15

/** Gives an id to each different value of `on` in some rows: 0, 1, 2, … */
export class RelationValues {
  readonly #on: ListMember['on']
  readonly #isNative: boolean
  readonly #ids = new Map<string, number>()
  /** The parameters for each id. */
  readonly values: Array<readonly Value[]> = []
  /** Memory of the values, in bytes, about. */
  size = 0

  /**
   * `isNative`: whether the driver's values are parameters themselves, as on SQLite, which compares columns and
   * parameters in the same way.
   */
  constructor ({ on }: ListMember, isNative: boolean) {
    this.#on = on
    this.#isNative = isNative
  }

  clear (): void {
    this.#ids.clear()
    this.values.length = 0
    this.size = 0
  }

  /**
   * The id of the values in these cells of a row. NULL, and a value that the other column cannot store, are not related
   * to any row. @throws UNREADABLE_VALUE
   */
  idOf (row: ReadonlyArray<DriverValue | null>, cells: readonly number[]): number {
    const values = cells.map((cell) => row[cell] as DriverValue | null)
    if (values.includes(null)) return UNRELATED
    const given = values as readonly DriverValue[]
    const invalid = given.indexOf(NOT_TEXT)
    if (invalid >= 0) writeValue((this.#on[invalid] as ListMember['on'][number]).column, NOT_TEXT)
    if (!this.#isNative) {
      return this.#idOfTexts(
        given.map((value, index) => writeValue((this.#on[index] as ListMember['on'][number]).column, value))
      )
    }
    const key = given.map(nativeKey).join()
    const found = this.#ids.get(key)
    if (found !== undefined) return found
    return this.#add(key, this.values.push(given as readonly Value[]) - 1)
  }

  #add (key: string, id: number): number {
    this.#ids.set(key, id)
    this.size += VALUES_SIZE + CHARACTER_SIZE * key.length
    return id
  }

  /**
   * The id of the values in a row of MySQL's text protocol, whose cells begin at the positions in `starts`. @throws
   * UNREADABLE_VALUE
   */
  idOfCells (bytes: Buffer, starts: Uint32Array, cells: readonly number[]): number {
    const texts: string[] = []
    for (let index = 0; index < cells.length; index++) {
      const at = starts[cells[index] as number] as number
      const length = readLength(bytes, at)
      if (length < 0) return UNRELATED
      const start = afterLength(bytes, at)
      texts.push(textOf((this.#on[index] as ListMember['on'][number]).column, bytes, start, start + length))
    }
    return this.#idOfTexts(texts)
  }

  /** `texts`: the values as JSON. */
  #idOfTexts (texts: readonly string[]): number {
    const key = texts.length === 1 ? texts[0] as string : texts.join()
    const found = this.#ids.get(key)
    if (found !== undefined) return found
    const parameters = this.#toParameters(texts)
    return this.#add(key, parameters === undefined ? UNRELATED : this.values.push(parameters) - 1)
  }

  /**
   * The id of the value in a row of the other table, if `on` is one pair of columns that are not texts. @throws
   * UNREADABLE_VALUE
   */
  getId (value: DriverValue): number {
    const [{ other }] = this.#on as [ListMember['on'][number]]
    return this.#find(writeValue(other, value))
  }

  /** The same for the bytes from `start` to `end`. @throws UNREADABLE_VALUE */
  getIdOfBytes (bytes: Buffer, start: number, end: number): number {
    const [{ other }] = this.#on as [ListMember['on'][number]]
    return this.#find(textOf(other, bytes, start, end))
  }

  #find (text: string): number {
    const id = this.#ids.get(text)
    // the column has another scale than the catalog knows, so that equal values have other texts
    if (id === undefined) throw new StaleCatalog()
    return id
  }

  #toParameters (texts: readonly string[]): Value[] | undefined {
    const parameters: Value[] = []
    for (const [index, text] of texts.entries()) {
      const { column, other } = this.#on[index] as ListMember['on'][number]
      if (column.type.relatedAs === RELATED_TEXT) {
        // as it is, because a collation may consider texts with more characters equal
        parameters.push(JSON.parse(text))
        continue
      }
      const value = isNumber(column, text) ? Number(text) : parseExactJson(text)
      // such as bytes that BINARY would fill up with zero bytes, with which they are not equal
      if (other.type.keeps?.(value) === false) return undefined
      const parameter = readIf(other, value)
      if (parameter === undefined) {
        // the column has been widened, and perhaps the other one too
        if (readIf(column, value) === undefined) throw new StaleCatalog()
        return undefined
      }
      parameters.push(parameter)
    }
    return parameters
  }
}

/** The parameter for a value; undefined if the column cannot store it, as far as the catalog knows. */
function readIf ({ type }: Column, value: unknown): Value | undefined {
  try {
    return type.read(value)
  } catch (error) {
    if (error instanceof ValueRefused) return undefined
    throw error
  }
}

/** Whether a text is an integer that needs no exact parser. */
const isNumber = ({ type }: Column, text: string): boolean => type.wholeNumbers === true && text.length <= SAFE_DIGITS

/** A value of MySQL's text protocol as JSON. */
function textOf (column: Column, bytes: Buffer, start: number, end: number): string {
  return column.type.wireFormat === 'plain'
    ? bytes.toString('latin1', start, end)
    : writeValue(column, bytes.subarray(start, end))
}

/** Returns different keys for different values; the same value may have several keys. */
function nativeKey (value: DriverValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' ? `x${Buffer.from(value).toString('hex')}` : String(value)
}
