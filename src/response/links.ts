/** The values by which rows are related to those of another table. */
import type { ListMember } from '../plan/plan.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { RELATED_TEXT, ValueRefused, type DriverValue, type Value } from '../types/column-type.ts'
import { writeValue } from './encode-row.ts'

/** No row is related. */
export const UNRELATED = -1

/** The different values of `on` in some rows, numbered. */
export class Links {
  readonly #on: ListMember['on']
  readonly #isNative: boolean
  readonly #places = new Map<string, number>()
  /** The parameters for each number. */
  readonly values: Array<readonly Value[]> = []

  /** `isNative`: whether the values of the driver are parameters themselves, as on SQLite, which compares columns and parameters alike. */
  constructor ({ on }: ListMember, isNative: boolean) {
    this.#on = on
    this.#isNative = isNative
  }

  clear (): void {
    this.#places.clear()
    this.values.length = 0
  }

  /** The number of the values. NULL, and a value that the other column cannot hold, relate to nothing. @throws UNREADABLE_VALUE */
  placeOf (values: ReadonlyArray<DriverValue | null>): number {
    if (values.includes(null)) return UNRELATED
    const given = values as readonly DriverValue[]
    const key = this.#isNative ? given.map(nativeKey).join() : given.map((value, index) => writeValue((this.#on[index] as ListMember['on'][number]).column, value)).join()
    const found = this.#places.get(key)
    if (found !== undefined) return found
    const parameters = this.#isNative ? given as readonly Value[] : this.#toParameters(given)
    const place = parameters === undefined ? UNRELATED : this.values.push(parameters) - 1
    this.#places.set(key, place)
    return place
  }

  /** The number of the value that a row of the other table has, where `on` is one pair of columns that are no texts. @throws UNREADABLE_VALUE */
  findPlace (value: DriverValue): number {
    const [{ other }] = this.#on as [ListMember['on'][number]]
    const place = this.#places.get(writeValue(other, value))
    if (place === undefined) throw new Error('the database relates other values than the service')
    return place
  }

  #toParameters (values: readonly DriverValue[]): Value[] | undefined {
    const parameters: Value[] = []
    for (const [index, value] of values.entries()) {
      const { column, other } = this.#on[index] as ListMember['on'][number]
      try {
        // a collation may find texts equal that have more characters
        parameters.push(column.type.relatedAs === RELATED_TEXT ? String(value) : other.type.read(parseExactJson(writeValue(column, value))))
      } catch (error) {
        if (error instanceof ValueRefused) return undefined
        throw error
      }
    }
    return parameters
  }
}

/** Different for different values; the same value may have several. */
function nativeKey (value: DriverValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' ? `x${Buffer.from(value).toString('hex')}` : String(value)
}
