/** The request and response schemas of one table: those of the interface, with the schemas of its columns. */
import { ANSWERS } from '../../schemas/answer.ts'
import { BODIES } from '../../schemas/body.ts'
import type { Verb } from '../../schemas/grant.ts'
import { mayUse } from '../access/authorize.ts'
import type { Table } from '../catalog/catalog.ts'
import { findPageKey, isPlaced } from '../plan/page.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import type { Subject } from './document-settings.ts'
import { groupFields } from './group-schemas.ts'
import { pascalCase } from './names.ts'
import { includeField, includeRules } from './member-schemas.ts'
import { hasConflicts, insertData, insertRules, onConflictName } from './insert-schemas.ts'
import { orderSchema, selectRules, sortable } from './select-schemas.ts'
import { anyOf, closedObject, orNull, plainText, refTo, unionByVerb, type Schema, type Schemas } from './schema.ts'
import { bare, shownSchema, withoutDefault } from './value-schema.ts'
import { expectSchema, returningSchema } from './write-schemas.ts'

export function requestName (name: string, verb: Verb): string {
  return `${name}${pascalCase(verb)}Request`
}

/** Name of a response schema. */
export function answerName (name: string, verb: Verb): string {
  return `${name}${pascalCase(verb)}Response`
}

/** The unions of requests and of responses, as named schemas, so that client generators need not invent names. `more`: names of other responses. */
export function unions (name: string, verbs: readonly Verb[], more: readonly string[] = []): Schemas {
  return {
    [`${name}Request`]: unionByVerb(verbs, (verb) => requestName(name, verb)),
    [`${name}Response`]: anyOf([...verbs.map((verb) => answerName(name, verb)), ...more].map(refTo))
  }
}

/** The request schema of the interface with the columns of this table. */
export function requestSchema (subject: Subject, verb: Verb): Schema {
  const { name, table, verbs, limits, members } = subject
  const { properties, required } = BODIES[verb]
  const own: Record<string, Schema> = {
    verb: { type: 'string', enum: [verb] },
    data: verb === 'insert' ? insertData(name, BODIES.insert.properties.data) : refTo(`${name}${pascalCase(verb)}`),
    filters: verb === 'select' ? refTo(`${name}Filters`) : { ...refTo(`${name}Filters`), minProperties: 1 },
    ...('columns' in properties && { columns: { ...bare(properties.columns), items: refTo(`${name}Column`), description: properties.columns.description } }),
    ...('include' in properties && { include: includeField(properties.include) }),
    ...('groupBy' in properties && groupFields(name, table, properties)),
    ...('orderBy' in properties && { orderBy: orderSchema(table, properties.orderBy, members !== undefined), offset: { ...properties.offset, maximum: limits.offset } }),
    ...('after' in properties && { after: { anyOf: [refTo(positionName(name)), { type: 'null' }], description: properties.after.description } }),
    ...('onConflict' in properties && { onConflict: refTo(onConflictName(name)) }),
    ...('returning' in properties && { returning: returningSchema(name, properties.returning) })
  }
  const fields = Object.entries(properties).filter(([field]) => mayUse(field, verb, verbs) && isPossible(field, verb, subject)).map(([field, schema]): [string, Schema] => [field, own[field] ?? inDocument(field, schema, verb)])
  return closedObject(fields, { required, ...verb === 'insert' && insertRules(table), ...verb === 'select' && selectRules(table, members && includeRules(subject, members)) })
}

/** Whether a table can have a field: positions, conflicts and returned updates need a unique key, and some types cannot be grouped. */
function isPossible (field: string, verb: Verb, { table, members }: Subject): boolean {
  if (field === 'include') return members !== undefined
  if (field === 'onConflict') return hasConflicts(table)
  if (field === 'after') return hasPositions(table)
  if (field === 'groupBy') return sortable(table).length > 0
  return field !== 'returning' || verb !== 'update' || rowKeysOf(table).length > 0
}

export const positionName = (name: string): string => `${name}Position`

/** Whether the rows of a table can be paged through by position. */
export const hasPositions = (table: Table): boolean => findPageKey(table) !== undefined

/** A position: values of the columns of the order, which always include the key. */
export function positionSchema (table: Table): Schema {
  const sorting = [...table.columns.values()].filter((column) => column.type.sortable && isPlaced(column))
  return closedObject(sorting.map((column) => [column.name, bare(shownSchema(column))]), { required: findPageKey(table)?.map((column) => column.name), description: 'A position between two rows: a value for each column of the order, the key among them.' })
}

/** The schema of a field of the interface in documents. */
export function inDocument (field: string, schema: Schema, verb: Verb): Schema {
  if (field === 'filters' && verb !== 'select') return { ...schema, minProperties: 1 }
  if (field === 'expect') return expectSchema(schema)
  return field === 'total' ? { anyOf: [{ type: 'boolean', enum: [true] }, { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }], description: schema['description'] } : withoutDefault(schema)
}

export function selectAnswer (name: string, table: Table): Schema {
  const { data, ...rest } = ANSWERS.select.properties
  const { description } = data.properties.next
  const next = hasPositions(table) ? { anyOf: [refTo(positionName(name)), { type: 'integer' }, { type: 'null' }], description } : { type: ['integer', 'null'], description }
  return { ...ANSWERS.select, properties: { ...rest, data: { ...data, properties: { ...data.properties, rows: { type: 'array', items: refTo(`${name}Row`) }, next } } } }
}

/** The schema of an `id` that is always null. `type: null` alone would make OpenAPI Generator refer to a type that does not exist. */
const NO_ID = orNull({ type: 'integer', description: 'Always null: no single column identifies a row.' })

/** The response to a write, which has rows only if the caller may select. `own`: the schemas of other properties. */
export function writeAnswer ({ name, verbs }: Subject, verb: Exclude<Verb, 'select'>, own: Schemas = {}): Schema {
  const { data, ...rest } = ANSWERS[verb].properties
  const { rows, ...properties } = data.properties as typeof data.properties & { readonly rows: Schema }
  const returned = verbs.includes('select') ? { rows: { type: 'array', items: refTo(`${name}Row`), description: rows['description'] } } : {}
  return { ...ANSWERS[verb], properties: { ...rest, data: { ...data, properties: { ...properties, ...returned, ...own } } } }
}

/** The `id` of the response to an insert: it has the schema of the column that identifies a row, or is null, as for a list with `onConflict`. */
export function insertedId ({ identity }: Table): Schema {
  if (identity === undefined) return NO_ID
  const { 'x-sql-type': declaration, description, ...schema } = shownSchema(identity)
  return { ...orNull(schema), description: plainText(`The value of "${identity.name}" in the new row.`) }
}
