import type { TObject } from '@sinclair/typebox'
import { Errors, ValueErrorType } from '@sinclair/typebox/errors'
import { MAX_LIMIT } from '../../schemas/body.ts'
import { at, invalidBody, invalidOrderBy, limitOutOfRange, type Path, type ServiceError } from '../errors.ts'
import { stepsOf } from '../json-pointer.ts'
import { formOf } from './field-form.ts'
import { FORMS, isListOfTerms, ORDER_TERMS } from './fields.ts'

/** Returns the first error of a member that does not match its schema. */
export function describeMember (member: object, schema: TObject, path: Path): ServiceError {
  const [first] = Errors(schema, [], member)
  const { path: within, type } = first as { path: string, type: ValueErrorType }
  const { properties } = schema
  const steps = stepsOf(within)
  const field = steps[0] as string
  const place = [...path, ...steps]
  if (!Object.hasOwn(properties, field)) return at(place, invalidBody(`"${field}" is not a field of a member; its fields are ${Object.keys(properties).join(', ')}`))
  if (field === 'limit' && (type === ValueErrorType.IntegerMinimum || type === ValueErrorType.IntegerMaximum)) return at(place, limitOutOfRange(MAX_LIMIT))
  if (field === 'orderBy' && isListOfTerms(member)) return at(place, invalidOrderBy(ORDER_TERMS))
  return at(place, invalidBody(`"${field}" must be ${FORMS.get(field) ?? formOf(field, properties[field] as TObject)}`))
}
