import { BodySchema, type SelectBody } from '../../schemas/body.ts'
import { at, invalidBody, ServiceError } from '../errors.ts'
import { compileBodySchema } from './check-body.ts'
import { isSelect, takeLimit } from './stream-request.ts'

const findBodyError = compileBodySchema(BodySchema)

/** Checks the parsed body of a select, and separates its limit. `most`: the maximum limit. @throws INVALID_BODY, LIMIT_OUT_OF_RANGE, and as other bodies */
export function checkStreamBody (parsed: unknown, most: number | undefined): { readonly body: SelectBody, readonly limit: number | undefined } {
  if (!isSelect(parsed)) throw findBodyError(parsed) ?? at(['verb'], invalidBody('"verb" must be select'))
  const taken = takeLimit(parsed, most)
  if (taken instanceof ServiceError) throw taken
  const error = findBodyError(taken.body)
  if (error !== undefined) throw error
  return { body: taken.body as SelectBody, limit: taken.limit }
}
