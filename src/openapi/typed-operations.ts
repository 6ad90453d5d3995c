/**
 * The schemas of operations, typed by the tables: one for each table and verb, and one for operations that refer to results of others. The values of the
 * latter have no type, because each of them may be a reference, but at least one must be.
 */
import { BODIES } from '../../schemas/body.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { OPERATIONS } from '../../schemas/operations.ts'
import type { Subject } from './document-settings.ts'
import { pascalCase } from './names.ts'
import { fieldsOf } from './operations-schemas.ts'
import { requestSchema } from './request-schemas.ts'
import { anyOf, closedObject, refTo, requiring, unionByVerb, type Schema, type Schemas } from './schema.ts'
import { bare } from './value-schema.ts'

/** Maximum number of tables with typed operations, because clients in some languages get a class for each of these schemas. */
export const MAX_TYPED_TABLES = 50

const REFERRING = 'OperationWithReferences'
const CONTAINER = 'WithReference'

/** Names that no table may use. */
export const TYPED_NAMES: readonly string[] = [REFERRING, CONTAINER]

const nameOf = (name: string, verb: Verb): string => `${name}${pascalCase(verb)}Operation`

/** The schema of an operation, called `name`, and those that it refers to. */
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
  const special: Schemas = { table: { type: 'string', enum: [subject.table.name] }, ...Object.fromEntries(Object.entries(properties).map(([field, schema]) => [field, bare(schema)])) }
  // the request lacks fields that are of no use for this table
  const fields = fieldsOf(verb, subject.verbs).filter(([field]) => !Object.hasOwn(BODIES[verb].properties, field) || Object.hasOwn(properties, field))
  return { ...rest, properties: Object.fromEntries(fields.map(([field, schema]) => [field, special[field] ?? schema])), required: OPERATIONS[verb].required }
}

function referringOperation (subjects: readonly Subject[]): Schema {
  const verbs = VERBS.filter((verb) => subjects.some((subject) => subject.verbs.includes(verb)))
  const fields = Map.groupBy(verbs.flatMap((verb) => fieldsOf(verb, verbs)), ([field]) => field)
  return closedObject([
    ['table', { ...OPERATIONS.select.properties['table'], enum: subjects.map(({ table: { name } }) => name) }],
    ['verb', { type: 'string', enum: verbs }],
    ...[...fields].filter(([field]) => field !== 'table' && field !== 'verb').map(([field, schemas]): [string, Schema] => [field, anyDifferent(schemas.map(([, schema]) => schema))])
  ], {
    required: ['table', 'verb'],
    description: 'An operation with {"$ref": "/0/id"} in place of a value in data or filters, which takes it from the result of an operation before.',
    dependentSchemas: { verb: { anyOf: [requiring('data', refTo(CONTAINER)), requiring('filters', refTo(CONTAINER))], additionalProperties: true } }
  })
}

/** Combines the schemas of the same field in different verbs, such as `data`, which for an insert may be a list. */
const anyDifferent = (schemas: readonly Schema[]): Schema => anyOf([...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()])

/** A reference, or an object or list that contains one. */
const container: Schema = {
  description: 'Contains a reference such as {"$ref": "/0/id"}.',
  anyOf: [
    { type: 'object', propertyNames: { enum: ['$ref'] }, minProperties: 1, additionalProperties: { type: 'string', pattern: '^/\\d{1,3}/' } },
    { type: 'object', additionalProperties: true, not: { additionalProperties: { not: refTo(CONTAINER) } } },
    { type: 'array', contains: refTo(CONTAINER) }
  ]
}
