/** Checks the body of a request with several operations: first its own fields, then each operation like the body of a request to its table. */
import type { TProperties, TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { BODIES } from '../../schemas/body.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { isOfWhole, OPERATIONS, OperationsBodySchema, propertiesOf } from '../../schemas/operations.ts'
import { at, invalidBody, pointer, withDetails, type ServiceError } from '../errors.ts'
import { clampNumbers, type FindBodyError } from './check-body.ts'
import { isObject } from '../json/exact-json.ts'
import { describeForm } from './fields.ts'

export type Fields = Readonly<Record<string, unknown>>

interface FieldCheck {
  readonly isValid: (value: unknown) => boolean
  /** What the field must be, for messages. */
  readonly requirement: string
}

type FieldChecks = ReadonlyMap<string, FieldCheck>

function compileField (field: string, schema: TSchema): FieldCheck {
  const check = TypeCompiler.Compile(schema)
  return { isValid: (value) => check.Check(value), requirement: describeForm(field, schema) }
}

const compileFields = (properties: TProperties): FieldChecks => new Map(Object.entries(properties).map(([field, schema]) => [field, compileField(field, schema)]))

const mustBe = (field: string, { requirement }: FieldCheck): ServiceError => at([field], invalidBody(requirement))

/** The additional fields of an operation. */
const ownFields = (verb: Verb): TProperties => Object.fromEntries(Object.entries(OPERATIONS[verb].properties).filter(([field]) => !Object.hasOwn(BODIES[verb].properties, field)))

const isRequired = (field: string): boolean => VERBS.every((verb) => OPERATIONS[verb].required?.includes(field))
const own = compileFields(Object.assign({}, ...VERBS.map(ownFields)) as TProperties)
/** The required and the optional ones of these fields. */
const required: FieldChecks = new Map([...own].filter(([field]) => isRequired(field)))
const optional: FieldChecks = new Map([...own].filter(([field]) => !isRequired(field)))

/** Fields of the whole request that single requests also have: `dryRun`. */
const ofWholeOnly = [...new Set(VERBS.flatMap((verb) => Object.keys(BODIES[verb].properties)))].filter(isOfWhole)

/** `findBodyError`: the check of bodies of single requests. `most`: the maximum number of operations. */
export function createOperationsCheck (findBodyError: FindBodyError, most: number): FindBodyError {
  const checks = compileFields(propertiesOf(most))
  return (body) => {
    if (!isObject(body)) return invalidBody('The body must be a JSON object')
    for (const [field, value] of Object.entries(body)) {
      const check = checks.get(field)
      if (check === undefined) return at([field], invalidBody(`"${field}" is not allowed here; the fields are ${[...checks.keys()].join(', ')}`))
      if (!check.isValid(value)) return mustBe(field, check)
    }
    const missing = OperationsBodySchema.required?.find((field) => !Object.hasOwn(body, field))
    if (missing !== undefined) return at([missing], invalidBody(`"${missing}" is required`))
    const { operations } = body as { operations: readonly unknown[] }
    for (const [index, operation] of operations.entries()) {
      const error = findError(operation, findBodyError)
      if (error !== undefined) return inOperation(index, error)
    }
  }
}

function findError (operation: unknown, findBodyError: FindBodyError): ServiceError | undefined {
  if (!isObject(operation)) return invalidBody('An operation must be a JSON object')
  const fields = clampNumbers(operation) as Fields
  for (const [field, check] of required) if (!check.isValid(fields[field])) return mustBe(field, check)
  return findErrorInTransaction(without(fields, required), { findBodyError, ofWhole: 'in an operation; it belongs beside "operations"' })
}

const without = (fields: Fields, left: FieldChecks): Fields => Object.fromEntries(Object.entries(fields).filter(([field]) => !left.has(field)))

/** Finds the first error in the body of a request in a transaction, which may have `lock` but not `dryRun`. `ofWhole`: where `dryRun` is not allowed, for the message. */
export function findErrorInTransaction (fields: Fields, { findBodyError, ofWhole }: { readonly findBodyError: FindBodyError, readonly ofWhole: string }): ServiceError | undefined {
  const given = Object.keys(fields).filter((field) => optional.has(field))
  const body = given.length === 0 ? fields : without(fields, optional)
  const misplaced = ofWholeOnly.find((field) => Object.hasOwn(body, field))
  if (misplaced !== undefined) return at([misplaced], invalidBody(`"${misplaced}" is not allowed ${ofWhole}`))
  const error = findBodyError(body)
  if (error !== undefined) return error
  const verb = body['verb'] as Verb
  for (const field of given) {
    const check = optional.get(field) as FieldCheck
    const verbs = VERBS.filter((each) => Object.hasOwn(OPERATIONS[each].properties, field))
    if (!verbs.includes(verb)) return at([field], invalidBody(`"${field}" is not allowed with ${verb}; it is a field of ${verbs.join(', ')}`))
    if (!check.isValid(fields[field])) return mustBe(field, check)
  }
  if (fields['lock'] === true && Object.hasOwn(body, 'include')) return at(['include'], invalidBody('"include" is not allowed with "lock"'))
}

/** Adds the index of the operation to the details of a refusal. */
export function inOperation (index: number, error: ServiceError): ServiceError {
  const { details, message } = error
  const place = pointer('operations', index)
  return withDetails(error, ...details.length === 0 ? [{ path: place, message }] : details.map((detail) => ({ ...detail, path: place + detail.path })))
}
