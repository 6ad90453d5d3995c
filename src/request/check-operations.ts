/** Checks the body of a request with several operations: first its own fields, then each operation like the body of a request to its table. */
import { ISOLATIONS, OperationsBodySchema } from '../../schemas/operations.ts'
import { at, invalidBody, pointer, withDetails, type ServiceError } from '../errors.ts'
import { clampNumbers, type FindBodyError } from './check-body.ts'
import { isObject } from './exact-json.ts'

export type Fields = Readonly<Record<string, unknown>>

/** The form of each field. */
const formsOf = (most: number): ReadonlyMap<string, { readonly isValid: (value: unknown) => boolean, readonly form: string }> => new Map([
  ['operations', { isValid: (value: unknown) => Array.isArray(value) && value.length >= 1 && value.length <= most, form: `a list of 1 to ${most} operations` }],
  ['isolation', { isValid: (value: unknown) => ISOLATIONS.some((name) => name === value), form: `one of ${ISOLATIONS.join(', ')}` }],
  ['dryRun', { isValid: (value: unknown) => typeof value === 'boolean', form: 'true or false' }]
])

/** `findBodyError`: of the bodies of single requests. `most`: operations that a request may have. */
export function createOperationsCheck (findBodyError: FindBodyError, most: number): FindBodyError {
  const forms = formsOf(most)
  return (body) => {
    if (!isObject(body)) return invalidBody('The body must be a JSON object')
    for (const [field, value] of Object.entries(body)) {
      const known = forms.get(field)
      if (known === undefined) return at([field], invalidBody(`"${field}" is not allowed here; the fields are ${Object.keys(OperationsBodySchema.properties).join(', ')}`))
      if (!known.isValid(value)) return at([field], invalidBody(`"${field}" must be ${known.form}`))
    }
    const { operations } = body as { operations?: readonly unknown[] }
    if (operations === undefined) return at(['operations'], invalidBody('"operations" is required'))
    for (const [index, operation] of operations.entries()) {
      const error = findError(operation, findBodyError)
      if (error !== undefined) return inOperation(index, error)
    }
  }
}

function findError (operation: unknown, findBodyError: FindBodyError): ServiceError | undefined {
  if (!isObject(operation)) return invalidBody('An operation must be a JSON object')
  const { table, ...body } = clampNumbers(operation) as Fields
  if (typeof table !== 'string') return at(['table'], invalidBody('"table" must be the name of a table'))
  return findErrorInTransaction(body, { findBodyError, ofWhole: 'in an operation; it belongs beside "operations"' })
}

/** Of the body of a request that is a part of a transaction. It may have `lock` and not `dryRun`. `ofWhole`: where `dryRun` is not allowed, for the message. */
export function findErrorInTransaction ({ lock, ...body }: Fields, { findBodyError, ofWhole }: { readonly findBodyError: FindBodyError, readonly ofWhole: string }): ServiceError | undefined {
  if (Object.hasOwn(body, 'dryRun')) return at(['dryRun'], invalidBody(`"dryRun" is not allowed ${ofWhole}`))
  const error = findBodyError(body)
  if (error !== undefined || lock === undefined) return error
  if (body['verb'] !== 'select') return at(['lock'], invalidBody(`"lock" is not allowed with ${String(body['verb'])}; it is a field of select`))
  return typeof lock === 'boolean' ? undefined : at(['lock'], invalidBody('"lock" must be true or false'))
}

/** Says in the details of a refusal which operation is meant. */
export function inOperation (index: number, error: ServiceError): ServiceError {
  const { details, message } = error
  const place = pointer('operations', index)
  return withDetails(error, ...details.length === 0 ? [{ path: place, message }] : details.map((detail) => ({ ...detail, path: place + detail.path })))
}
