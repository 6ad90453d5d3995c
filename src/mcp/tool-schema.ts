/** Derives the JSON Schemas of the tools from those of requests. */
import type { TObject } from '@sinclair/typebox'
import type { Schema } from '../openapi/schema.ts'

export interface ToolSchemaOptions {
  /** The databases that the caller sees. */
  readonly databases: readonly string[]
  /** The default limit of a select. */
  readonly limit: number
}

/** The arguments of a tool: `database`, `table`, and the fields of the body except `verb`. */
export function toolSchema ({ properties, required = [] }: TObject, { databases, limit }: ToolSchemaOptions): Schema {
  const { verb, ...fields } = properties as Record<string, Schema>
  const own = Object.entries(fields).map(([name, schema]) => [name, name === 'limit' ? withLimit(schema, limit) : simplify(schema)])
  return {
    type: 'object',
    properties: {
      database: { type: 'string', enum: databases },
      table: { type: 'string', description: 'A table or view of the database.' },
      ...Object.fromEntries(own)
    },
    required: ['database', 'table', ...required.filter((name) => name !== 'verb')],
    additionalProperties: false
  }
}

const withLimit = (schema: Schema, limit: number): Schema => ({ ...schema, default: limit, description: `Rows to return at most; ${limit} if left out.` })

/**
 * Lists names of properties that begin with `$` as `propertyNames`, because the APIs of some models refuse tools whose schemas have properties with
 * characters other than letters, digits, `_`, `.` and `-`.
 */
function simplify (schema: Schema): Schema {
  const { properties, patternProperties, anyOf, items, additionalProperties, ...rest } = schema as Schema & Record<'properties' | 'patternProperties', Readonly<Record<string, Schema>> | undefined> & { anyOf?: Schema[] }
  const names = Object.keys(properties ?? {})
  const isPlain = names.every((name) => /^[\w.-]{1,64}$/.test(name))
  const [[pattern, values] = []] = Object.entries(patternProperties ?? {})
  return {
    ...rest,
    ...properties !== undefined && (isPlain ? { properties: mapValues(properties, simplify) } : { propertyNames: { enum: names } }),
    ...values !== undefined && { additionalProperties: simplify(values), ...pattern !== '^(.*)$' && { propertyNames: { pattern } } },
    ...anyOf !== undefined && { anyOf: anyOf.map(simplify) },
    ...items !== undefined && { items: simplify(items as Schema) },
    ...typeof additionalProperties === 'object' ? { additionalProperties: simplify(additionalProperties as Schema) } : additionalProperties === false && isPlain && values === undefined && { additionalProperties }
  }
}

const mapValues = <T, R>(record: Readonly<Record<string, T>>, convert: (value: T) => R): Record<string, R> => Object.fromEntries(Object.entries(record).map(([key, value]) => [key, convert(value)]))
