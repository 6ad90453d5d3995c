import type { Column } from '../catalog/catalog.ts'
import { parseExactJson } from '../request/exact-json.ts'
import type { Parameter, Value } from '../types/column-type.ts'

/** The value that a column gets where an insert leaves it out; undefined if only the database knows it. */
export function knownDefault (column: Column): Parameter | undefined {
  if (column.generated || column.autoIncrement || column.defaultComputed === true) return undefined
  return column.defaultText === null ? null : readDefault(column)
}

/** The default as a value of the column's type, from a text or from JSON; undefined if it is none. */
export function readDefault ({ type, defaultText }: Column): Value | undefined {
  if (defaultText === null) return undefined
  for (const parse of [(text: string): unknown => text, parseExactJson]) {
    try {
      return type.read(parse(defaultText))
    } catch {} // the type does not accept it in this form
  }
  return undefined
}
