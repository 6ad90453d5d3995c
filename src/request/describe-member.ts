import type { TObject, TSchema } from '@sinclair/typebox'
import { Errors, type ValueErrorType } from '@sinclair/typebox/errors'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { stepsOf } from '../json-pointer.ts'
import { describeForm, findOwnError } from './fields.ts'

/** Returns the first error of a member that does not match its schema. */
export function describeMember (member: object, schema: TObject, path: Path): ServiceError {
  const [first] = Errors(schema, [], member)
  const { path: within, type } = first as { path: string, type: ValueErrorType }
  const { properties } = schema
  const steps = stepsOf(within)
  const field = steps[0] as string
  const place = [...path, ...steps]
  if (!Object.hasOwn(properties, field)) return at(place, invalidBody(`"${field}" is not a field of a member; its fields are ${Object.keys(properties).join(', ')}`))
  return findOwnError({ field, path: place, type }, member) ?? at(place, invalidBody(describeForm(field, properties[field] as TSchema)))
}
