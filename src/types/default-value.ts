import type { ColumnType, Value } from './column-type.ts'

/** Reads the text of a default in the catalog as a value of the type; undefined if the text does not show the value. */
export function readDefault ({ read, defaultOf = (text) => text }: ColumnType, text: string): Value | undefined {
  try {
    const value = defaultOf(text)
    return value === undefined ? undefined : read(value)
  } catch {
    return undefined // the type does not accept it
  }
}
