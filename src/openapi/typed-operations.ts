/**
 * The schemas of operations, typed by the tables: one for each table and verb, and one for operations that refer to results of others. The
 * values of the latter have no type, because each of them may be a reference; but without a reference it is not allowed.
 */
import { BODIES } from '../../schemas/body.ts'
import { LOCK_FIELD, TABLE_FIELD } from '../../schemas/operations.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import type { Subject } from './document-settings.ts'
import { pascalCase } from './names.ts'
import { inDocument, requestSchema } from './request-schemas.ts'
import { anyOf, closedObject, refTo, requiring, unionByVerb, type Schema, type Schemas } from './schema.ts'
import { bare } from './value-schema.ts'

/** Clients in some languages get a class for each of these schemas: for more tables the operations have no types. */
export const MAX_TYPED_TABLES = 50

const REFERRING = 'OperationWithReferences'
const CONTAINER = 'WithReference'

/** Names that no table may use. */
export const TYPED_NAMES: readonly string[] = [REFERRING, CONTAINER]

const nameOf = (name: string, verb: Verb): string => `${name}${pascalCase(verb)}Operation`

/** The schema of an operation, and those that it refers to. `name`: of the former. */
export function typedOperations (name: string, subjects: readonly Subject[]): Schemas {
  return {
    [name]: { anyOf: [...subjects.map((subject) => refTo(`${subject.name}Operation`)), refTo(REFERRING)] },
    ...Object.assign({}, ...subjects.map(ofTable)) as Schemas,
    [REFERRING]: referringOperation(subjects),
    [CONTAINER]: container
  }
}

function ofTable (subject: Subject): Schemas {
  const { name, verbs } = subject
  return {
    [`${name}Operation`]: unionByVerb(verbs, (verb) => nameOf(name, verb)),
    ...Object.fromEntries(verbs.map((verb) => [nameOf(name, verb), ofVerb(subject, verb)]))
  }
}

/** The request with the name of the table. `dryRun` belongs to all operations together. */
function ofVerb (subject: Subject, verb: Verb): Schema {
  const { properties, required, ...rest } = requestSchema(subject, verb) as { properties: Schemas, required: readonly string[] }
  const { dryRun, ...fields } = properties
  return {
    ...rest,
    properties: {
      table: { type: 'string', enum: [subject.table.name] },
      ...Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, bare(schema)])),
      ...verb === 'select' && subject.verbs.includes('update') && { lock: LOCK_FIELD }
    },
    required: ['table', ...required]
  }
}

function referringOperation (subjects: readonly Subject[]): Schema {
  const verbs = VERBS.filter((verb) => subjects.some((subject) => subject.verbs.includes(verb)))
  const fields = Map.groupBy(verbs.flatMap((verb) => fieldsOf(verb)), ([field]) => field)
  return closedObject([
    ['table', { ...TABLE_FIELD, enum: subjects.map(({ table: { name } }) => name) }],
    ['verb', { type: 'string', enum: verbs }],
    ...[...fields].map(([field, schemas]): [string, Schema] => [field, anyDifferent(schemas.map(([, schema]) => schema))]),
    ['lock', LOCK_FIELD]
  ], {
    required: ['table', 'verb'],
    description: 'An operation with {"$ref": "/0/id"} in place of a value in data or filters, which takes it from the result of an operation before.',
    dependentSchemas: { verb: { anyOf: [requiring('data', refTo(CONTAINER)), requiring('filters', refTo(CONTAINER))], additionalProperties: true } }
  })
}

const fieldsOf = (verb: Verb): Array<[string, Schema]> =>
  Object.entries(BODIES[verb].properties as Schemas).filter(([field]) => !['verb', 'dryRun'].includes(field)).map(([field, schema]) => [field, inDocument(field, schema, verb)])

/** The verbs give the same field different schemas: `data` of an insert may be a list. */
const anyDifferent = (schemas: readonly Schema[]): Schema => anyOf([...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()])

/** A reference, or an object or list that has one somewhere. */
const container: Schema = {
  description: 'Contains a reference such as {"$ref": "/0/id"}.',
  anyOf: [
    { type: 'object', propertyNames: { enum: ['$ref'] }, minProperties: 1, additionalProperties: { type: 'string', pattern: '^/\\d{1,3}/' } },
    { type: 'object', additionalProperties: true, not: { additionalProperties: { not: refTo(CONTAINER) } } },
    { type: 'array', contains: refTo(CONTAINER) }
  ]
}
