/** The bodies of requests and members, of the fields that fields.ts gives them. */
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { type AggregateSchema, type FieldsIn, fieldsIn, type Place } from './fields.ts'
import { closed } from './server-settings.ts'

const bodyOf = <P extends Place>(place: P, description?: string): TObject<FieldsIn<P>> =>
  Type.Object(fieldsIn(place), { ...closed, ...(description !== undefined && { description }) })

/** Verb -> schema of its body. */
export const BODIES = {
  select: bodyOf('select'),
  insert: bodyOf('insert'),
  update: bodyOf('update'),
  delete: bodyOf('delete')
} as const

export const BodySchema = Type.Union([BODIES.select, BODIES.insert, BODIES.update, BODIES.delete], {
  discriminator: { propertyName: 'verb' }
})

export const MemberSchema = bodyOf('member', 'Rows of another table, or aggregates of them.')

/**
 * A member of `$some` or `$none` in filters. Checked by src/request/check-related.ts, because filters have members at
 * any depth.
 */
export const RelatedSchema = bodyOf('related', 'Rows of another table that are related to the row.')

export type Member = Static<typeof MemberSchema>
export type Related = Static<typeof RelatedSchema>
export type SelectBody = Static<typeof BODIES.select>
/** A function of `aggregates`. */
export type AggregateCall = Static<typeof AggregateSchema>
export type InsertBody = Static<typeof BODIES.insert>
export type OnConflict = NonNullable<InsertBody['onConflict']>
export type UpdateBody = Static<typeof BODIES.update>
export type DeleteBody = Static<typeof BODIES.delete>
export type Body = Static<typeof BodySchema>
export type Expect = NonNullable<SelectBody['expect']>
