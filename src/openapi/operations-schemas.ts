/** The schemas of several operations in one transaction. Without tables, or for many tables, there is one for each verb, with values of any type. */
import { OPERATIONS, OperationsBodySchema, propertiesOf } from '../../schemas/operations.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { mayUse } from '../access/authorize.ts'
import { pascalCase } from './names.ts'
import { createPathItem, type Operation } from './operation.ts'
import { inDocument } from './request-schemas.ts'
import { closedObject, membersOf, refTo, unionByVerb, type Schema, type Schemas } from './schema.ts'

const OPERATIONS_REQUEST = 'OperationsRequest'
const OPERATIONS_RESPONSE = 'OperationsResponse'
export const OPERATION = 'Operation'
const nameOf = (verb: Verb): string => `${pascalCase(verb)}Operation`

/** Names that no table may use. */
export const OPERATION_NAMES: readonly string[] = [OPERATIONS_REQUEST, OPERATIONS_RESPONSE, OPERATION, ...VERBS.map(nameOf)]

/** The tables on which each verb is allowed; every name if undefined. */
export type TablesByVerb = ReadonlyMap<Verb, readonly string[] | undefined>

/** `most`: the maximum number of operations; `own`: other schemas of an operation by name. */
export function operationSchemas (tables: TablesByVerb, most: number, own = untypedOperations(tables)): Schemas {
  const properties = Object.entries(propertiesOf(most)).map(([field, schema]): [string, Schema] => [field, field === 'operations' ? { ...schema, items: refTo(OPERATION) } : withEnum(schema)])
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
  const names = tables.get(verb)
  const special: Schemas = { verb: { type: 'string', enum: [verb] }, ...names !== undefined && { table: { ...OPERATIONS[verb].properties['table'], enum: names } } }
  return closedObject(fieldsOf(verb, [...tables.keys()]).map(([field, schema]) => [field, special[field] ?? schema]), { required: OPERATIONS[verb].required, description: 'As a request to the table. {"$ref": "/0/id"} in place of a value takes it from an earlier result.' })
}

/** The fields of an operation in documents. `verbs`: the verbs of the caller, possibly on other tables, so that only `lock` depends on them here. */
export function fieldsOf (verb: Verb, verbs: readonly Verb[]): Array<[string, Schema]> {
  const fields = Object.entries(OPERATIONS[verb].properties).filter(([field]) => field !== 'lock' || mayUse(field, verb, verbs))
  return fields.map(([field, schema]) => [field, inDocument(field, schema, verb)])
}

/** Replaces a union of constants with an enum, because generators of clients take it for a union of types. */
function withEnum (schema: Schema): Schema {
  const { anyOf, ...rest } = schema
  const values = membersOf(schema).map((member) => member['const'])
  return anyOf === undefined || values.includes(undefined) ? schema : { type: 'string', enum: values, ...rest }
}

/** The path item. `table`: a table to select from, for an example that can be sent unchanged. */
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
