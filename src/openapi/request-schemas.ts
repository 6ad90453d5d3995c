/** The requests and answers of one table: those of the interface with the schemas of its columns in them. */
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

/** The answers to update and delete are the same for every table. */
export function answerName (name: string, verb: Verb): string {
  return `${verb === 'select' || verb === 'insert' ? name : ''}${pascalCase(verb)}Response`
}

/** What the operation takes and answers, as schemas of the document: so named, clients need not make up names for unions. */
export function unions (name: string, verbs: readonly Verb[]): Schemas {
  const mapping = Object.fromEntries(verbs.map((verb) => [verb, refTo(requestName(name, verb))['$ref']]))
  return {
    [`${name}Request`]: { oneOf: verbs.map((verb) => refTo(requestName(name, verb))), discriminator: { propertyName: 'verb', mapping } },
    [`${name}Response`]: anyOf(verbs.map((verb) => refTo(answerName(name, verb))))
  }
}

/** The request object of the interface with the columns of this table in it. */
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

/** For the reason that columns have none. */
export function withoutDefault ({ default: fallback, ...schema }: Schema): Schema {
  return fallback === undefined ? schema : { ...schema, 'x-default': fallback }
}

export function selectAnswer (name: string): Schema {
  const { data, ...rest } = ANSWERS.select.properties
  return { ...ANSWERS.select, properties: { ...rest, data: { ...data, properties: { ...data.properties, rows: { type: 'array', items: refTo(`${name}Row`) } } } } }
}

/** OpenAPI Generator makes a type that is not there of null alone. */
const NO_ID = orNull({ type: 'integer', description: 'Always null: no single column identifies a row.' })

/** `id` is of the column that identifies a row, or null. */
export function insertAnswer ({ identity, engine, triggers: { list } }: Table): Schema {
  const { data, ...rest } = ANSWERS.insert.properties
  // a trigger of SQLite may leave the row out or change its number (src/response/summary.ts)
  const isKnown = identity?.autoIncrement === true && (engine !== 'sqlite' || list.every(({ event }) => event !== 'insert'))
  const id = identity === undefined ? NO_ID : idSchema(identity, isKnown)
  return { ...ANSWERS.insert, properties: { ...rest, data: { ...data, properties: { ...data.properties, id } } } }
}

function idSchema (identity: Column, isKnown: boolean): Schema {
  const { 'x-sql-type': declaration, description, ...schema } = shownSchema(identity)
  const shown = isKnown ? schema : orNull(schema)
  return { ...shown, description: plainText(`The value of "${identity.name}" in the new row.`) }
}
