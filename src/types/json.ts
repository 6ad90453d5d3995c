import { Type } from '@sinclair/typebox'
import { createType, textOf, ValueRefused, type ColumnType, type Wrapping } from './column-type.ts'

/** How deep MySQL lets JSON nest (manual, "The JSON Data Type"). */
const MAX_DEPTH = 100

/** JSON text of any JSON value, numbers as they came. @throws ValueRefused where the database could not keep it */
export function readJson (value: unknown): string {
  check(value, 0)
  return JSON.stringify(value)
}

function check (value: unknown, depth: number): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw new ValueRefused('holds text that is not valid Unicode')
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return
  if (depth >= MAX_DEPTH) throw new ValueRefused(`nests deeper than ${MAX_DEPTH} levels`)
  for (const [key, item] of Object.entries(value)) {
    check(key, depth)
    check(item, depth + 1)
  }
}

interface JsonSql { stored?: Wrapping, compared: Wrapping, comparedColumn?: Wrapping }

/** JSON: the value itself going out, any JSON value coming in. How it is compared depends on the engine. */
export function jsonType (sql: JsonSql): ColumnType {
  return createType({
    schema: Type.Unknown(),
    read: readJson,
    write: textOf,
    comparison: 'equality',
    structured: true,
    ownNull: 'null',
    ...sql
  })
}
