/** The schemas of several operations in one transaction. Without tables, and for many tables: one for each verb, with values of any type. */
import { BODIES } from '../../schemas/body.ts'
import { LOCK_FIELD, OperationsBodySchema, TABLE_FIELD } from '../../schemas/operations.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { pascalCase } from './names.ts'
import { createPathItem, type Operation } from './operation.ts'
import { inDocument } from './request-schemas.ts'
import { closedObject, refTo, unionByVerb, type Schema, type Schemas } from './schema.ts'

const OPERATIONS_REQUEST = 'OperationsRequest'
const OPERATIONS_RESPONSE = 'OperationsResponse'
export const OPERATION = 'Operation'
const nameOf = (verb: Verb): string => `${pascalCase(verb)}Operation`

/** Names that no table may use. */
export const OPERATION_NAMES: readonly string[] = [OPERATIONS_REQUEST, OPERATIONS_RESPONSE, OPERATION, ...VERBS.map(nameOf)]

/** The tables on which each verb is allowed; every name if undefined. */
export type TablesByVerb = ReadonlyMap<Verb, readonly string[] | undefined>

/** `most`: operations that a request may have; `own`: the schemas of an operation by name, if they are others. */
export function operationSchemas (tables: TablesByVerb, most: number, own = untypedOperations(tables)): Schemas {
  const { operations, ...fields } = OperationsBodySchema.properties
  return {
    [OPERATIONS_REQUEST]: closedObject([
      ['operations', { ...operations, maxItems: most, items: refTo(OPERATION) }],
      ['isolation', { type: 'string', enum: fields.isolation.anyOf.map((each) => each.const), description: fields.isolation.description }],
      ['dryRun', fields.dryRun]
    ], { required: ['operations'] }),
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
            results: { type: 'array', items: { type: 'object', additionalProperties: true }, description: 'The data of the answer to each operation, in the same order.' },
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
  const { properties, required } = BODIES[verb]
  const names = tables.get(verb)
  const fields = Object.entries(properties as Record<string, Schema>).filter(([field]) => field !== 'dryRun')
  return closedObject([
    ['table', { ...TABLE_FIELD, ...names !== undefined && { enum: names } }],
    ...fields.map(([field, schema]): [string, Schema] => [field, field === 'verb' ? { type: 'string', enum: [verb] } : inDocument(field, schema, verb)]),
    ...verb === 'select' && tables.has('update') ? [['lock', LOCK_FIELD] as [string, Schema]] : []
  ], { required: ['table', ...required as string[]], description: 'As a request to the table. {"$ref": "/0/id"} in place of a value takes it from an earlier result.' })
}

/** The path item. `table`: one to select from, for an example that can be sent as it is. */
export function createOperationsItem (table: string | undefined, own: Pick<Operation, 'operationId' | 'tags' | 'parameters' | 'refusals'>): Schema {
  const select = { table, verb: 'select', limit: 1 }
  return createPathItem({
    ...own,
    summary: 'Runs several operations in one transaction',
    description: 'All of them happen, or none. The header `Idempotency-Key` makes a request have one effect and one answer, however often it is sent.',
    request: refTo(OPERATIONS_REQUEST),
    answer: refTo(OPERATIONS_RESPONSE),
    examples: table === undefined ? {} : { operations: { summary: 'two operations', value: { operations: [select, select] } } }
  })
}
