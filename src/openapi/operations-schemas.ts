/**
 * The schemas of several operations in one transaction. Without tables, or for many tables, there is one for each verb,
 * with values of any type.
 */
import { BODIES, OPERATIONS, OperationsBodySchema, propertiesOf } from '../../schemas/body.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { mayUse } from '../access/authorize.ts'
import { pascalCase } from './names.ts'
import { createPathItem, type Operation } from './operation.ts'
import { inDocument, requestSchema } from './request-schemas.ts'
import {
  anyOf, bare, closedObject, membersOf, refTo, requiring, type Schema, type Schemas, unionByVerb
} from './value-schema.ts'
import type { Subject } from './visible.ts'

const OPERATIONS_REQUEST = 'OperationsRequest'
const OPERATIONS_RESPONSE = 'OperationsResponse'
export const OPERATION = 'Operation'
const nameOf = (verb: Verb): string => `${pascalCase(verb)}Operation`

/** Names that no table may use. */
export const OPERATION_NAMES: readonly string[] = [
  OPERATIONS_REQUEST,
  OPERATIONS_RESPONSE,
  OPERATION,
  ...VERBS.map(nameOf)
]

/** The tables on which each verb is allowed; every name if undefined. */
type TablesByVerb = ReadonlyMap<Verb, readonly string[] | undefined>

/** `most`: the maximum number of operations; `own`: other schemas of an operation by name. */
export function operationSchemas (tables: TablesByVerb, most: number, own = untypedOperations(tables)): Schemas {
  const properties = Object.entries(propertiesOf(most)).map(([field, schema]): [string, Schema] => [
    field,
    field === 'operations' ? { ...schema, items: refTo(OPERATION) } : withEnum(schema)
  ])
  return {
    [OPERATIONS_REQUEST]: closedObject(properties, { required: OperationsBodySchema.required }),
    [OPERATIONS_RESPONSE]: {
      type: 'object',
      description: 'The answer to several operations.',
      required: ['success', 'data'],
      properties: {
        success: { type: 'boolean', enum: [true] },
        data: {
          type: 'object',
          required: ['results'],
          properties: {
            results: {
              type: 'array',
              items: { type: 'object', additionalProperties: true },
              description: 'The data of the answer to each operation, in the same order.'
            },
            dryRun: { type: 'boolean', enum: [true] }
          }
        }
      }
    },
    ...own
  }
}

function untypedOperations (tables: TablesByVerb): Schemas {
  const verbs = [...tables.keys()]
  return {
    [OPERATION]: unionByVerb(verbs, nameOf),
    ...Object.fromEntries(verbs.map((verb) => [nameOf(verb), operationSchema(verb, tables)]))
  }
}

function operationSchema (verb: Verb, tables: TablesByVerb): Schema {
  const names = tables.get(verb)
  const special: Schemas = {
    verb: { type: 'string', enum: [verb] },
    ...(names !== undefined && { table: { ...OPERATIONS[verb].properties['table'], enum: names } })
  }
  return closedObject(
    fieldsOf(verb, [...tables.keys()]).map(([field, schema]) => [field, special[field] ?? schema]),
    {
      required: OPERATIONS[verb].required,
      description: 'As a request to the table. {"$ref": "/0/id"} in place of a value takes it from an earlier result.'
    }
  )
}

/**
 * The fields of an operation in documents. `verbs`: the verbs of the caller, possibly on other tables, so that only
 * fields that no request has depend on them here.
 */
function fieldsOf (verb: Verb, verbs: readonly Verb[]): Array<[string, Schema]> {
  const fields = Object.entries(OPERATIONS[verb].properties).filter(
    ([field]) => Object.hasOwn(BODIES[verb].properties, field) || mayUse(field, verb, verbs)
  )
  return fields.map(([field, schema]) => [field, inDocument(field, schema, verb)])
}

/** Replaces a union of constants with an enum, because generators of clients take it for a union of types. */
function withEnum (schema: Schema): Schema {
  const { anyOf, ...rest } = schema
  const values = membersOf(schema).map((member) => member['const'])
  return anyOf === undefined || values.includes(undefined) ? schema : { type: 'string', enum: values, ...rest }
}

