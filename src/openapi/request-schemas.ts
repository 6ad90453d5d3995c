/** The request and response schemas of one table: those of the interface, with the schemas of its columns. */
import { ANSWERS } from '../../schemas/answer.ts'
import { BODIES } from '../../schemas/body.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import type { Verb } from '../../schemas/grant.ts'
import { pascalCase } from './names.ts'
import { anyOf, closedObject, orNull, plainText, refTo, type Schema, type Schemas } from './schema.ts'
import { bare, shownSchema } from './value-schema.ts'

export function requestName (name: string, verb: Verb): string {
  return `${name}${pascalCase(verb)}Request`
}

/** Name of a response schema; all tables share those of update and delete. */
export function answerName (name: string, verb: Verb): string {
  return `${verb === 'select' || verb === 'insert' ? name : ''}${pascalCase(verb)}Response`
}

/** The unions of requests and of responses, as named schemas: client generators need not invent names. */
export function unions (name: string, verbs: readonly Verb[]): Schemas {
  const mapping = Object.fromEntries(verbs.map((verb) => [verb, refTo(requestName(name, verb))['$ref']]))
  return {
    [`${name}Request`]: { oneOf: verbs.map((verb) => refTo(requestName(name, verb))), discriminator: { propertyName: 'verb', mapping } },
    [`${name}Response`]: anyOf(verbs.map((verb) => refTo(answerName(name, verb))))
  }
}

/** The request schema of the interface with the columns of this table. */
export function requestSchema (name: string, verb: Verb): Schema {
  const { properties, required } = BODIES[verb]
  const own: Record<string, Schema> = {
    verb: { type: 'string', enum: [verb] },
    data: refTo(`${name}${pascalCase(verb)}`),
    filters: refTo(`${name}Filters`),
    ...('columns' in properties && { columns: { ...bare(properties.columns), items: refTo(`${name}Column`), description: properties.columns.description } })
  }
  return closedObject(Object.entries(properties).map(([field, schema]) => [field, own[field] ?? withoutDefault(schema)]), { required })
}

/** Replaces `default` by `x-default`, for the same reason as in insertSchema (table-schemas.ts). */
export function withoutDefault ({ default: fallback, ...schema }: Schema): Schema {
  return fallback === undefined ? schema : { ...schema, 'x-default': fallback }
}

export function selectAnswer (name: string): Schema {
  const { data, ...rest } = ANSWERS.select.properties
  return { ...ANSWERS.select, properties: { ...rest, data: { ...data, properties: { ...data.properties, rows: { type: 'array', items: refTo(`${name}Row`) } } } } }
}

/** `type: null` alone would make OpenAPI Generator refer to a type that does not exist. */
const NO_ID = orNull({ type: 'integer', description: 'Always null: no single column identifies a row.' })

/** The response to an insert: `id` has the schema of the column that identifies a row, or is null. */
export function insertAnswer ({ identity, engine, triggers: { list } }: Table): Schema {
  const { data, ...rest } = ANSWERS.insert.properties
  // a trigger of SQLite can skip the row or change its id (src/response/summary.ts)
  const isKnown = identity?.autoIncrement === true && (engine !== 'sqlite' || list.every(({ event }) => event !== 'insert'))
  const id = identity === undefined ? NO_ID : idSchema(identity, isKnown)
  return { ...ANSWERS.insert, properties: { ...rest, data: { ...data, properties: { ...data.properties, id } } } }
}

function idSchema (identity: Column, isKnown: boolean): Schema {
  const { 'x-sql-type': declaration, description, ...schema } = shownSchema(identity)
  const shown = isKnown ? schema : orNull(schema)
  return { ...shown, description: plainText(`The value of "${identity.name}" in the new row.`) }
}
