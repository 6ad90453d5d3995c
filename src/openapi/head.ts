/** What both documents begin with. */
import { OPENAPI } from './operation.ts'
import type { Schema } from './schema.ts'

/** Of the interface, which all databases share; not of the program. */
const VERSION = '1.0.0'

const DESCRIPTION = `Reads and changes rows of tables through one operation for each table; \`verb\` in the body says which of the four verbs it is.

A row has the columns that were asked for, all of them where \`columns\` was left out. Its schema is the same either way, so that every property may be left out.

Whole numbers of 64 bits and decimals are exact: the former in the text of the answer, the latter as strings. See the schema of each column.`

/** `prefix`: where the service is on its host. */
export function createHead (title: string, prefix: string): Schema {
  return {
    openapi: OPENAPI,
    info: {
      title,
      version: VERSION,
      description: DESCRIPTION,
      // who describes tables with this program does not license them by it
      license: { name: 'Not stated', identifier: 'LicenseRef-not-stated' }
    },
    servers: [{ url: prefix === '' ? '/' : prefix }],
    security: [{ token: [] }]
  }
}

/** The parts of `components` that every operation needs. */
export const securitySchemes: Schema = {
  token: { type: 'http', scheme: 'bearer', description: 'A token of the service: `Authorization: Bearer <token>`.' }
}
