/** The media types of imports and the options in their query string, as all documents describe them. */
import { type ImportFormat, OPTIONS } from '../imports/import-options.ts'
import { mediaTypeOf } from '../http/stream.ts'
import type { Schema } from './value-schema.ts'

const BODIES: Readonly<Record<ImportFormat, string>> = {
  ndjson:
    'Inserts any number of rows: each line is a row as a JSON object. The options are in the query string, and the ' +
    'answer has no `id`.',
  csv: 'The same with rows of CSV (RFC 4180) after a line of names.'
}

/** The bodies of imports, by media type. */
export const importBodies: Readonly<Record<string, Schema>> = Object.fromEntries(
  (Object.keys(BODIES) as ImportFormat[]).map((format) => [
    mediaTypeOf(format),
    { schema: { type: 'string', description: BODIES[format] } }
  ])
)

/** Names the media types where bodies are not described. */
export const IMPORTS =
  `Any number of rows may also be sent as ${Object.keys(importBodies).map((type) => `\`${type}\``).join(' or ')}, ` +
  'with options in the query string.'

const SCHEMAS: Readonly<Record<(typeof OPTIONS)['csv'][number], Schema>> = {
  onConflict: { type: 'string', description: 'Columns of a unique key, separated by commas; rows that exist change.' },
  set: { type: 'string', description: 'Columns that are then updated; all others than the key if omitted.' },
  dryRun: { type: 'string', enum: ['true'], description: 'Nothing is changed.' },
  transaction: { type: 'string', enum: ['whole', 'batch'], description: 'One transaction, or one for each batch.' },
  separator: { type: 'string', enum: [',', ';', 'tab'], description: 'Between the cells of CSV.' }
}

/** The options as parameters of an operation. */
export const importParameters: readonly Schema[] =
  Object.entries(SCHEMAS).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description: `Imports only. ${description}`,
    schema
  }))
