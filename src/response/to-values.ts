/** An answer as values for a program: numbers that a double does not hold are not left to be rounded. */
import type { Column, Table } from '../catalog/catalog.ts'
import type { RawNumber } from '../exact-json.ts'

interface Data { rows?: Array<Record<string, unknown>> }

/**
 * Whole numbers beyond what a double holds exactly become bigints where the column has whole numbers or JSON; every other
 * number becomes the nearest double, which is what a FLOAT or DOUBLE holds.
 */
export function toValues (data: Data, { columns }: Table): unknown {
  for (const row of data.rows ?? []) {
    for (const [name, value] of Object.entries(row)) settle(row, name, value, isExact(columns.get(name)))
  }
  for (const [name, value] of Object.entries(data)) if (name !== 'rows') settle(data, name, value, true)
  return data
}

function isExact (column: Column | undefined): boolean {
  return column?.type.wholeNumbers !== undefined || column?.type.structured === true
}

/** Puts the value of a number that was kept as text in its place, however deep in a value of JSON. */
function settle (holder: object, key: string, value: unknown, isExact: boolean): void {
  // not by assignment: a key may be `__proto__`
  if (JSON.isRawJSON(value)) Object.defineProperty(holder, key, { value: toNumber(value, isExact), writable: true, enumerable: true, configurable: true })
  else if (typeof value === 'object' && value !== null) for (const [name, item] of Object.entries(value)) settle(value, name, item, isExact)
}

function toNumber ({ rawJSON }: RawNumber, isExact: boolean): number | bigint {
  return isExact && /^-?\d+$/.test(rawJSON) && !Number.isSafeInteger(Number(rawJSON)) ? BigInt(rawJSON) : Number(rawJSON)
}
