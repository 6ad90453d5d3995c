/** The JSON Schema of the configuration file, for editors. */
import type { TSchema } from '@sinclair/typebox'
import { ConfigSchema } from '../schemas/options.ts'

/** A text that a file or a variable completes, whatever the form of the setting. */
const REFERENCE = '\\$\\{'

export function createConfigSchema (): object {
  const { properties, ...schema } = withReferences(ConfigSchema)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Configuration of row-query',
    ...schema,
    properties: { $schema: { type: 'string', description: 'the path of this schema' }, ...properties }
  }
}

/** The service checks the form of a text after it has replaced references in it. */
function withReferences (schema: TSchema): TSchema {
  const { pattern } = schema
  return {
    ...Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, replaceIn(value)])),
    ...typeof pattern === 'string' && { pattern: `${pattern}|${REFERENCE}` }
  } as TSchema
}

const replaceIn = (value: unknown): unknown => Array.isArray(value) ? value.map(replaceIn) : typeof value === 'object' && value !== null ? withReferences(value as TSchema) : value
