import type { Column } from '../catalog/catalog.ts'
import { parseExactJson } from '../request/exact-json.ts'
import type { Parameter } from '../types/column-type.ts'

/** The value that a column gets where an insert leaves it out; undefined if only the database knows it. */
export function knownDefault ({ type, defaultText, defaultComputed, generated, autoIncrement }: Column): Parameter | undefined {
  if (generated || autoIncrement || defaultComputed === true) return undefined
  if (defaultText === null) return null
  for (const parse of [(text: string): unknown => text, parseExactJson]) {
    try {
      return type.read(parse(defaultText))
    } catch { /* a default that is no value of the type */ }
  }
  return undefined
}
