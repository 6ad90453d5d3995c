/** The bodies of requests, members and operations, of the fields that fields.ts gives them. */
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { type FieldsIn, fieldsIn, type BodyPart, schemasOf } from './fields.ts'
import { type Verb, VERBS } from './grants.ts'
import { closed } from './server-settings.ts'

const bodyOf = <P extends BodyPart>(place: P, description?: string): TObject<FieldsIn<P>> =>
  Type.Object(fieldsIn(place), { ...closed, ...(description !== undefined && { description }) })

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
 * A member of `$some` or `$none` in filters. Checked by src/request/check-members.ts, because filters have members
 * at any depth.
 */
export const RelatedSchema = bodyOf('related', 'Rows of another table that are related to the row.')

export type Member = Static<typeof MemberSchema>
export type Related = Static<typeof RelatedSchema>
export type SelectBody = Static<typeof BODIES.select>
export type AggregateCall = NonNullable<SelectBody['aggregates']>[string]
export type InsertBody = Static<typeof BODIES.insert>
export type OnConflict = NonNullable<InsertBody['onConflict']>
export type UpdateBody = Static<typeof BODIES.update>
export type DeleteBody = Static<typeof BODIES.delete>
export type Body = Static<typeof BodySchema>
export type Expect = NonNullable<SelectBody['expect']>

// The body of a request with several operations. Each operation is the body of a request to its table, without the
// fields that belong to the whole and with fields of its own. The check of bodies, the documents and the types are
// derived from these schemas.

/** The body of a request that is a part of a transaction. */
export type BodyInTransaction = Body & Static<TObject<FieldsIn<'selectInTransaction'>>>
/** An operation that has been checked. */
export type Operation = BodyInTransaction & Static<TObject<FieldsIn<'operation'>>>

/** `most`: operations that a request may have, which is a setting. */
export const operationsBody = (most: number) => Type.Object({
  // each operation is checked by the schema of its verb, whose errors are clearer than those of a union
  operations: Type.Array(Type.Unsafe<Operation>(Type.Unknown()), {
    minItems: 1,
    maxItems: most,
    description: 'Run in this order, in one transaction: all of them happen, or none.'
  }),
  ...fieldsIn('operations')
}, closed)

export type OperationsBody = Static<ReturnType<typeof operationsBody>>

const inTransaction = (isOperation: boolean) => Object.fromEntries(VERBS.map((verb) => [
  verb,
  Type.Object(schemasOf((places) => places.operations !== undefined
    ? undefined
    : (isOperation ? places.operation : undefined) ?? places[verb] ??
      (verb === 'select' ? places.selectInTransaction : undefined)
  ), closed)
])) as Readonly<Record<Verb, TObject>>

export const IN_TRANSACTION = inTransaction(false)
export const OPERATIONS = inTransaction(true)