/** The path item. `table`: a table to select from, for an example that can be sent unchanged. */
export function createOperationsItem (
  table: string | undefined,
  own: Pick<Operation, 'operationId' | 'tags' | 'parameters' | 'refusals'>
): Schema {
  const select = { table, verb: 'select', limit: 1 }
  return createPathItem({
    ...own,
    summary: 'Runs several operations in one transaction',
    description:
      'All of them happen, or none. The header `Idempotency-Key` makes a request have one effect and one answer, ' +
      'however often it is sent.',
    request: refTo(OPERATIONS_REQUEST),
    answer: refTo(OPERATIONS_RESPONSE),
    examples:
      table === undefined ? {} : { operations: { summary: 'two operations', value: { operations: [select, select] } } }
  })
}

// The schemas of operations, typed by the tables: one for each table and verb, and one for operations that refer to
// results of others. The values of the latter have no type, because each of them may be a reference, but at least one
// must be.

/**
 * Maximum number of tables with typed operations, because clients in some languages get a class for each of these
 * schemas.
 */
export const MAX_TYPED_TABLES = 50

const REFERRING = 'OperationWithReferences'
const CONTAINER = 'WithReference'

/** Names that no table may use. */
export const TYPED_NAMES: readonly string[] = [REFERRING, CONTAINER]

const variantName = (name: string, verb: Verb): string => `${name}${pascalCase(verb)}Operation`

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
    [`${name}Operation`]: unionByVerb(verbs, (verb) => variantName(name, verb)),
    ...Object.fromEntries(verbs.map((verb) => [variantName(name, verb), ofVerb(subject, verb)]))
  }
}

/** The request with the name of the table. `dryRun` belongs to all operations together. */
function ofVerb (subject: Subject, verb: Verb): Schema {
  const { properties, required, ...rest } = requestSchema(subject, verb) as {
    properties: Schemas
    required: readonly string[]
  }
  const special: Schemas = {
    table: { type: 'string', enum: [subject.table.name] },
    ...Object.fromEntries(Object.entries(properties).map(([field, schema]) => [field, bare(schema)]))
  }
  // the request lacks fields that are of no use for this table
  const fields = fieldsOf(verb, subject.verbs).filter(
    ([field]) => !Object.hasOwn(BODIES[verb].properties, field) || Object.hasOwn(properties, field)
  )
  return {
    ...rest,
    properties: Object.fromEntries(fields.map(([field, schema]) => [field, special[field] ?? schema])),
    required: OPERATIONS[verb].required
  }
}

function referringOperation (subjects: readonly Subject[]): Schema {
  const verbs = VERBS.filter((verb) => subjects.some((subject) => subject.verbs.includes(verb)))
  const fields = Map.groupBy(verbs.flatMap((verb) => fieldsOf(verb, verbs)), ([field]) => field)
  return closedObject(
    [
      ['table', { ...OPERATIONS.select.properties['table'], enum: subjects.map(({ table: { name } }) => name) }],
      ['verb', { type: 'string', enum: verbs }],
      ...[...fields]
        .filter(([field]) => field !== 'table' && field !== 'verb')
        .map(([field, schemas]): [string, Schema] => [field, anyDifferent(schemas.map(([, schema]) => schema))])
    ],
    {
      required: ['table', 'verb'],
      description:
        'An operation with {"$ref": "/0/id"} in place of a value in data or filters, which takes it from the result ' +
        'of an operation before.',
      dependentSchemas: {
        verb: {
          anyOf: [requiring('data', refTo(CONTAINER)), requiring('filters', refTo(CONTAINER))],
          additionalProperties: true
        }
      }
    }
  )
}

/** Combines the schemas of the same field in different verbs, such as `data`, which for an insert may be a list. */
const anyDifferent = (schemas: readonly Schema[]): Schema =>
  anyOf([...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()])

/** A reference, or an object or list that contains one. */
const container: Schema = {
  description: 'Contains a reference such as {"$ref": "/0/id"}.',
  anyOf: [
    {
      type: 'object',
      propertyNames: { enum: ['$ref'] },
      minProperties: 1,
      additionalProperties: { type: 'string', pattern: '^/\\d{1,3}/' }
    },
    { type: 'object', additionalProperties: true, not: { additionalProperties: { not: refTo(CONTAINER) } } },
    { type: 'array', contains: refTo(CONTAINER) }
  ]
}
