import type { Column } from '../catalog/catalog.ts'
import type { Parameter } from '../types/column-type.ts'
import { readDefault } from '../types/default-value.ts'

/** The value that a column gets if an insert omits it; undefined if only the database knows it exactly. */
export function knownDefault ({ type, defaultText, ...column }: Column): Parameter | undefined {
  if (column.generated || column.autoIncrement || column.defaultComputed === true) return undefined
  if (defaultText === null) return null
  return type.roundsDefaults === true ? undefined : readDefault(type, defaultText)
}
